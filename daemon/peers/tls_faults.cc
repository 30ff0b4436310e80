// See tls_faults.h.
#include "daemon/peers/tls_faults.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <cstring>

namespace tentq {
namespace {

HandshakeFault with_remedy(PeerReason reason, const std::string& text) {
  return {reason, text + "; " + std::string(remedy(reason))};
}

// The other side's alerts about what it was shown.
HandshakeFault refused_here(PeerReason reason, const char* why) {
  return with_remedy(reason,
                     std::string("the other side does not take this host's certificate: ") + why);
}

}  // namespace

HandshakeFault tls_fault(int error, unsigned long code) {
  if (code == 0) {
    return {PeerReason::closed, error == SSL_ERROR_SYSCALL || error == SSL_ERROR_ZERO_RETURN
                                    ? "the other side closed the connection"
                                    : "TLS failed"};
  }
  if (ERR_GET_LIB(code) != ERR_LIB_SSL) {
    const char* text = ERR_reason_error_string(code);
    return with_remedy(PeerReason::tls_failed,
                       std::string("TLS failed: ") + (text == nullptr ? "no text" : text));
  }
  switch (ERR_GET_REASON(code)) {
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
      return {PeerReason::closed, "the other side closed the connection"};
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return refused_here(PeerReason::certificate_expired, "it has expired there");
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return refused_here(PeerReason::unknown_ca, "it does not know who signed it");
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return refused_here(PeerReason::bad_certificate, "its log says why");
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return with_remedy(PeerReason::bad_certificate, "the other side shows no certificate");
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_WRONG_SSL_VERSION:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_VERSION_TOO_LOW:
      return with_remedy(PeerReason::tls_version, "the other side does not speak TLS 1.3");
    default: break;
  }
  const char* text = ERR_reason_error_string(code);
  return with_remedy(PeerReason::tls_failed,
                     std::string("TLS failed: ") + (text == nullptr ? "no text" : text));
}

HandshakeFault certificate_fault(long result, const std::string& names, const std::string& dialed) {
  const std::string who = "the certificate of the host that " +
                          std::string(dialed.empty() ? "connects" : "was connected to") +
                          (names.empty() ? "" : " (" + names + ")");
  switch (result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return with_remedy(PeerReason::certificate_expired, who + " has expired");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return with_remedy(PeerReason::certificate_not_yet_valid, who + " is not valid yet");
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return with_remedy(PeerReason::unknown_ca,
                         who + " is signed by nobody in `peers.tls_ca_file`");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return with_remedy(PeerReason::wrong_name, who + " is not for " + dialed);
    default: break;
  }
  return with_remedy(PeerReason::bad_certificate,
                     who + " is not accepted: " + X509_verify_cert_error_string(result));
}

bool is_tls(unsigned char first, unsigned char second) {
  // A record of the handshake, or an alert; the version in front of it is always 3 dot something.
  return (first == 0x16 || first == 0x15) && second == 3;
}

bool is_plain_peer(const std::array<unsigned char, 8>& beginning) {
  PeerMessageType type{};
  std::uint32_t bytes = 0;
  std::memcpy(&type, beginning.data(), sizeof(type));
  std::memcpy(&bytes, beginning.data() + sizeof(type), sizeof(bytes));
  return (type == PeerMessageType::hello || type == PeerMessageType::refused) &&
         bytes == peer_message_bytes(type);
}

HandshakeFault plain_fault(const std::array<unsigned char, 8>& beginning) {
  if (is_tls(beginning[0], beginning[1])) return {};
  if (is_plain_peer(beginning)) {
    return with_remedy(PeerReason::auth_mismatch,
                       "one side has `peers.auth` mtls, the other speaks no TLS");
  }
  return with_remedy(PeerReason::protocol_error, "what came is no TLS");
}

}  // namespace tentq
