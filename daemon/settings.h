// Everything that can be configured, in one struct; read once, checked once (daemon/config).
// Units are in the names or types; defaults are what an empty file means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/limits.h"
#include "proto/classes.h"
#include "proto/units.h"
#include "proto/version.h"

namespace tentq {

struct SocketSettings {
  std::string path;
  unsigned mode = 0660;
  std::int64_t gid = -1;  // -1: the daemon's own group
};

struct SessionSettings {
  std::uint32_t most = 128;         // attached at once
  std::uint32_t ring_cells = 1024;  // power of two, 256 … 16,384
  std::uint32_t slots = 4096;       // 64 … 65,536
  std::uint32_t arena_bytes = 1u << 20;
  std::uint32_t regions = 4096;  // a client
  std::uint32_t host_regions = 32'768;
  std::uint32_t segments = 1024;                  // open handles, a client
  std::uint32_t mailbox = 256;                    // notifications waiting for one client
  Duration name_hold = std::chrono::seconds{60};  // before another uid may take a name
  Duration handshake = std::chrono::seconds{5};   // to say HELLO and MAPPED
  std::vector<std::uint32_t> allowed_uids;        // both empty: whoever can open the socket
  std::vector<std::uint32_t> allowed_gids;
};

struct MemorySettings {
  bool allow_sparse = false;
  std::uint64_t most_bytes = std::uint64_t{1} << 40;  // registered, all clients
};

struct ShmSettings {
  std::uint32_t workers = 0;                    // 0: min(4, cores − 1), at least 1
  std::uint32_t inline_bytes = 16u << 10;       // largest copy on the conductor, 0 … 16 KiB
  std::uint32_t inline_turn_bytes = 64u << 10;  // in one turn, 0 … 64 KiB
  std::uint64_t window_bytes = 4u << 20;        // per lane; the ceiling of an adaptive window
  std::uint32_t window_chunks = 256;
  std::uint64_t chunk_bytes = 0;  // 64 KiB … 1 MiB; 0: by the lane's rate
  core::WindowRules window{.adaptive = true};
  // Each lane as a link of this rate; 0: as fast as the memory is.
  std::uint64_t paced_bytes_per_second = 0;
};

// Lanes to other hosts.
struct TcpSettings {
  std::uint32_t threads = 2;               // that move bytes; one for each data connection
  bool checksum = false;                   // a CRC-32C goes with every payload that is sent
  std::uint64_t window_bytes = 16u << 20;  // per lane; the ceiling of an adaptive window
  std::uint32_t window_chunks = 256;
  std::uint64_t chunk_bytes = 0;  // 64 KiB … 1 MiB; 0: by the lane's rate
  // Each chunk costs both hosts some system calls and wake-ups.
  core::WindowRules window{.adaptive = true,
                           .delay_target = std::chrono::milliseconds{1},
                           .least_bytes = 256u << 10,
                           .chunk_time = std::chrono::microseconds{250}};
};

struct LoopSettings {
  Duration spin = std::chrono::microseconds{50};  // polled this long after the last work
  Duration session_park = std::chrono::milliseconds{1};
  Duration safety_poll = std::chrono::milliseconds{100};
  Duration stalled_producer = std::chrono::milliseconds{100};
  std::uint32_t cells_per_turn = 256;  // of one client
};

enum class LogLevel : std::uint8_t { debug, info, warning, error };

struct MetricsSettings {
  std::string listen = "127.0.0.1:9464";  // config/endpoint.h; empty: not served
  bool listen_public = false;             // other hosts may reach it
};

// How daemons prove to each other that they belong together.
enum class PeerAuth : std::uint8_t { psk, mtls, none };

// Links to the daemons of other hosts.
struct PeerSettings {
  std::string listen;     // config/endpoint.h; empty: no other daemon can connect
  std::string advertise;  // config/peer_address.h; empty: where it listens
  PeerAuth auth = PeerAuth::psk;
  std::string key_file;                                // for psk; empty: no links
  std::string tls_ca_file, tls_certificate_file;       // for mtls, in PEM; empty: no links
  std::string tls_key_file;                            // likewise
  std::string allowed_names;                           // config/name_list.h; empty: any
  bool allow_unauthenticated = false;                  // other hosts may connect without a key
  std::uint32_t data_connections = 2;                  // of a link
  Duration timeout = std::chrono::seconds{3};          // silence that means loss
  Duration connect_timeout = std::chrono::seconds{3};  // to connect, and again to shake hands
  std::uint32_t most = 32;                             // hosts
  ClassId highest_class = ClassId::foreground;         // that peers' READs are served at
  std::uint32_t dscp = 48;                             // of control connections; 0 … 63

  // Whether there can be links at all.
  bool enabled() const {
    return !listen.empty() || auth == PeerAuth::none ||
           !(auth == PeerAuth::psk ? key_file : tls_certificate_file).empty();
  }
};

enum class DirectoryKind : std::uint8_t { none, etcd };

// Where names of other hosts' segments are found without their host's.
struct DirectorySettings {
  DirectoryKind kind = DirectoryKind::none;
  std::string endpoints;                       // config/directory_endpoints.h
  std::string prefix = "/tentq";               // of all keys
  Duration lease = std::chrono::seconds{10};   // how long names outlive a daemon that died
  Duration timeout = std::chrono::seconds{2};  // of one call
};

struct LogSettings {
  LogLevel level = LogLevel::info;
  std::string file;  // empty: standard error (journald)
};

// What happens to a submit above the quota's highest class.
enum class OverClass : std::uint8_t { reject, downgrade };
// Who shares one quota: the user's processes of one control group, all of the user's, or all that
// it is for.
enum class QuotaPer : std::uint8_t { cgroup, user, all };

// What sessions may have. All conditions that are given must hold; the first quota that does
// counts.
struct Quota {
  std::string client;                // a client's name, or its beginning and '*'; empty: any
  std::optional<std::uint32_t> uid;  // none: any
  std::optional<std::uint32_t> gid;  // primary or supplementary
  std::string user, group;           // as written, if not as numbers
  QuotaPer per = QuotaPer::cgroup;
  ClassId highest_class = ClassId::foreground;
  OverClass over = OverClass::reject;
  std::uint32_t weight = 1;
  // None: what the limits say for every client.
  std::optional<std::uint64_t> owners, bytes;    // outstanding
  std::optional<std::uint64_t> in_flight_bytes;  // on all lanes
  std::optional<std::uint64_t> pinned_bytes;     // registered; none: as much as the host takes
  bool operator==(const Quota&) const = default;
};

struct Settings {
  SocketSettings socket{kDefaultSocketPath, 0660, -1};
  SocketSettings admin_socket{kDefaultAdminSocketPath, 0660, -1};
  std::string status_path = kDefaultStatusPath;
  std::string lock_path = "/run/tentq/tentqd.lock";
  std::string state_directory = "/var/lib/tentq";  // start counter
  std::string admin_group = "tentq-admin";
  SessionSettings sessions;
  MemorySettings memory;
  ShmSettings shm;
  TcpSettings tcp;
  LoopSettings loop;
  LogSettings log;
  MetricsSettings metrics;
  PeerSettings peers;
  DirectorySettings directory;
  core::Limits limits;
  std::vector<Quota> quotas;
  core::HardMaxima maxima;
  core::Policy policy = core::Policy::wdrr;
  Duration drain_timeout = std::chrono::seconds{20};  // SIGTERM: before what is left is canceled
};

}  // namespace tentq
