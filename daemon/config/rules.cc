// What must hold between values that are each in range. Rules that the core has too are repeated
// here where the key at fault can be named.
#include <algorithm>

#include "daemon/config/config.h"
#include "daemon/config/endpoint.h"
#include "daemon/config/key_kinds.h"
#include "daemon/core/bounds.h"
#include "proto/session_layout.h"

namespace tentq {
namespace {

// Cells kept for cancels, notifications and reports in every ring.
constexpr std::uint32_t kReservedCells = SessionSizes{}.ring_reserved;

class Rules {
 public:
  // `key` must be at most `bound`, the value of `bound_key`.
  void at_most(const std::string& key, std::uint64_t value, const std::string& bound_key,
               std::uint64_t bound, bool bytes = false) {
    if (value <= bound) return;
    const auto print = [&](std::uint64_t n) { return bytes ? print_size(n) : std::to_string(n); };
    add(key, print(value), "at most " + print(bound) + ", which is `" + bound_key + '`');
  }
  void add(const std::string& key, std::string value, std::string expected) {
    ConfigError error;
    error.key = key;
    error.value = std::move(value);
    error.expected = std::move(expected);
    error.message = "contradicts another value";
    errors_.push_back(std::move(error));
  }
  std::vector<ConfigError> take() { return std::move(errors_); }

