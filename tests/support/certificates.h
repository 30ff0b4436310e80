// Authorities and certificates of tests, made with OpenSSL into a directory of the test's. Keys are
// of P-256. Any thread.
#pragma once

#include <openssl/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/temp_directory.h"

namespace tentq::test {

// What a daemon is given.
struct CertificateFiles {
  std::string certificate;
  std::string key;
};

struct CertificateTerms {
  // "DNS:node-7" or "IP:127.0.0.1".
  std::vector<std::string> names = {"DNS:localhost", "IP:127.0.0.1", "IP:::1"};
  std::string common_name = "test";
  // From now.
  std::chrono::hours begins = std::chrono::hours{-1};
  std::chrono::hours ends = std::chrono::hours{1};
  std::string usages = "serverAuth, clientAuth";
};

class Authority {
 public:
  explicit Authority(const std::string& name);
  ~Authority();

  // The file for peers.tls_ca_file.
  const std::string& file() const { return file_; }
  // Two files, NAME.pem and NAME.key, the latter for the user alone; written again if they are
  // there.
  CertificateFiles issue(const std::string& name, const CertificateTerms& terms = {});

 private:
  struct Parts;

  TempDirectory directory_;
  std::string file_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tentq::test
