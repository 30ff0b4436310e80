// Every key of the configuration: its path, meaning, range and whether it can change at run time.
// Adding a key here is all that is needed; the README of daemon/ says how.
#include <algorithm>

#include "daemon/config/directory_endpoints.h"
#include "daemon/config/endpoint.h"
#include "daemon/config/key_kinds.h"
#include "daemon/config/name_list.h"
#include "daemon/config/peer_address.h"
#include "daemon/config/quotas.h"
#include "proto/classes.h"

// The accessor that a key kind takes.
#define TENTQ_AT(field)  \
  [](auto& s) -> auto& { \
    return s.field;      \
  }

namespace tentq {
namespace {

using namespace keys;  // NOLINT: the table reads as a list of kinds
using Table = std::vector<ConfigKey>;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::size_t kSocketPathBytes = 107;  // sockaddr_un::sun_path without its NUL
constexpr std::size_t kPathBytes = 4095;
constexpr std::uint64_t kMostAmount = 1u << 24;               // owners, extents
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;  // 1 PiB
constexpr Reload kLive = Reload::yes;

bool is_socket_path(std::string_view text) {
  return absolute_path(text, kSocketPathBytes);
}
bool is_path(std::string_view text) {
  return absolute_path(text, kPathBytes);
}
bool is_path_or_empty(std::string_view text) {
  return text.empty() || is_path(text);
}
bool is_endpoint_or_empty(std::string_view text) {
  return text.empty() || parse_endpoint(text).has_value();
}
bool is_name_list(std::string_view text) {
  std::vector<std::string> names;
  return parse_name_list(text, &names);
}

bool is_peer_address_or_empty(std::string_view text) {
  return text.empty() || parse_peer_address(text).has_value();
}
bool are_directory_endpoints(std::string_view text) {
  std::vector<PeerAddress> endpoints;
  return parse_directory_endpoints(text, &endpoints);
}
bool is_group_name(std::string_view text) {
  return !text.empty() && text.size() <= 32 && text.front() != '-' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

void add_process_keys(Table& table) {
  constexpr auto kSocketText = "an absolute path of at most 107 bytes";
  constexpr auto kPathText = "an absolute path";
  table.push_back(
      text("socket", "Where clients connect.", kSocketText, TENTQ_AT(socket.path), is_socket_path));
  table.push_back(mode("socket_mode", "File mode of the client socket: who may connect.",
                       TENTQ_AT(socket.mode)));
  table.push_back(group_id("socket_gid", "Group of the client socket; -1: the daemon's own.",
                           TENTQ_AT(socket.gid)));
  table.push_back(text("admin_socket", "Where administrators connect (drain, set, all owners).",
                       kSocketText, TENTQ_AT(admin_socket.path), is_socket_path));
  table.push_back(
      mode("admin_socket_mode", "File mode of the admin socket.", TENTQ_AT(admin_socket.mode)));
  table.push_back(group_id("admin_socket_gid",
                           "Group of the admin socket; -1: that of admin_group.",
                           TENTQ_AT(admin_socket.gid)));
  table.push_back(text("admin_group", "Members of this group may use the admin socket.",
                       "the name of a group", TENTQ_AT(admin_group), is_group_name));
  table.push_back(text("status_path", "The read-only status page that `tentqctl top` reads.",
                       kPathText, TENTQ_AT(status_path), is_path));
  table.push_back(text("lock_path", "Locked while a daemon runs, so that there is only one.",
                       kPathText, TENTQ_AT(lock_path), is_path));
  table.push_back(text("state_directory", "Holds the start counter of the daemon's epoch.",
                       kPathText, TENTQ_AT(state_directory), is_path));
  table.push_back(choice("log_level", "Least urgent lines that are logged.", TENTQ_AT(log.level),
                         std::array<std::string_view, 4>{"debug", "info", "warning", "error"},
                         kLive));
  table.push_back(text("log_file", "Empty: standard error, which is the journal under systemd.",
                       "an absolute path, or an empty text", TENTQ_AT(log.file), is_path_or_empty));
  table.push_back(
      text("metrics_listen", "Where Prometheus gets the metrics (GET /metrics); empty: nowhere.",
           "an address and a port like \"127.0.0.1:9464\" or \"[::1]:9464\", or an empty "
           "text",
           TENTQ_AT(metrics.listen), is_endpoint_or_empty));
  table.push_back(boolean("metrics_listen_public",
                          "Other hosts may reach metrics_listen, and read the metrics.",
                          TENTQ_AT(metrics.listen_public)));
  table.push_back(duration("drain_timeout",
                           "After SIGTERM: how long queued work may finish before it is canceled.",
                           TENTQ_AT(drain_timeout), seconds{0}, hours{1}, kLive));
  table.push_back(choice(
      "policy", "Order of dispatch between classes; direct queues nothing.", TENTQ_AT(policy),
      std::array<std::string_view, 4>{"direct", "fifo", "strict", "wdrr"}, kLive));
}

void add_session_keys(Table& table) {
  table.push_back(
      number("sessions.most", "Sessions attached at once.", TENTQ_AT(sessions.most), 1, 4'096));
  table.push_back(power_of_two("sessions.ring_cells", "Cells of each ring of a session.",
                               TENTQ_AT(sessions.ring_cells), 256, 16'384));
  table.push_back(number("sessions.slots", "Status slots of a session: its unfinished owners.",
                         TENTQ_AT(sessions.slots), 64, 65'536));
  table.push_back(size("sessions.arena_bytes",
                       "Arena of a session for extent lists and notifications, split among its "
                       "rings.",
                       TENTQ_AT(sessions.arena_bytes), 64u << 10, 64u << 20));
  table.push_back(number("sessions.regions", "Registered regions of one client.",
                         TENTQ_AT(sessions.regions), 1, 65'536));
  table.push_back(number("sessions.host_regions",
                         "Registered regions of all clients; keep it below vm.max_map_count.",
                         TENTQ_AT(sessions.host_regions), 1, 1u << 20));
  table.push_back(number("sessions.segments", "Segments that one client may have open.",
                         TENTQ_AT(sessions.segments), 1, 65'536));
  table.push_back(number("sessions.mailbox", "Notifications waiting for one client.",
                         TENTQ_AT(sessions.mailbox), 1, 65'536));
  table.push_back(duration("sessions.name_hold",
                           "How long a gone client's name is kept from other users.",
                           TENTQ_AT(sessions.name_hold), seconds{0}, hours{24}));
  table.push_back(duration("sessions.handshake",
                           "A connection that has not said HELLO by then is closed.",
                           TENTQ_AT(sessions.handshake), milliseconds{10}, minutes{5}));
  table.push_back(id_list("sessions.allowed_uids",
                          "Users that may attach; both lists empty: whoever can open the socket.",
                          TENTQ_AT(sessions.allowed_uids), kLive));
  table.push_back(id_list("sessions.allowed_gids", "Groups whose members may attach.",
                          TENTQ_AT(sessions.allowed_gids), kLive));
}

void add_tcp_keys(Table& table) {
  table.push_back(number("tcp.threads", "Threads that move bytes to and from other hosts.",
                         TENTQ_AT(tcp.threads), 1, 64));
  table.push_back(boolean("tcp.checksum",
                          "A CRC-32C goes with every payload; one that does not fit is not taken.",
                          TENTQ_AT(tcp.checksum)));
  table.push_back(boolean("tcp.adaptive",
                          "The window of each lane follows the lane, below tcp.window_bytes.",
                          TENTQ_AT(tcp.window.adaptive)));
  table.push_back(duration("tcp.delay_target",
                           "Most that chunks may wait for each other in an adaptive window.",
                           TENTQ_AT(tcp.window.delay_target), microseconds{1}, seconds{1}));
  table.push_back(size("tcp.least_window_bytes", "An adaptive window is never smaller.",
                       TENTQ_AT(tcp.window.least_bytes), 0, std::uint64_t{64} << 30));
  table.push_back(size("tcp.window_bytes",
                       "Bytes in flight per lane; the most when tcp.adaptive is set.",
                       TENTQ_AT(tcp.window_bytes), 64u << 10, std::uint64_t{64} << 30));
  table.push_back(number("tcp.window_chunks", "Chunks in flight per lane.",
                         TENTQ_AT(tcp.window_chunks), 1, 65'536));
  table.push_back(size_or_zero(
      "tcp.chunk_bytes",
      "Largest chunk: an owner is cut into pieces of this size; 0: of about 250us at its rate.",
      TENTQ_AT(tcp.chunk_bytes), 64u << 10, 1u << 20));
}

void add_data_keys(Table& table) {
  table.push_back(boolean("memory.allow_sparse",
                          "Accept regions with holes; each first touch then costs the daemon.",
                          TENTQ_AT(memory.allow_sparse), kLive));
  table.push_back(size("memory.most_bytes", "Registered memory of all clients.",
                       TENTQ_AT(memory.most_bytes), 0, kMostBytes));
  table.push_back(number(
      "shm.workers",
      "Copying threads (the conductor helps a single one); 0: min(4, cores - 1), at least 1.",
      TENTQ_AT(shm.workers), 0, 64));
  table.push_back(size("shm.inline_bytes", "Largest copy made without a worker; 0: none.",
                       TENTQ_AT(shm.inline_bytes), 0, 16u << 10));
  table.push_back(size("shm.inline_turn_bytes", "Bytes copied without a worker in one turn.",
                       TENTQ_AT(shm.inline_turn_bytes), 0, 64u << 10));
  table.push_back(boolean("shm.adaptive",
                          "The window of each lane follows the lane, below shm.window_bytes.",
                          TENTQ_AT(shm.window.adaptive), kLive));
  table.push_back(duration("shm.delay_target",
                           "Most that chunks may wait for each other in an adaptive window.",
                           TENTQ_AT(shm.window.delay_target), microseconds{1}, seconds{1}, kLive));
  table.push_back(size("shm.least_window_bytes", "An adaptive window is never smaller.",
                       TENTQ_AT(shm.window.least_bytes), 0, std::uint64_t{64} << 30, kLive));
  table.push_back(size("shm.window_bytes",
                       "Bytes in flight per lane; the most when shm.adaptive is set.",
                       TENTQ_AT(shm.window_bytes), 64u << 10, std::uint64_t{64} << 30, kLive));
  table.push_back(number("shm.window_chunks", "Chunks in flight per lane.",
                         TENTQ_AT(shm.window_chunks), 1, 65'536, kLive));
  table.push_back(size_or_zero(
      "shm.chunk_bytes",
      "Largest chunk: an owner is cut into pieces of this size; 0: of about 20us at a lane's rate.",
      TENTQ_AT(shm.chunk_bytes), 64u << 10, 1u << 20));
  table.back().reloadable = true;
  // With the least rate a chunk of the largest size takes a second: a stop waits for it.
  table.push_back(size_or_zero("shm.paced_bytes_per_second",
                               "Rate of each lane (reads, writes): for tests and benchmarks, and "
                               "to cap what tentq takes of the memory; 0: not paced.",
                               TENTQ_AT(shm.paced_bytes_per_second), 1u << 20,
                               std::uint64_t{1} << 40));
  add_tcp_keys(table);
  table.push_back(duration("loop.spin", "The conductor polls this long after the last work.",
                           TENTQ_AT(loop.spin), seconds{0}, seconds{1}));
  table.push_back(duration("loop.session_park",
                           "A session idle for this long is polled no more, its doorbell wakes it.",
                           TENTQ_AT(loop.session_park), microseconds{1}, seconds{10}));
  table.push_back(duration("loop.safety_poll", "Longest sleep of the conductor.",
                           TENTQ_AT(loop.safety_poll), milliseconds{1}, seconds{10}));
  table.push_back(duration("loop.stalled_producer",
                           "A reserved cell not published by then is shown as a stalled producer.",
                           TENTQ_AT(loop.stalled_producer), milliseconds{1}, minutes{1}));
  table.push_back(number("loop.cells_per_turn", "Cells taken from one client in one turn.",
                         TENTQ_AT(loop.cells_per_turn), 1, 65'536));
}

void add_amounts(Table& table, const std::string& prefix, const std::string& what, auto amounts) {
  table.push_back(
      number((prefix + ".owners").c_str(),
             ("Owners " + what).c_str(), [=](auto& s) -> auto& { return amounts(s).owners; }, 0,
             kMostAmount, kLive));
  table.push_back(
      size((prefix + ".bytes").c_str(),
           ("Bytes " + what).c_str(), [=](auto& s) -> auto& { return amounts(s).bytes; }, 0,
           kMostBytes, kLive));
  table.push_back(
      number((prefix + ".extents").c_str(),
             ("Extents " + what).c_str(), [=](auto& s) -> auto& { return amounts(s).extents; }, 0,
             kMostAmount, kLive));
}

void add_limit_keys(Table& table) {
  table.push_back(size("limits.largest_owner_bytes", "Longest owner; longer ones are too large.",
                       TENTQ_AT(limits.largest_owner_bytes), 1, kMostBytes, kLive));
  table.push_back(number("limits.largest_call_owners", "Most owners of one submit call.",
                         TENTQ_AT(limits.largest_call_owners), 1, 16'384, kLive));
  table.push_back(duration("limits.route_budget", "How long an owner may wait for a route.",
                           TENTQ_AT(limits.route_budget), milliseconds{1}, hours{1}, kLive));
  table.push_back(duration("limits.retry_backoff_min",
                           "First pause after a transport refused a chunk.",
                           TENTQ_AT(limits.retry_backoff_min), microseconds{1}, minutes{1}, kLive));
  table.push_back(duration("limits.retry_backoff_max", "Longest pause; pauses double up to it.",
                           TENTQ_AT(limits.retry_backoff_max), microseconds{1}, minutes{1}, kLive));
  table.push_back(number("limits.retry_attempts", "Refusals in a row before the owner fails.",
                         TENTQ_AT(limits.retry_attempts), 0, 1'000, kLive));
  table.push_back(duration("limits.age_max",
                           "An older owner may go before its turn, in a tenth of a lane's bytes; "
                           "0s: never.",
                           TENTQ_AT(limits.age_max), seconds{0}, hours{1}, kLive));
  table.push_back(size("limits.client_in_flight_bytes",
                       "Most of one client in flight, on all lanes together; 0: no cap.",
                       TENTQ_AT(limits.client_in_flight_bytes), 0, kMostBytes, kLive));
  table.push_back(choice("limits.deadlines",
                         "A submit whose deadline the lane's rate cannot meet: off admits it, "
                         "advisory counts it too, enforce refuses it as unmeetable.",
                         TENTQ_AT(limits.deadline_mode),
                         std::array<std::string_view, 3>{"off", "advisory", "enforce"}, kLive));
  add_amounts(table, "limits.host", "outstanding, of all clients.", TENTQ_AT(limits.host));
  add_amounts(table, "limits.client", "outstanding, of one client.", TENTQ_AT(limits.client));
  add_amounts(table, "limits.internal_reserve",
              "of the host's limit kept for the daemon's own work.",
              TENTQ_AT(limits.internal_reserve));
}

void add_quota_key(Table& table) {
  ConfigKey key = base(
      "quotas",
      "What single clients, users or groups may have, all their sessions together. The first "
      "entry\n"
      "that matches counts: by `client` (a name, or its beginning and \"*\"), `uid` and `group`, "
      "of\n"
      "which all that are given must hold. Clients choose their names themselves, so put entries\n"
      "with a uid or group first where users are not to be trusted. Keys of an entry:\n"
      "  highest_class    most urgent class or intent; above it: over, \"reject\" or "
      "\"downgrade\"\n"
      "  weight           share within a class; 1\n"
      "  owners, bytes    most outstanding; else limits.client\n"
      "  in_flight_bytes  most in flight on all lanes; else limits.client_in_flight_bytes\n"
      "  pinned_bytes     most registered memory; else as much as the host takes\n"
      "  per              who shares it: a user's \"cgroup\" (as without a quota), the \"user\", "
      "\"all\"\n"
      "A reload changes them for attached clients too, but for classes: these, and another match "
      "of\n"
      "some sessions of a client, need the client to attach again.",
      "a list like [{\"client\": \"prefetch-*\", \"highest_class\": \"prefetch\", \"bytes\": "
      "\"1GiB\"}]",
      TENTQ_AT(quotas), kLive);
  key.parse_parts = [](const ConfigValue& value, Settings* settings,
                       std::vector<ConfigError>* errors) {
    const std::size_t first = errors->size();
    parse_quotas(value, &settings->quotas, errors);
    for (std::size_t i = first; i < errors->size(); ++i) {
      if ((*errors)[i].key == "quotas") (*errors)[i].expected = find_config_key("quotas")->expected;
    }
  };
  key.parse = [](const ConfigValue& value, Settings* settings) {
    std::vector<ConfigError> errors;
    parse_quotas(value, &settings->quotas, &errors);
    return errors.empty();
  };
  key.print = [](const Settings& settings) { return print_quotas(settings.quotas); };
  table.push_back(std::move(key));
}

void add_class_keys(Table& table) {
  for (std::size_t c = 0; c < kClassCount; ++c) {
    const std::string prefix = "classes." + std::string(kClassNames[c]);
    // Class 0 is served before all others, so it has no weight.
    if (c != index_of(ClassId::internal)) {
      table.push_back(number(
          (prefix + ".weight").c_str(), "Share of the class while others want bandwidth too.",
          [c](auto& s) -> auto& { return s.limits.classes[c].weight; }, 1, 10'000, kLive));
      table.push_back(boolean((prefix + ".strict").c_str(),
                              "Under wdrr: goes before all classes that share by weight.",
                              [c](auto& s) -> auto& { return s.limits.classes[c].strict; }, kLive));
      table.push_back(size((prefix + ".in_flight_bytes").c_str(),
                           "Most of the class in flight on a lane; 0: no cap.",
                           [c](auto& s) -> auto& { return s.limits.classes[c].in_flight_bytes; }, 0,
                           kMostBytes, kLive));
      table.push_back(size((prefix + ".reserve_bytes").c_str(),
                           "Part of every lane's window that other classes leave to this one.",
                           [c](auto& s) -> auto& { return s.limits.classes[c].reserve_bytes; }, 0,
                           kMostBytes, kLive));
    }
    add_amounts(
        table, prefix, "outstanding in the class.", [c](auto& s) -> auto& {
          return s.limits.classes[c].outstanding;
        });
  }
}

// One of the classes that clients can have, by its name.
ConfigKey client_class(const char* path, const char* doc, auto at) {
  ConfigKey key = base(path, doc, "one of", at, Reload::no);
  for (std::size_t c = 1; c < kClassCount; ++c) {
    key.expected += (c == 1 ? " " : ", ") + quoted(kClassNames[c]);
  }
  key.parse = [=](const ConfigValue& value, Settings* settings) {
    const auto* written = std::get_if<std::string>(&value.content);
    const auto found = std::find(kClassNames.begin() + 1, kClassNames.end(),
                                 written == nullptr ? std::string_view{} : *written);
    if (found == kClassNames.end()) return false;
    at(*settings) = static_cast<ClassId>(found - kClassNames.begin());
    return true;
  };
  key.print = [=](const Settings& settings) { return quoted(kClassNames[index_of(at(settings))]); };
  return key;
}

// A file that is read again on SIGHUP; its path needs a restart.
ConfigKey tls_file(const char* path, const char* doc, auto at) {
  return text(path, doc, "an absolute path, or an empty text", at, is_path_or_empty);
}

void add_certificate_keys(Table& table) {
  table.push_back(tls_file("peers.tls_ca_file",
                           "mtls: certificates, in PEM, of the authorities that sign those of all "
                           "hosts. Of tentq alone: whom they sign is let in.",
                           TENTQ_AT(peers.tls_ca_file)));
  table.push_back(tls_file("peers.tls_certificate_file",
                           "mtls: this host's certificate in PEM, then those between it and the "
                           "authority; names what other hosts dial. SIGHUP reads it again for new "
                           "links.",
                           TENTQ_AT(peers.tls_certificate_file)));
  table.push_back(tls_file("peers.tls_key_file",
                           "mtls: its private key in PEM, not encrypted, that only the daemon's "
                           "user can read.",
                           TENTQ_AT(peers.tls_key_file)));
  table.push_back(text("peers.allowed_names",
                       "mtls: names of which the certificate of every other host must have one, "
                       "besides that which is dialed; empty: any.",
                       "names separated by commas, like \"node-7.example.com, *.stores.example, "
                       "10.0.0.2\", or an empty text",
                       TENTQ_AT(peers.allowed_names), is_name_list));
}

void add_peer_keys(Table& table) {
  table.push_back(
      text("peers.listen", "Where daemons of other hosts connect; empty: none can.",
           "an address and a port like \"10.0.0.2:7471\", \"0.0.0.0:7471\" or \"[::]:7471\", or an "
           "empty text",
           TENTQ_AT(peers.listen), is_endpoint_or_empty));
  table.push_back(text("peers.advertise",
                       "What other hosts connect to, if that is not where it listens.",
                       "a host with or without a port, like \"node-7\" or \"10.0.0.2:7471\", or an "
                       "empty text",
                       TENTQ_AT(peers.advertise), is_peer_address_or_empty));
  table.push_back(
      choice("peers.auth",
             "How daemons prove themselves to each other: psk by a key that all have "
             "(nothing is encrypted); mtls by certificates, over TLS 1.3, which encrypts "
             "everything; none not at all.",
             TENTQ_AT(peers.auth), std::array<std::string_view, 3>{"psk", "mtls", "none"}));
  table.push_back(text("peers.key_file",
                       "The key of psk: 32 to 4096 bytes that only the daemon's user can read; "
                       "empty: no links.",
                       "an absolute path, or an empty text", TENTQ_AT(peers.key_file),
                       is_path_or_empty));
  add_certificate_keys(table);
  table.push_back(boolean("peers.allow_unauthenticated",
                          "With peers.auth none: every host that reaches peers.listen may connect, "
                          "and read and write what is registered for other hosts.",
                          TENTQ_AT(peers.allow_unauthenticated)));
  table.push_back(number("peers.data_connections", "TCP connections for data of each link.",
                         TENTQ_AT(peers.data_connections), 1, 16));
  table.push_back(duration("peers.timeout", "A peer that is silent for this long is lost.",
                           TENTQ_AT(peers.timeout), milliseconds{100}, minutes{1}));
  table.push_back(duration("peers.connect_timeout",
                           "Most time to connect to an address, and then to be let in.",
                           TENTQ_AT(peers.connect_timeout), milliseconds{100}, minutes{1}));
  table.push_back(number("peers.most", "Hosts with links at once.", TENTQ_AT(peers.most), 1, 84));
  table.push_back(client_class("peers.highest_class",
                               "Most urgent class that reads of other hosts are served at.",
                               TENTQ_AT(peers.highest_class)));
  table.push_back(number("peers.dscp",
                         "DSCP of control connections, so that the network can put them first.",
                         TENTQ_AT(peers.dscp), 0, 63));
}

void add_directory_keys(Table& table) {
  table.push_back(choice(
      "directory.kind", "Where segments are found by name alone, as tentq:///NAME; none: nowhere.",
      TENTQ_AT(directory.kind), std::array<std::string_view, 2>{"none", "etcd"}));
  table.push_back(
      text("directory.endpoints",
           "etcd: its members (3.4 or newer), asked over HTTP without a user; a failure "
           "moves on to the next.",
           "addresses separated by commas, like \"http://etcd-0:2379, "
           "http://etcd-1:2379\" (https:// is not spoken), or an empty text",
           TENTQ_AT(directory.endpoints), are_directory_endpoints));
  table.push_back(text("directory.prefix", "etcd: what all keys begin with.",
                       "\"/\" and at most 200 of letters, digits, '.', '_', '-' and '/'",
                       TENTQ_AT(directory.prefix), is_directory_prefix));
  table.push_back(duration("directory.lease",
                           "How long the names of a daemon that died stay; in whole seconds.",
                           TENTQ_AT(directory.lease), seconds{2}, hours{1}));
  table.push_back(duration("directory.timeout", "Most time for one call, and for one look-up.",
                           TENTQ_AT(directory.timeout), milliseconds{100}, minutes{1}));
}

void add_maxima_keys(Table& table) {
  table.push_back(number("maxima.owners", "Owners that there is memory for.",
                         TENTQ_AT(maxima.owners), 1, kMostAmount));
  table.push_back(number("maxima.sessions", "Sessions that there is memory for.",
                         TENTQ_AT(maxima.sessions), 1, 4'096));
  table.push_back(number("maxima.clients", "Fairness keys that there is memory for.",
                         TENTQ_AT(maxima.clients), 1, 4'096));
  table.push_back(
      number("maxima.lanes", "Lanes that there is memory for.", TENTQ_AT(maxima.lanes), 1, 256));
  table.push_back(number("maxima.slots", "Status slots of a session that there is memory for.",
                         TENTQ_AT(maxima.slots), 64, 65'536));
}

Table make_table() {
  Table table;
  add_process_keys(table);
  add_session_keys(table);
  add_data_keys(table);
  add_limit_keys(table);
  add_class_keys(table);
  add_quota_key(table);
  add_peer_keys(table);
  add_directory_keys(table);
  add_maxima_keys(table);
  return table;
}

}  // namespace

const std::vector<ConfigKey>& config_keys() {
  static const Table table = make_table();
  return table;
}

const ConfigKey* find_config_key(std::string_view path) {
  for (const ConfigKey& key : config_keys()) {
    if (key.path == path) return &key;
  }
  return nullptr;
}

bool is_config_section(std::string_view path) {
  const std::string prefix = std::string(path) + '.';
  return std::any_of(config_keys().begin(), config_keys().end(),
                     [&](const ConfigKey& key) { return key.path.starts_with(prefix); });
}

}  // namespace tentq
