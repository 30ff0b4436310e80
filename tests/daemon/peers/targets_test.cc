// Addresses that are wanted: black holes, oneself, two names of one host, and wishes withdrawn.
#include "daemon/peers/targets.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tests/daemon/peers/peer_node.h"
#include "tests/daemon/peers/raw_peer.h"

namespace tentq::test {
namespace {

using std::chrono::milliseconds;

// A socket whose queue is full: who connects gets no answer at all.
struct BlackHole {
  BlackHole() : listener(listen_anywhere(&address, 0)) {
    const auto at = parse_endpoint(address);
    for (auto& filler : fillers) {
      filler = shm::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      ::connect(filler.get(), reinterpret_cast<const sockaddr*>(&at->address), at->length);
    }
  }
  std::string address;
  shm::Fd listener;
  shm::Fd fillers[4];
};

TEST(Targets, ABlackHoleDelaysNobodyElse) {
  Loop loop;
  Node a(loop, {.host = 1, .connect_timeout = milliseconds{5000}}), b(loop, {.host = 2});
  BlackHole hole;
  a.want(hole.address);
  loop.drain();
  a.want(b.address());
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(loop.until([&] { return Node::connected(a, b); }));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds{4000});
  EXPECT_TRUE(a.troubles.empty());
}

TEST(Targets, ABlackHoleIsGivenUpAfterTheConnectTimeout) {
  Loop loop;
  Node a(loop, {.host = 1, .connect_timeout = milliseconds{100}});
  BlackHole hole;
  a.want(hole.address);
  ASSERT_TRUE(loop.until([&] { return a.troubles.size() == 2; }));
  EXPECT_EQ(a.troubles[0].reason, PeerReason::connect_timeout);
  EXPECT_EQ(a.troubles[0].address, hole.address);
}

TEST(Targets, WhoTakesTheConnectionAndSaysNothingIsGivenUpToo) {
  Loop loop;
  std::string address;
  const shm::Fd listener = listen_anywhere(&address);
  Node a(loop, {.host = 1, .connect_timeout = milliseconds{100}});
  a.want(address);
  ASSERT_TRUE(loop.until([&] { return !a.troubles.empty(); }));
  EXPECT_EQ(a.troubles[0].reason, PeerReason::handshake_timeout);
}

TEST(Targets, ANameWithoutAnAddressIsTrouble) {
  Loop loop;
  Node a(loop, {.host = 1});
  a.want("no-such-host.invalid");
  ASSERT_TRUE(loop.until([&] { return !a.troubles.empty(); }));
  EXPECT_TRUE(a.troubles[0].reason == PeerReason::unreachable ||
              a.troubles[0].reason == PeerReason::connect_timeout);
  EXPECT_EQ(a.troubles[0].address, "no-such-host.invalid:7471");
}

TEST(Targets, OneselfIsRecognizedAndNamed) {
  for (const std::string& key : {kSecret, std::string()}) {
    Loop loop;
    Node a(loop, {.host = 1, .key = key});
    a.want(a.address());
    ASSERT_TRUE(loop.until([&] { return a.troubles.size() >= 2; }));
    EXPECT_TRUE(a.troubles[0].reason == PeerReason::itself);
    EXPECT_NE(a.troubles[0].text.find("another host"), std::string::npos) << a.troubles[0].text;
    EXPECT_TRUE(a.up.empty());
  }
}

TEST(Targets, AHostWithOursIdIsCalledACopy) {
  Loop loop;
  Node a(loop, {.host = 1, .epoch = 1}), copy(loop, {.host = 1, .epoch = 2});
  a.want(copy.address());
  ASSERT_TRUE(loop.until([&] { return a.has_trouble(PeerReason::twin); }));
  EXPECT_TRUE(copy.has_trouble(PeerReason::twin));
}

TEST(Targets, TwoAddressesOfOneHostShareALink) {
  Loop loop;
  Node a(loop, {.host = 1}), b(loop, {.host = 2, .listen = "[::]:0"});
  const std::string port = b.address().substr(b.address().rfind(':'));
  const std::string four = "127.0.0.1" + port, six = "[::1]" + port, name = "localhost" + port;
  a.want(four);
  ASSERT_TRUE(loop.until([&] { return Node::connected(a, b); }));
  a.want(six);
  a.want(name);
  const auto settled = [&] {
    return Node::connected(a, b) && a.links->link_to(four) && a.links->link_to(six) &&
           a.links->link_to(name);
  };
  ASSERT_TRUE(loop.until(settled));
  EXPECT_EQ(a.links->link_to(four), a.links->link_to(six));
  EXPECT_EQ(a.links->link_to(four), a.links->link_to(name));
  const LinkKey key = *a.links->link_to(four);
  EXPECT_EQ(a.links->addresses_of(key).size(), 3u);
  // It stays: nobody ends anybody any more.
  const std::size_t downs = a.downs.size();
  const auto end = std::chrono::steady_clock::now() + milliseconds{500};
  ASSERT_TRUE(loop.until([&] { return std::chrono::steady_clock::now() > end; }));
  EXPECT_EQ(a.downs.size(), downs);
  EXPECT_EQ(a.links->link_to(six), key);
  // The link goes on until the last of them is unwanted.
  for (const std::string& address : {four, six, name}) {
    EXPECT_EQ(a.up.count(key), 1u);
    EXPECT_EQ(a.links->link_to(address), key) << address;
    a.links->unwant(address);
    EXPECT_FALSE(a.links->link_to(address));
    loop.drain();
  }
  EXPECT_TRUE(a.up.empty());
  // And after a restart they come back as one.
  for (const std::string& address : {four, six}) a.want(address);
  ASSERT_TRUE(loop.until([&] {
    return Node::connected(a, b) && a.links->link_to(four) &&
           a.links->link_to(four) == a.links->link_to(six);
  }));
  b.restart(2);
  ASSERT_TRUE(loop.until([&] {
    return Node::connected(a, b) && a.links->link_to(four) &&
           a.links->link_to(four) == a.links->link_to(six) &&
           a.up.begin()->second.epoch_counter == 2;
  }));
}

TEST(Targets, WhatIsNotWantedIsNotDialedAgain) {
  Loop loop;
  Node a(loop, {.host = 1}), b(loop, {.host = 2});
  a.want(b.address());
  a.want(b.address());  // no second link
  ASSERT_TRUE(loop.until([&] { return Node::connected(a, b); }));
  a.links->unwant(b.address());
  EXPECT_TRUE(a.downs.empty());  // not from inside the call
  ASSERT_TRUE(loop.until([&] { return !a.downs.empty() && !b.downs.empty(); }));
  EXPECT_EQ(a.downs[0].reason, PeerReason::dropped);
  EXPECT_EQ(a.fenced.size(), 2u);
  const auto end = std::chrono::steady_clock::now() + milliseconds{300};
  ASSERT_TRUE(loop.until([&] { return std::chrono::steady_clock::now() > end; }));
  EXPECT_TRUE(a.up.empty() && b.up.empty());
  a.want(b.address());
  EXPECT_TRUE(loop.until([&] { return Node::connected(a, b); }));
}

TEST(Targets, AreNoMoreThanTheLimit) {
  Loop loop;
  Node a(loop, {.host = 1, .most = 2});
  a.want("127.0.0.1:1");
  a.want("127.0.0.1:2");
  std::string why;
  EXPECT_TRUE(a.links->want("127.0.0.1:2", &why));
  EXPECT_FALSE(a.links->want("127.0.0.1:3", &why));
  EXPECT_NE(why.find("peers.most"), std::string::npos) << why;
  a.links->unwant("127.0.0.1:1");
  EXPECT_TRUE(a.links->want("127.0.0.1:3", &why));
}

}  // namespace
}  // namespace tentq::test
