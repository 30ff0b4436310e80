// What the shell shows of itself: plain copies for listings, made on the conductor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/core.h"
#include "proto/ids.h"
#include "proto/session_layout.h"

namespace tentq {

class Latencies;

enum class Violation : std::uint8_t {
  tail_out_of_range,
  bad_sequence,
  bad_group,
  reserved_bits,
  bad_slot,
  unknown_region,
  unknown_segment,
  not_permitted,
  out_of_range,
  bad_length,
  bad_class,
  over_credit,
  bad_arena,
  bad_message,
  surplus_fds,
};
inline constexpr std::size_t kViolationCount = 15;
std::string_view to_string(Violation violation);

struct RegionView {
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  std::string host_access;  // "none", "read", "read-write"
  std::string scope;        // "same uid", "uid 1000", "gid 10", "name engine-0", "everyone"
  std::string remote_access;
  std::uint32_t pins = 0;  // owners that use it
  bool resident = false;   // populated and locked
};

struct SegmentView {
  std::string name;
  std::uint32_t uid = 0;
  ClientId client;  // invalid: held for its exporter's return
  std::uint64_t incarnation = 0;
  std::vector<RegionView> regions;
  std::uint32_t handles = 0;  // open, in other sessions
  // In the directory: "published", "pending", "taken by ADDRESS"; empty: not meant to be there.
  std::string directory;
};

// A segment of another host that clients of this one have open.
struct ElsewhereView {
  std::string name;
  std::string address;  // of its daemon
  std::string state;    // "open", "away", "failed"
  std::string failure;  // of failed
  std::uint64_t regions = 0;
  std::uint32_t pins = 0;  // owners and handles
};

// What the directory has of another host's segment.
struct DirectoryNameView {
  std::string name;
  std::string address;
  std::string host;  // its id, in hexadecimal
};

// The quota of a client, and what all its sessions together have of it.
struct QuotaView {
  std::string name;  // empty: none, the limits of every client
  std::string per;   // "cgroup", "user", "all"
  ClassId highest_class = ClassId::foreground;
  bool downgrade = false;               // else what is above is refused
  std::uint64_t owners = 0, bytes = 0;  // most outstanding, here or by the limits of every client
  std::uint64_t in_flight_bytes = 0;    // 0: no cap
  bool has_in_flight = false;           // of its own
  std::optional<std::uint64_t> pinned_bytes;
  std::uint64_t used_pinned_bytes = 0;
};

struct ClientView {
  ClientId id;
  SessionId session;
  ClientKey key;
  std::string name;  // may be empty
  std::uint32_t pid = 0, uid = 0, gid = 0;
  std::uint32_t class_mask = 0;
  std::uint32_t weight = 1;  // of its fairness key
  QuotaView quota;
  std::uint32_t downgraded_classes = 0;  // go to the most urgent one of class_mask
  std::uint64_t downgraded_owners = 0;
  std::uint32_t slots = 0;
  std::uint32_t slots_used = 0;
  core::SessionTotals totals;
  std::uint64_t registered_bytes = 0;
  std::uint32_t regions = 0;
  std::uint32_t segments = 0;
  std::uint64_t mailbox_lost = 0;
  bool parked = false;
  bool stalled_producer = false;
  bool quarantined = false;
  bool leaving = false;  // dead or detached, waits for quiet
  std::uint64_t violations[kViolationCount] = {};
  std::string last_error;
  Time attached{};
};

struct LaneView {
  LaneId id;
  std::string name;  // "shm read", "tcp write 10.0.0.2:7471"
  std::string transport;
  core::LaneTotals totals;
};

// Another host with which there is, or was, a link.
struct PeerView {
  std::string host;               // its id, in hexadecimal
  std::string address;            // of the link's other end, host:port
  std::string auth;               // peers.auth
  std::string certificate;        // the name in the host's; empty without TLS
  bool dialed = false;            // this host asks over its own link
  bool accepted = false;          // the other host has one to here
  std::uint32_t connections = 0;  // for data, that this host has made
  bool away = false;              // its segments cannot be reached now
  std::uint64_t lost_links = 0;
  core::LaneTotals read, write, serve;
};

// The directory of names, where there is one.
struct DirectoryView {
  std::string state;                       // "starting", "up", "down"
  std::string endpoints;                   // as configured
  std::string last_failure;                // of the state now; empty: none
  std::uint64_t published = 0, taken = 0;  // names of this host there, and not there
  std::uint64_t known = 0;                 // names of all hosts
  std::uint64_t failures = 0;              // calls that etcd has not carried out
};

struct DaemonView {
  std::string version;
  std::uint64_t epoch_counter = 0, epoch_random = 0;
  DaemonState state{};
  Duration uptime{};
  std::uint32_t pid = 0;
  std::uint32_t sessions = 0;
  std::uint64_t registered_bytes = 0;
  std::uint32_t regions = 0;
  std::uint64_t reaped_clients = 0;  // died without a goodbye
  std::uint64_t refused_attaches = 0;
  std::uint64_t missed_wakeups = 0;
  std::uint64_t downgraded_owners = 0;  // taken in a less urgent class than they were submitted in
  std::uint64_t violations[kViolationCount] = {};  // of all clients, those that are gone too
  std::string metrics;                             // where they are served; empty: nowhere
  std::string peers;                               // where other hosts can connect; empty: nowhere
  std::optional<DirectoryView> directory;
  const Latencies* latencies = nullptr;  // never null; lives as long as the daemon
  std::uint64_t turns = 0;
  std::uint64_t sleeps = 0;
  std::uint32_t shm_workers = 0;
  std::uint64_t shm_paced_bytes_per_second = 0;  // 0: not paced
  std::vector<std::string> warnings;             // e.g. memlock too small for resident regions
};

// What answers queries; implemented by the daemon, called on the conductor.
class Inspection {
 public:
  virtual ~Inspection() = default;
  virtual DaemonView daemon() const = 0;
  virtual std::vector<ClientView> clients() const = 0;
  virtual std::vector<SegmentView> segments() const = 0;
  virtual std::vector<LaneView> lanes() const = 0;
  virtual std::vector<PeerView> peers() const { return {}; }
  virtual std::vector<ElsewhereView> elsewhere() const { return {}; }
  // At most `most`, by name.
  virtual std::vector<DirectoryNameView> directory_names(std::size_t most) const {
    static_cast<void>(most);
    return {};
  }
  virtual const core::Core& core() const = 0;
  virtual Time now() const = 0;
};

}  // namespace tentq
