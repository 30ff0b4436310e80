// What this daemon's TLS needs: its certificate and private key, the authorities whose certificates
// it believes, and which names it lets in. Fixed once loaded; connections share it, so that files
// that are read again count for new connections. Loading is the conductor's; the rest any thread.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>
#include <vector>

#include "daemon/settings.h"

namespace tentq {

class TlsTerms {
 public:
  // From peers.tls_*. Null with what is wrong and what to do in *why: a file that cannot be read or
  // is not what it should be, a private key that others can read or that does not fit the
  // certificate, a certificate that is not valid now.
  static std::shared_ptr<const TlsTerms> load(const PeerSettings& settings, std::string* why);

  SSL_CTX* context() const { return context_.get(); }
  // Patterns of names; empty: every certificate of the authorities is let in.
  const std::vector<std::string>& names() const { return names_; }
  // Whether the certificate carries one of them, or any does.
  bool lets_in(X509* certificate) const;

 private:
  struct Free {
    void operator()(SSL_CTX* context) const;
  };

  TlsTerms() = default;
  bool load_authorities(const PeerSettings& settings, std::string* why);
  bool load_certificate(const PeerSettings& settings, std::string* why);
  bool load_key(const PeerSettings& settings, std::string* why);

  std::unique_ptr<SSL_CTX, Free> context_;
  std::vector<std::string> names_;
};

// The first name that the certificate has for its holder: of DNS, else an address, else its common
// name; printable. Empty: none.
std::string name_of(X509* certificate);
// All of them, for a text, cut at 100 bytes.
std::string names_of(X509* certificate);

}  // namespace tentq
