// Texts of reasons. See reason.h.
#include "daemon/peers/reason.h"

namespace tentq {

std::string_view to_string(PeerReason reason) {
  switch (reason) {
    case PeerReason::unreachable: return "unreachable";
    case PeerReason::connect_timeout: return "connect_timeout";
    case PeerReason::handshake_timeout: return "handshake_timeout";
    case PeerReason::protocol_error: return "protocol_error";
    case PeerReason::incompatible: return "incompatible";
    case PeerReason::auth_mismatch: return "auth_mismatch";
    case PeerReason::wrong_key: return "wrong_key";
    case PeerReason::itself: return "itself";
    case PeerReason::twin: return "twin";
    case PeerReason::stale: return "stale";
    case PeerReason::other_host: return "other_host";
    case PeerReason::duplicate: return "duplicate";
    case PeerReason::too_many: return "too_many";
    case PeerReason::refused: return "refused";
    case PeerReason::silent: return "silent";
    case PeerReason::not_reading: return "not_reading";
    case PeerReason::closed: return "closed";
    case PeerReason::replaced: return "replaced";
    case PeerReason::dropped: return "dropped";
    case PeerReason::certificate_expired: return "certificate_expired";
    case PeerReason::certificate_not_yet_valid: return "certificate_not_yet_valid";
    case PeerReason::unknown_ca: return "unknown_ca";
    case PeerReason::wrong_name: return "wrong_name";
    case PeerReason::bad_certificate: return "bad_certificate";
    case PeerReason::tls_version: return "tls_version";
    case PeerReason::tls_failed: return "tls_failed";
  }
  return "unknown";
}

std::string_view remedy(PeerReason reason) {
  switch (reason) {
    case PeerReason::unreachable:
      return "check the address, that tentqd runs there with `peers.listen` set, and firewalls";
    case PeerReason::connect_timeout:
      return "check that the host is up, and that no firewall drops its port";
    case PeerReason::handshake_timeout:
      return "check that a tentqd listens at that port and is not overloaded; what connects here "
             "and says nothing is closed";
    case PeerReason::protocol_error:
      return "check that both sides are tentqd and of versions that work together";
    case PeerReason::incompatible: return "run tentqd of one major protocol version on both hosts";
    case PeerReason::auth_mismatch: return "set `peers.auth` to the same on both hosts";
    case PeerReason::wrong_key:
      return "put the same key into `peers.key_file` of both hosts, and restart tentqd";
    case PeerReason::itself: return "give the address of another host";
    case PeerReason::twin:
      return "a state directory was copied: stop tentqd on one of the hosts, remove host_id there, "
             "and start it again";
    case PeerReason::stale:
      return "nothing when a daemon restarted; if it goes on, a state directory was copied or set "
             "back: remove host_id there and restart that tentqd";
    case PeerReason::other_host: return "check that the address leads to one host only";
    case PeerReason::duplicate: return "nothing: it is tried again";
    case PeerReason::too_many: return "raise `peers.most`, or find out who connects";
    case PeerReason::refused: return "see what the other side says";
    case PeerReason::silent:
      return "check the network and the load of the host; `peers.timeout` is the limit";
    case PeerReason::not_reading: return "check the load of the other host";
    case PeerReason::closed: return "see the log of the other host";
    case PeerReason::replaced: return "nothing: the host connected anew";
    case PeerReason::dropped: return "nothing: it is no longer needed, or the daemon stops";
    case PeerReason::certificate_expired:
      return "put a new certificate there and send that tentqd SIGHUP; check both clocks";
    case PeerReason::certificate_not_yet_valid: return "check the clocks of both hosts";
    case PeerReason::unknown_ca:
      return "sign the certificates of all hosts by an authority in the `peers.tls_ca_file` of all";
    case PeerReason::wrong_name:
      return "dial the host by a name or address that its certificate has, give it one with that, "
             "or change `peers.allowed_names`";
    case PeerReason::bad_certificate:
      return "give both hosts certificates for TLS servers and clients, with a signature that "
             "counts as safe";
    case PeerReason::tls_version: return "run a tentqd with TLS 1.3 there, and nothing between";
    case PeerReason::tls_failed:
      return "check that a tentqd with `peers.auth` mtls answers there, and nothing between";
  }
  return "see the log of the other host";
}

StatusCode status_of(PeerReason reason) {
  switch (reason) {
    case PeerReason::protocol_error:
    case PeerReason::itself:
    case PeerReason::duplicate:
    case PeerReason::other_host: return StatusCode::invalid_argument;
    case PeerReason::incompatible:
    case PeerReason::tls_version:
    case PeerReason::tls_failed: return StatusCode::incompatible;
    case PeerReason::auth_mismatch:
    case PeerReason::wrong_key:
    case PeerReason::certificate_expired:
    case PeerReason::certificate_not_yet_valid:
    case PeerReason::unknown_ca:
    case PeerReason::wrong_name:
    case PeerReason::bad_certificate: return StatusCode::not_permitted;
    case PeerReason::twin: return StatusCode::name_in_use;
    case PeerReason::stale:
    case PeerReason::replaced: return StatusCode::stale_handle;
    case PeerReason::too_many: return StatusCode::exhausted;
    case PeerReason::handshake_timeout:
    case PeerReason::connect_timeout:
    case PeerReason::silent: return StatusCode::timeout;
    case PeerReason::unreachable: return StatusCode::no_route;
    case PeerReason::dropped: return StatusCode::draining;
    case PeerReason::refused:
    case PeerReason::not_reading:
    case PeerReason::closed: return StatusCode::daemon_gone;
  }
  return StatusCode::internal_error;
}

}  // namespace tentq
