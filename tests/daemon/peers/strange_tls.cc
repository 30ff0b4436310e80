// See strange_tls.h.
#include "tests/daemon/peers/strange_tls.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "daemon/config/endpoint.h"

namespace tentq::test {

void StrangeTls::Free::operator()(SSL_CTX* context) const {
  SSL_CTX_free(context);
}

StrangeTls::StrangeTls(const std::string& address, const StrangeTerms& terms) {
  const auto at = parse_endpoint(address);
  socket_.reset(::socket(at->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&at->address), at->length),
            0);
  prepare(terms);
  thread_ = std::thread([this] { talk(true); });
}

StrangeTls::StrangeTls(const shm::Fd& listener, const StrangeTerms& terms) {
  prepare(terms);
  thread_ = std::thread([this, fd = listener.get()] {
    socket_.reset(::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC));
    talk(false);
  });
}

StrangeTls::~StrangeTls() {
  thread_.join();
}

void StrangeTls::prepare(const StrangeTerms& terms) {
  context_.reset(SSL_CTX_new(TLS_method()));
  SSL_CTX_set_min_proto_version(context_.get(), terms.version);
  SSL_CTX_set_max_proto_version(context_.get(), terms.version);
  if (terms.files.certificate.empty()) return;
  EXPECT_EQ(SSL_CTX_use_certificate_chain_file(context_.get(), terms.files.certificate.c_str()), 1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context_.get(), terms.files.key.c_str(), SSL_FILETYPE_PEM),
            1);
}

void StrangeTls::talk(bool dials) {
  const timeval limit = {10, 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  SSL* const ssl = SSL_new(context_.get());
  SSL_set_fd(ssl, socket_.get());
  if ((dials ? SSL_connect(ssl) : SSL_accept(ssl)) == 1) {
    char heard = 0;
    while (SSL_read(ssl, &heard, 1) > 0) {
    }
  }
  SSL_free(ssl);
  socket_.reset();
}

}  // namespace tentq::test