 private:
  std::vector<ConfigError> errors_;
};

void check_limits(const Settings& s, Rules* rules) {
  const core::Limits& limits = s.limits;
  const std::string host = "limits.host", reserve = "limits.internal_reserve";
  rules->at_most(reserve + ".owners", limits.internal_reserve.owners, host + ".owners",
                 limits.host.owners);
  rules->at_most(reserve + ".bytes", limits.internal_reserve.bytes, host + ".bytes",
                 limits.host.bytes, true);
  rules->at_most(reserve + ".extents", limits.internal_reserve.extents, host + ".extents",
                 limits.host.extents);
  rules->at_most(host + ".owners", limits.host.owners, "maxima.owners", s.maxima.owners);
  const auto check_cap = [rules](const std::string& key, std::uint64_t bytes) {
    if (bytes == 0 || bytes >= core::kLeastCap) return;
    rules->add(key, print_size(bytes), "0 (no cap) or at least " + print_size(core::kLeastCap));
  };
  check_cap("limits.client_in_flight_bytes", limits.client_in_flight_bytes);
  for (std::size_t c = 1; c < kClassCount; ++c) {
    check_cap("classes." + std::string(kClassNames[c]) + ".in_flight_bytes",
              limits.classes[c].in_flight_bytes);
  }
  rules->at_most("limits.retry_backoff_min",
                 static_cast<std::uint64_t>(limits.retry_backoff_min.count()),
                 "limits.retry_backoff_max (ns)",
                 static_cast<std::uint64_t>(limits.retry_backoff_max.count()));
}

void check_sessions(const Settings& s, Rules* rules) {
  rules->at_most("sessions.most", s.sessions.most, "maxima.sessions", s.maxima.sessions);
  rules->at_most("sessions.slots", s.sessions.slots, "maxima.owners", s.maxima.owners);
  rules->at_most("sessions.slots", s.sessions.slots, "maxima.slots", s.maxima.slots);
  rules->at_most("sessions.regions", s.sessions.regions, "sessions.host_regions",
                 s.sessions.host_regions);
  rules->at_most("limits.largest_call_owners", s.limits.largest_call_owners,
                 "sessions.ring_cells less the reserved cells",
                 s.sessions.ring_cells - kReservedCells);
  rules->at_most("limits.largest_call_owners", s.limits.largest_call_owners, "sessions.slots",
                 s.sessions.slots);
  const std::uint64_t memory = session_memory_bytes(s.sessions);
  if (memory > kMostSessionMemory) {
    rules->add("sessions.most", std::to_string(s.sessions.most),
               "sessions of " + std::to_string(memory / s.sessions.most) +
                   " bytes each that fit into " + print_size(kMostSessionMemory) +
                   " together: fewer sessions, ring_cells or slots, or a smaller arena");
  }
}

void check_data(const Settings& s, Rules* rules) {
  rules->at_most("shm.chunk_bytes", s.shm.chunk_bytes, "shm.window_bytes", s.shm.window_bytes,
                 true);
  rules->at_most("shm.least_window_bytes", s.shm.window.least_bytes, "shm.window_bytes",
                 s.shm.window_bytes, true);
  rules->at_most("shm.inline_bytes", s.shm.inline_bytes, "shm.inline_turn_bytes",
                 s.shm.inline_turn_bytes, true);
}

void check_paths(const Settings& s, Rules* rules) {
  const std::pair<const char*, const std::string*> paths[] = {
      {"socket", &s.socket.path},      {"admin_socket", &s.admin_socket.path},
      {"status_path", &s.status_path}, {"lock_path", &s.lock_path},
      {"log_file", &s.log.file},
  };
  for (std::size_t i = 0; i < std::size(paths); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (*paths[i].second != *paths[j].second || paths[i].second->empty()) continue;
      rules->add(paths[i].first, keys::quoted(*paths[i].second),
                 std::string("another path than that of `") + paths[j].first + '`');
    }
  }
}

void check_metrics(const Settings& s, Rules* rules) {
  const auto endpoint = parse_endpoint(s.metrics.listen);
  if (!endpoint || endpoint->loopback || s.metrics.listen_public) return;
  rules->add(
      "metrics_listen", keys::quoted(s.metrics.listen),
      "an address of this host alone, like \"127.0.0.1:9464\"; or, if other hosts shall read "
      "the metrics, `metrics_listen_public`: true");
}

// All of them or, for a daemon that has no links, none.
void check_certificates(const PeerSettings& peers, Rules* rules) {
  const std::pair<const char*, const std::string*> files[] = {
      {"peers.tls_ca_file", &peers.tls_ca_file},
      {"peers.tls_certificate_file", &peers.tls_certificate_file},
      {"peers.tls_key_file", &peers.tls_key_file}};
  const bool wanted =
      !peers.listen.empty() || std::any_of(std::begin(files), std::end(files),
                                           [](const auto& file) { return !file.second->empty(); });
  for (const auto& [path, file] : files) {
    if (!wanted || !file->empty()) continue;
    rules->add(path, keys::quoted(*file), "the path of a file, because `peers.auth` is \"mtls\"");
  }
}

void check_peers(const Settings& s, Rules* rules) {
  const PeerSettings& peers = s.peers;
  if (peers.auth == PeerAuth::mtls) check_certificates(peers, rules);
  const auto endpoint = parse_endpoint(peers.listen);
  if (!endpoint) {
    if (peers.advertise.empty()) return;
    rules->add("peers.advertise", keys::quoted(peers.advertise),
               "an empty text, or an address to listen at in `peers.listen`");
    return;
  }
  if (peers.auth == PeerAuth::psk && peers.key_file.empty()) {
    rules->add("peers.key_file", keys::quoted(peers.key_file),
               "the path of the key that all hosts have, because `peers.listen` is set (make one: "
               "`head -c 32 /dev/urandom | base64 > FILE; chmod 600 FILE`)");
  }
  if (peers.auth == PeerAuth::none && !endpoint->loopback && !peers.allow_unauthenticated) {
    rules->add("peers.listen", keys::quoted(peers.listen),
               "with `peers.auth`: \"none\" an address of this host alone, like "
               "\"127.0.0.1:7471\"; or \"mtls\" with certificates, or \"psk\" with a key; or, if "
               "whoever reaches the port may read "
               "and write, `peers.allow_unauthenticated`: true");
  }
}

void check_directory(const Settings& s, Rules* rules) {
  if (s.directory.kind == DirectoryKind::none) return;
  if (s.directory.endpoints.find_first_not_of(' ') == std::string::npos) {
    rules->add("directory.endpoints", keys::quoted(s.directory.endpoints),
               "an address like \"http://etcd-0:2379\", because `directory.kind` is \"etcd\"");
  }
  if (!s.peers.enabled()) {
    rules->add("directory.kind", "\"etcd\"",
               "\"none\" without links to other hosts: set `peers.listen` and a key or "
               "certificates");
  }
  const auto endpoint = parse_endpoint(s.peers.listen);
  if (endpoint && s.peers.advertise.empty() && endpoint->unspecified()) {
    rules->add("peers.advertise", keys::quoted(s.peers.advertise),
               "the name or address of this host, which the directory tells the others, because "
               "`peers.listen` is every address");
  }
}

}  // namespace

std::uint64_t session_memory_bytes(const SessionSettings& sessions) {
  SessionSizes sizes;
  sizes.class_mask = kClientClassMask;
  sizes.ring_cells = sessions.ring_cells;
  sizes.slots = sessions.slots;
  sizes.arena_bytes = sessions.arena_bytes;
  const SessionLayout layout(sizes);
  return sessions.most * (layout.req_bytes() + layout.sta_bytes());
}

std::vector<ConfigError> check_settings(const Settings& settings) {
  Rules rules;
  check_limits(settings, &rules);
  check_sessions(settings, &rules);
  check_data(settings, &rules);
  check_paths(settings, &rules);
  check_metrics(settings, &rules);
  check_peers(settings, &rules);
  check_directory(settings, &rules);
  std::vector<ConfigError> errors = rules.take();
  // The core's own rules come last, so that what --check-config lets pass also starts.
  std::string core_text = core::contradiction(settings.limits, settings.maxima);
  if (errors.empty() && !core_text.empty()) {
    errors.emplace_back();
    errors.back().key = "limits";
    errors.back().message = std::move(core_text);
  }
  return errors;
}

}  // namespace tentq
