// A daemon's other side in TLS, played with OpenSSL as the test wants it: old versions, no or wrong
// certificates. It shakes hands on a thread of its own and hears until the end.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>
#include <thread>

#include "shm/fd.h"
#include "tests/support/certificates.h"

namespace tentq::test {

struct StrangeTerms {
  CertificateFiles files = {};  // empty: none is shown
  int version = 0x0304;         // TLS1_3_VERSION
};

class StrangeTls {
 public:
  // Connects to host:port.
  StrangeTls(const std::string& address, const StrangeTerms& terms);
  // Takes one connection of a listener.
  StrangeTls(const shm::Fd& listener, const StrangeTerms& terms);
  // Waits for the end of the other side, ten seconds at most.
  ~StrangeTls();
  StrangeTls(const StrangeTls&) = delete;
  StrangeTls& operator=(const StrangeTls&) = delete;

 private:
  struct Free {
    void operator()(SSL_CTX* context) const;
  };
  void prepare(const StrangeTerms& terms);
  void talk(bool dials);

  std::unique_ptr<SSL_CTX, Free> context_;
  shm::Fd socket_;
  std::thread thread_;
};

}  // namespace tentq::test
