// Why a link was not made, or ended. Shown in logs and counted: values stay, new ones are appended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "proto/status.h"

namespace tentq {

enum class PeerReason : std::uint8_t {
  unreachable,        // the name or address does not lead to a listening daemon
  connect_timeout,    // nobody answered
  handshake_timeout,  // connected, but not through the handshake in time
  protocol_error,     // what came is no message, or none that may come then
  incompatible,       // another major version
  auth_mismatch,      // one side wants a key, the other has none
  wrong_key,          // the proof does not fit
  itself,             // the address leads back to this daemon
  twin,               // another host has the same id
  stale,              // an older epoch or link than one that is known
  other_host,         // a data connection came to another host than its link
  duplicate,          // a data connection's number was used, or there are too many
  too_many,           // a limit
  refused,            // by the other side, whose text says why
  silent,             // nothing came for too long
  not_reading,        // it does not read what is sent
  closed,             // the connection ended
  replaced,           // a newer epoch or link of the host
  dropped,            // by this daemon
  // Of TLS: what one side thinks of the other's certificate, or of what it speaks.
  certificate_expired,
  certificate_not_yet_valid,
  unknown_ca,
  wrong_name,
  bad_certificate,
  tls_version,
  tls_failed,
};
inline constexpr std::size_t kPeerReasonCount = 26;

std::string_view to_string(PeerReason reason);
// What an operator can do; one sentence, never empty.
std::string_view remedy(PeerReason reason);
// What a refusal for this reason tells the other side.
StatusCode status_of(PeerReason reason);

}  // namespace tentq
