// What links between namespaces do: carry bytes, hold to a rate, break, swallow, and leave nothing.
#include "tests/namespaces/namespaces.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "tests/support/program.h"

namespace tentq::test {
namespace {

// A pair of connected sockets, one end in each network.
struct Pair {
  shm::Fd here;
  shm::Fd there;
};

shm::Fd socket_in(int network) {
  shm::Fd fd;
  std::thread maker([&] {
    enter(network);
    fd.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  });
  maker.join();
  return fd;
}

sockaddr_in at(const std::string& address, std::uint16_t port = 0) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htons(port);
  ::inet_pton(AF_INET, address.c_str(), &result.sin_addr);
  return result;
}

Pair connect(const Namespaces& namespaces, std::uint32_t from, std::uint32_t to) {
  const shm::Fd listener = socket_in(namespaces.fd(to));
  sockaddr_in address = at(namespaces.address(to, from));
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(listener.get(), generic, length), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_EQ(::getsockname(listener.get(), generic, &length), 0);
  Pair pair;
  pair.here = socket_in(namespaces.fd(from));
  EXPECT_EQ(::connect(pair.here.get(), generic, length), 0);
  pair.there.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_TRUE(pair.there.valid());
  return pair;
}

bool arrives(const Pair& pair, int most_ms) {
  EXPECT_EQ(::send(pair.here.get(), "x", 1, MSG_NOSIGNAL), 1);
  pollfd entry = {pair.there.get(), POLLIN, 0};
  char got = 0;
  return ::poll(&entry, 1, most_ms) == 1 && ::recv(pair.there.get(), &got, 1, 0) == 1 && got == 'x';
}

#define NAMESPACES_OR_SKIP() \
  if (const std::string lacks = Namespaces::missing(); !lacks.empty()) GTEST_SKIP() << lacks

TEST(Namespaces, EveryHostIsReachedFromTheFirst) {
  NAMESPACES_OR_SKIP();
  const Namespaces namespaces(3);
  for (const std::uint32_t host : {1u, 2u}) {
    EXPECT_TRUE(arrives(connect(namespaces, 0, host), 5'000));
    EXPECT_TRUE(arrives(connect(namespaces, host, 0), 5'000));
  }
  EXPECT_NE(namespaces.address(0, 1), namespaces.address(0, 2));
}

TEST(Namespaces, ACutLinkCarriesAgainOnceItIsJoined) {
  NAMESPACES_OR_SKIP();
  const Namespaces namespaces(2);
  const Pair pair = connect(namespaces, 0, 1);
  ASSERT_TRUE(arrives(pair, 5'000));
  namespaces.cut(1);
  EXPECT_FALSE(arrives(pair, 300));
  namespaces.join(1);
  pollfd entry = {pair.there.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&entry, 1, 20'000), 1);  // sent again by TCP
}

TEST(Namespaces, WhatASwallowedLinkIsGivenGoesNowhere) {
  NAMESPACES_OR_SKIP();
  const Namespaces namespaces(3);
  const Pair pair = connect(namespaces, 0, 1);
  const Pair other = connect(namespaces, 0, 2);
  ASSERT_TRUE(arrives(pair, 5'000));
  namespaces.swallow(1);
  EXPECT_FALSE(arrives(pair, 300));
  EXPECT_TRUE(arrives(other, 5'000));
  namespaces.pass(1);
  pollfd entry = {pair.there.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&entry, 1, 20'000), 1);
}

TEST(Namespaces, ALimitedLinkHoldsItsRate) {
  NAMESPACES_OR_SKIP();
  const Namespaces namespaces(2);
  constexpr std::size_t kBytes = 4u << 20;
  constexpr double kRate = 20e6;
  namespaces.limit(1, static_cast<std::uint64_t>(kRate));
  const Pair pair = connect(namespaces, 0, 1);
  std::thread sender([&] {
    const std::vector<char> bytes(kBytes);
    for (std::size_t sent = 0; sent < kBytes;) {
      const ssize_t n = ::send(pair.here.get(), bytes.data(), kBytes - sent, MSG_NOSIGNAL);
      if (n <= 0) return;
      sent += static_cast<std::size_t>(n);
    }
  });
  const auto begin = std::chrono::steady_clock::now();
  std::vector<char> bytes(kBytes);
  EXPECT_EQ(::recv(pair.there.get(), bytes.data(), kBytes, MSG_WAITALL),
            static_cast<ssize_t>(kBytes));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  sender.join();
  // Slower is the machine's affair.
  EXPECT_GE(took.count(), 0.8 * kBytes / kRate);
}

// By the number of devices in the network of the first host after a second set came and went.
TEST(Namespaces, NothingIsLeftBehind) {
  NAMESPACES_OR_SKIP();
  const auto count = [] {
    return run_program({"/bin/sh", "-c", "ls /sys/class/net | wc -l; ls /run/netns 2>/dev/null"});
  };
  const Outcome before = count();
  { const Namespaces namespaces(4); }
  EXPECT_EQ(count().output, before.output);
}

TEST(Namespaces, TheProgramHandsTheExitCodeOn) {
  NAMESPACES_OR_SKIP();
  const std::string program = TENTQ_NAMESPACES_PATH;
  EXPECT_EQ(run_program({program, "--hosts", "3", "--", "/bin/sh", "-c",
                         "test -e $HOST_2 && test $ADDRESS_1 = 10.77.1.2 && exit 7"})
                .exit_code,
            7);
  const Outcome usage = run_program({program, "--hosts", "1", "--", "/bin/true"});
  EXPECT_NE(usage.exit_code, 0);
}

// Where the right lacks, it says so and what to do.
TEST(Namespaces, WithoutTheRightTheTextSaysHow) {
  const Outcome outcome = run_program({TENTQ_NAMESPACES_PATH, "--", "/bin/true"}, [] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(99);
  });
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.output.find("unshare --user --map-root-user"), std::string::npos)
      << outcome.output;
}

}  // namespace
}  // namespace tentq::test
