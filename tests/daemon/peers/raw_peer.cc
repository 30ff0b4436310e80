// See raw_peer.h.
#include "tests/daemon/peers/raw_peer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "daemon/config/endpoint.h"

namespace tentq::test {

RawPeer::RawPeer(Loop& loop, const std::string& address) : loop_(loop) {
  const auto at = parse_endpoint(address);
  socket_ = shm::Fd(::socket(at->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&at->address), at->length),
            0);
}

RawPeer::RawPeer(Loop& loop, const shm::Fd& listener) : loop_(loop) {
  EXPECT_TRUE(loop.until([&] {
    pollfd waits{listener.get(), POLLIN, 0};
    return ::poll(&waits, 1, 0) == 1;
  }));
  socket_ = shm::Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
}

PeerHello RawPeer::hello(std::uint8_t host, std::uint64_t epoch, std::uint64_t link,
                         std::uint64_t connection, bool keyed) {
  PeerHello hello = make_hello({host_id(host), epoch, 1000 * epoch + host},
                               keyed ? key_of(kSecret) : PeerKey(), "");
  hello.link = link;
  hello.connection = connection;
  hello.role = connection == 0 ? PeerRole::control : PeerRole::data;
  return hello;
}

bool RawPeer::send_bytes(const void* bytes, std::size_t size) {
  return ::send(socket_.get(), bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(size);
}

bool RawPeer::read_some() {
  const auto room = parser_.room();
  const ssize_t got = ::recv(socket_.get(), room.data(), room.size(), MSG_DONTWAIT);
  if (got > 0) parser_.added(static_cast<std::size_t>(got));
  if (got == 0 || (got < 0 && errno != EAGAIN)) end_ = true;
  return got > 0;
}

std::optional<PeerMessage> RawPeer::next() {
  PeerMessage message;
  auto step = PeerParser::Step::more;
  loop_.until([&] {
    step = parser_.next(&message);
    if (step != PeerParser::Step::more || end_) return true;
    read_some();
    return false;
  });
  EXPECT_NE(step, PeerParser::Step::broken) << parser_.why();
  return step == PeerParser::Step::message ? std::optional(message) : std::nullopt;
}

bool RawPeer::ended() {
  return loop_.until([&] {
    PeerMessage message;
    while (parser_.next(&message) == PeerParser::Step::message) {
    }
    read_some();
    return end_;
  });
}

bool RawPeer::prove(const PeerHello& own, const PeerKey& key) {
  send(own);
  const auto peer = next<PeerHello>();
  if (!peer || key.empty()) return peer.has_value();
  PeerProof proof;
  proof.proof = make_proof(key, PeerSide::dialer, own, *peer);
  send(proof);
  const auto answer = next<PeerProof>();
  return answer && answer->proof == make_proof(key, PeerSide::acceptor, own, *peer);
}

std::optional<PeerReady> RawPeer::shake_hands(const PeerHello& own, const PeerKey& key) {
  if (!prove(own, key)) return std::nullopt;
  return next<PeerReady>();
}

shm::Fd listen_anywhere(std::string* address, int backlog) {
  const auto at = parse_endpoint("127.0.0.1:0");
  shm::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at->address), at->length), 0);
  EXPECT_EQ(::listen(fd.get(), backlog), 0);
  *address = endpoint_of(fd.get())->text();
  return fd;
}

}  // namespace tentq::test
