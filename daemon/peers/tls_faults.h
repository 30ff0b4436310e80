// What went wrong in TLS, in this daemon's words: which certificate, why, and what to do. Pure.
#pragma once

#include <array>
#include <string>

#include "daemon/peers/handshake.h"

namespace tentq {

// `error` is what SSL_get_error() said, `code` the first of OpenSSL's queue (0: none).
HandshakeFault tls_fault(int error, unsigned long code);
// The other side's certificate, whose names are `names`, was not believed: `result` is of
// X509_V_ERR_*. `dialed` is what it should have been for; empty: it connected.
HandshakeFault certificate_fault(long result, const std::string& names, const std::string& dialed);
// If what came first is no TLS: what it is. Else an empty reason text.
HandshakeFault plain_fault(const std::array<unsigned char, 8>& beginning);
// Whether it is a tentqd without TLS that began so.
bool is_plain_peer(const std::array<unsigned char, 8>& beginning);
// Whether somebody who speaks TLS began so.
bool is_tls(unsigned char first, unsigned char second);

}  // namespace tentq
