// Proving and checking who is there. See tls_stream.h.
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <boost/asio/ip/address.hpp>
#include <cerrno>

#include "daemon/peers/tls_faults.h"
#include "daemon/peers/tls_stream.h"

namespace tentq {

// What OpenSSL calls for each certificate: keeps whose was not believed.
struct TlsVerification {
  static int judged(int believed, X509_STORE_CTX* store) {
    if (believed == 1) return 1;
    const auto* ssl =
        static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto* stream = static_cast<TlsStream*>(SSL_get_app_data(ssl));
    X509* certificate = X509_STORE_CTX_get_current_cert(store);
    if (certificate != nullptr) stream->bad_certificate_ = names_of(certificate);
    return 0;
  }
};

namespace {

// The name that was dialed, and nothing but: no part of a label by a star, no common name.
bool expect(SSL* ssl, const std::string& dialed) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(dialed, error);
  X509_VERIFY_PARAM* const rules = SSL_get0_param(ssl);
  if (!error) return X509_VERIFY_PARAM_set1_ip_asc(rules, address.to_string().c_str()) == 1;
  std::string name = dialed;
  if (name.ends_with('.')) name.pop_back();
  X509_VERIFY_PARAM_set_hostflags(
      rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  return X509_VERIFY_PARAM_set1_host(rules, name.c_str(), name.size()) == 1 &&
         SSL_set_tlsext_host_name(ssl, name.c_str()) == 1;
}

}  // namespace

bool TlsStream::begin() {
  ssl_.reset(SSL_new(terms_->context()));
  BIO* const end = ssl_ ? wire_.make_end() : nullptr;
  if (end == nullptr) return false;
  SSL_set_bio(ssl_.get(), end, end);
  SSL_set_app_data(ssl_.get(), this);
  SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                 &TlsVerification::judged);
  if (dialed_.empty()) {
    SSL_set_accept_state(ssl_.get());
    return true;
  }
  SSL_set_connect_state(ssl_.get());
  return expect(ssl_.get(), dialed_);
}

TlsStream::Step TlsStream::shake_hands() {
  ERR_clear_error();
  if (!ssl_ && !begin()) {
    ERR_clear_error();
    return fail({PeerReason::tls_failed, "TLS cannot be set up: there is no memory"});
  }
  if (!established_) {
    const int result = SSL_do_handshake(ssl_.get());
    const int error = result == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl_.get(), result);
    if (result != 1 && error != SSL_ERROR_WANT_READ) return fail(handshake_fault());
    established_ = result == 1;
  }
  if (!wire_.flush()) {
    if (wire_.error() == EAGAIN) return Step::writes;
    return fail({PeerReason::closed, "the connection broke"});
  }
  return established_ ? finish() : Step::reads;
}

TlsStream::Step TlsStream::finish() {
  X509* const certificate = SSL_get0_peer_certificate(ssl_.get());
  // OpenSSL has checked as much; here it costs nothing to be sure.
  if (certificate == nullptr || SSL_get_verify_result(ssl_.get()) != X509_V_OK) {
    return fail(handshake_fault());
  }
  peer_name_ = name_of(certificate);
  if (!terms_->lets_in(certificate)) {
    return fail({PeerReason::wrong_name, "the certificate of the other side (" +
                                             names_of(certificate) +
                                             ") has none of the names in `peers.allowed_names`; " +
                                             std::string(remedy(PeerReason::wrong_name))});
  }
  wire_.trust();
  return Step::done;
}

HandshakeFault TlsStream::handshake_fault() {
  const unsigned long code = ERR_peek_error();
  const long verified = SSL_get_verify_result(ssl_.get());
  HandshakeFault fault;
  if (verified != X509_V_OK) {
    fault = certificate_fault(verified, bad_certificate_, dialed_);
  } else if (wire_.flooded()) {
    fault = {PeerReason::protocol_error, "too much came before the other side was known"};
  } else if (wire_.got_anything()) {
    fault = plain_fault(wire_.beginning());
  }
  if (fault.text.empty()) {
    fault = tls_fault(wire_.ended() ? SSL_ERROR_SYSCALL : SSL_ERROR_SSL, wire_.ended() ? 0 : code);
  }
  ERR_clear_error();
  return fault;
}

TlsStream::Step TlsStream::fail(HandshakeFault fault) {
  fault_ = std::move(fault);
  refuse();
  return Step::failed;
}

void TlsStream::refuse() {
  PeerRefused refused;
  refused.header = {PeerRefused::kType, sizeof(PeerRefused), 0};
  refused.status = status_of(fault_.reason);
  refused.text.assign(fault_.text);
  if (established_) {
    const iovec part = {&refused, sizeof(refused)};
    send({&part, 1});
  } else if (dialed_.empty() && is_plain_peer(wire_.beginning())) {
    wire_.replace(&refused, sizeof(refused));
  }
}

}  // namespace tentq
