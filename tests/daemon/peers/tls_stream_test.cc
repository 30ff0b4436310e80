// Bytes through TLS over a pair of sockets: all of them, whatever the pieces and however little the
// sockets take; new keys on the way; memory that is gone; and what breaks it.
#include "daemon/peers/tls_stream.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <random>

#include "shm/fd.h"
#include "tests/support/certificates.h"
#include "transports/shm/guarded_copy.h"

namespace tentq::test {
namespace {

iovec part_of(std::span<std::byte> bytes) {
  return {bytes.data(), bytes.size()};
}

std::vector<std::byte> random_bytes(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

class TlsPair : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> fds;
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()), 0);
    near_fd_.reset(fds[0]);
    far_fd_.reset(fds[1]);
    const auto files = authority_.issue("both");
    PeerSettings settings;
    settings.tls_ca_file = authority_.file();
    settings.tls_certificate_file = files.certificate;
    settings.tls_key_file = files.key;
    std::string why;
    const auto terms = TlsTerms::load(settings, &why);
    ASSERT_TRUE(terms) << why;
    near_ = std::make_unique<TlsStream>(terms, near_fd_.get(), "localhost");
    far_ = std::make_unique<TlsStream>(terms, far_fd_.get(), "");
  }
  void shake_hands() {
    TlsStream::Step near_step{}, far_step{};
    for (int i = 0; i < 20; ++i) {
      near_step = near_->shake_hands();
      far_step = far_->shake_hands();
    }
    ASSERT_EQ(near_step, TlsStream::Step::done) << near_->fault().text;
    ASSERT_EQ(far_step, TlsStream::Step::done) << far_->fault().text;
    EXPECT_EQ(near_->peer_name(), "localhost");
  }
  // All of `bytes` from one to the other, in pieces of random sizes.
  void pass(TlsStream& from, TlsStream& to, std::span<std::byte> bytes, std::uint32_t seed) {
    std::mt19937 random(seed);
    const auto piece = [&](std::size_t left) {
      return std::min<std::size_t>(left, 1 + random() % (random() % 2 == 0 ? 100 : 300'000));
    };
    std::vector<std::byte> got(bytes.size());
    std::size_t sent = 0, received = 0;
    while (received < bytes.size()) {
      std::array<iovec, 2> parts;
      const std::size_t first = piece(bytes.size() - sent);
      const std::size_t second = piece(bytes.size() - sent - first);
      parts[0] = part_of(bytes.subspan(sent, first));
      parts[1] = part_of(bytes.subspan(sent + first, second));
      const ssize_t taken = from.send(parts);
      if (taken < 0) {
        ASSERT_EQ(errno, EAGAIN) << from.fault().text;
      } else {
        sent += static_cast<std::size_t>(taken);
      }
      const iovec room = part_of(std::span(got).subspan(received, piece(got.size() - received)));
      const ssize_t put = to.receive({&room, 1});
      if (put < 0) {
        ASSERT_EQ(errno, EAGAIN) << to.fault().text;
        EXPECT_FALSE(to.may_hold_input());
      } else {
        ASSERT_GT(put, 0);
        EXPECT_TRUE(static_cast<std::size_t>(put) < room.iov_len || to.may_hold_input());
        received += static_cast<std::size_t>(put);
      }
    }
    EXPECT_EQ(std::memcmp(got.data(), bytes.data(), got.size()), 0);
    EXPECT_EQ(from.send({}), 0);
    EXPECT_FALSE(from.holds_output());
  }

  Authority authority_{"tentq tests"};
  shm::Fd near_fd_, far_fd_;
  std::unique_ptr<TlsStream> near_, far_;
};

TEST_F(TlsPair, PassesEveryByteBothWays) {
  shake_hands();
  const std::uint32_t seed = 20'261'130;
  SCOPED_TRACE(seed);
  auto bytes = random_bytes(9'000'001, seed);
  pass(*near_, *far_, bytes, seed);
  pass(*far_, *near_, std::span(bytes).first(3'000'001), seed + 1);
}

TEST_F(TlsPair, TakesNewKeysAgainAndAgain) {
  shake_hands();
  near_->take_new_keys_after(100'000);
  auto bytes = random_bytes(20'000'000, 1);
  pass(*near_, *far_, bytes, 1);
}

TEST_F(TlsPair, SendsNothingReadable) {
  shake_hands();
  const std::string word = "what nobody else should read";
  const iovec part = {const_cast<char*>(word.data()), word.size()};
  ASSERT_EQ(near_->send({&part, 1}), static_cast<ssize_t>(word.size()));
  std::array<char, 4096> raw;
  const ssize_t got = ::recv(far_fd_.get(), raw.data(), raw.size(), MSG_PEEK);
  ASSERT_GT(got, static_cast<ssize_t>(word.size()));
  EXPECT_EQ(std::string_view(raw.data(), static_cast<std::size_t>(got)).find("nobody"),
            std::string_view::npos);
}

TEST_F(TlsPair, AChangedByteEndsIt) {
  shake_hands();
  std::vector<std::byte> bytes(1000);
  const iovec part = part_of(bytes);
  ASSERT_EQ(near_->send({&part, 1}), 1000);
  std::array<char, 4096> raw;
  const ssize_t got = ::recv(far_fd_.get(), raw.data(), raw.size(), 0);
  ASSERT_GT(got, 500);
  raw[400] ^= 1;
  ASSERT_EQ(::send(near_fd_.get(), raw.data(), static_cast<std::size_t>(got), 0), got);
  EXPECT_EQ(far_->receive({&part, 1}), -1);
  EXPECT_EQ(errno, EPROTO);
  EXPECT_EQ(far_->fault().reason, PeerReason::tls_failed) << far_->fault().text;
}

TEST_F(TlsPair, TheEndOfTheOtherSideIsAnEnd) {
  shake_hands();
  near_.reset();
  near_fd_.reset();
  std::vector<std::byte> bytes(10);
  const iovec part = part_of(bytes);
  EXPECT_EQ(far_->receive({&part, 1}), 0);
}

TEST_F(TlsPair, MemoryThatIsGoneFailsTheCallAndNothingElse) {
  install_sigbus_guard();
  shake_hands();
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const shm::Fd file(::memfd_create("gone", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(page)), 0);
  void* const mapped = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  ASSERT_EQ(::ftruncate(file.get(), 0), 0);
  std::array<char, 4> head = {'h', 'e', 'a', 'd'};
  const std::array<iovec, 2> parts = {{{head.data(), 4}, {mapped, 100}}};
  EXPECT_EQ(near_->send(parts), -1);
  EXPECT_EQ(errno, EFAULT);
  ASSERT_EQ(near_->send({parts.data(), 1}), 4);
  EXPECT_EQ(far_->receive({&parts[1], 1}), -1);
  EXPECT_EQ(errno, EFAULT);
  std::array<char, 8> got = {};
  const iovec room = {got.data(), got.size()};
  EXPECT_EQ(far_->receive({&room, 1}), 4);
  EXPECT_EQ(std::string_view(got.data()), "head");
  ::munmap(mapped, page);
}

}  // namespace
}  // namespace tentq::test
