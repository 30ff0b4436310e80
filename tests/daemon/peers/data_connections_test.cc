// Data connections: handed over whole, by number, replaced when they break, given back for fences.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/daemon/peers/peer_node.h"
#include "tests/daemon/peers/raw_peer.h"

namespace tentq::test {
namespace {

struct Pair {
  explicit Pair(std::uint32_t data_connections = 2)
      : a(loop, {.host = 1, .data_connections = data_connections}),
        b(loop, {.host = 2, .data_connections = data_connections}) {
    a.want(b.address());
    EXPECT_TRUE(loop.until([&] { return Node::connected(a, b); }));
    there = a.up_on(LinkSide::dialed)[0];
    back = b.up_on(LinkSide::accepted)[0];
  }
  Loop loop;
  Node a, b;
  LinkKey there, back;
};

TEST(DataConnections, AreTheSameOnBothSidesAndDoNotBlock) {
  Pair pair(4);
  ASSERT_EQ(pair.a.data.size(), 4u);
  for (const auto& [connection, socket] : pair.a.data) {
    const auto other = pair.b.data.find({pair.back, connection.second});
    ASSERT_NE(other, pair.b.data.end()) << connection.second;
    for (const int fd : {socket.get(), other->second.get()}) {
      EXPECT_NE(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
      EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    }
    const char word[] = {static_cast<char>(connection.second), 'x'};
    ASSERT_EQ(::send(socket.get(), word, sizeof(word), 0), 2);
    char got[4] = {};
    ASSERT_TRUE(pair.loop.until([&] {
      return ::recv(other->second.get(), got, sizeof(got), MSG_DONTWAIT | MSG_PEEK) == 2;
    }));
    EXPECT_EQ(got[0], word[0]);
  }
}

// The traffic classes of this process's connections, without its listeners.
std::vector<int> classes_of_connections() {
  std::vector<int> classes;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    int tos = 0;
    socklen_t length = sizeof tos;
    if (::getsockopt(fd, IPPROTO_IP, IP_TOS, &tos, &length) != 0) continue;
    sockaddr_storage other{};
    socklen_t room = sizeof other;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&other), &room) == 0) classes.push_back(tos);
  }
  std::sort(classes.begin(), classes.end());
  return classes;
}

// Control messages overtake data in networks that know classes; peers.dscp is 48 by default.
TEST(DataConnections, AreNotMarkedAsControlIs) {
  const Pair pair;
  constexpr int kMarked = 48 << 2;
  EXPECT_EQ(classes_of_connections(), (std::vector<int>{0, 0, 0, 0, kMarked, kMarked}));
}

TEST(DataConnections, AreAsManyAsBothSidesTake) {
  Loop loop;
  Node a(loop, {.host = 1, .data_connections = 6}), b(loop, {.host = 2, .data_connections = 3});
  a.want(b.address());
  ASSERT_TRUE(loop.until([&] { return Node::connected(a, b); }));
  loop.drain();
  EXPECT_EQ(a.data.size(), 3u);
}

TEST(DataConnections, AreMadeAnewUnderANewNumberWhenTheyBreak) {
  Pair pair;
  const auto broken = pair.a.data.begin()->first;
  for (Node* node : {&pair.a, &pair.b}) {
    const LinkKey key = node == &pair.a ? pair.there : pair.back;
    node->data.erase({key, broken.second});
    node->links->data_closed(key, broken.second);
  }
  ASSERT_TRUE(pair.loop.until([&] { return Node::connected(pair.a, pair.b); }));
  EXPECT_EQ(pair.a.data.count(broken), 0u);
  EXPECT_EQ(pair.a.data.rbegin()->first.second, 3u);
  EXPECT_TRUE(pair.a.downs.empty());
}

// A host that takes connections and ends them is asked for others ever more rarely.
TEST(DataConnections, ThatBreakAsSoonAsTheyAreMadeAreMadeWithGrowingPauses) {
  Loop loop;
  Node a(loop, {.host = 1, .data_connections = 1}), b(loop, {.host = 2, .data_connections = 1});
  a.want(b.address());
  const auto begin = std::chrono::steady_clock::now();
  for (int broken = 0; broken < 5; ++broken) {
    ASSERT_TRUE(loop.until([&] { return Node::connected(a, b); })) << broken;
    for (Node* node : {&a, &b}) {
      const auto connection = node->data.begin()->first;
      node->data.erase(connection);
      node->links->data_closed(connection.first, connection.second);
    }
  }
  ASSERT_TRUE(loop.until([&] { return Node::connected(a, b); }));
  // The lower halves of 50, 100, 200, 400 and 800 ms.
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds{775});
}

TEST(DataConnections, AreFencedWhenTheDialerAsksAndConfirmedWhenTheyAreQuiet) {
  Pair pair;
  pair.b.hold_fences = true;
  PeerFence fence;
  fence.header.request = 3;
  fence.connection = 1;
  ASSERT_TRUE(pair.a.links->send(pair.there, fence));
  fence.header.request = 4;  // asked twice, answered twice
  ASSERT_TRUE(pair.a.links->send(pair.there, fence));
  PeerCloseSegment marker;
  marker.segment = 1;
  ASSERT_TRUE(pair.a.links->send(pair.there, marker));
  ASSERT_TRUE(pair.loop.until([&] { return pair.b.messages.size() == 1; }));
  ASSERT_EQ(pair.b.fences.size(), 1u);
  EXPECT_EQ(pair.b.fences[0].first, (Node::Connection{pair.back, 1}));
  EXPECT_TRUE(pair.a.messages.empty());
  pair.b.fences[0].second();
  ASSERT_TRUE(pair.loop.until([&] { return pair.a.messages.size() == 2; }));
  for (const std::uint64_t request : {3u, 4u}) {
    const auto& fenced = std::get<PeerFenced>(pair.a.messages[request - 3].second);
    EXPECT_EQ(fenced.header.request, request);
    EXPECT_EQ(fenced.connection, 1u);
  }
  // The other one is as it was.
  EXPECT_EQ(pair.b.data.count({pair.back, 2}), 1u);
}

TEST(DataConnections, OfANumberThatWasFencedBeforeItCameAreRefused) {
  Loop loop;
  Node b(loop, {.host = 2});
  RawPeer control(loop, b.address());
  const PeerKey key = key_of(kSecret);
  ASSERT_TRUE(control.shake_hands(RawPeer::hello(1, 1, 1), key));
  PeerFence fence;
  fence.header.request = 8;
  fence.connection = 5;
  control.send(fence);
  const auto fenced = control.next_but_pings<PeerFenced>();
  ASSERT_TRUE(fenced);
  EXPECT_EQ(fenced->connection, 5u);
  RawPeer data(loop, b.address());
  ASSERT_TRUE(data.prove(RawPeer::hello(1, 1, 1, 5), key));
  const auto refused = data.next<PeerRefused>();
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->text.view().find("fenced"), std::string_view::npos);
  EXPECT_TRUE(b.data.empty());
}

TEST(DataConnections, WithAUsedNumberOrBeyondTheLimitAreRefused) {
  Loop loop;
  Node b(loop, {.host = 2, .data_connections = 2});
  RawPeer control(loop, b.address());
  const PeerKey key = key_of(kSecret);
  ASSERT_TRUE(control.shake_hands(RawPeer::hello(1, 1, 1), key));
  std::vector<std::unique_ptr<RawPeer>> data;
  const auto let_in = [&](std::uint64_t number) {
    data.push_back(std::make_unique<RawPeer>(loop, b.address()));
    return data.back()->shake_hands(RawPeer::hello(1, 1, 1, number), key).has_value();
  };
  EXPECT_TRUE(let_in(1));
  EXPECT_FALSE(let_in(1));
  EXPECT_TRUE(b.has_trouble(PeerReason::duplicate));
  EXPECT_TRUE(let_in(3));
  EXPECT_TRUE(let_in(2));  // a little out of order
  EXPECT_TRUE(let_in(4));  // twice what is granted: some may have broken unnoticed
  EXPECT_FALSE(let_in(5));
  EXPECT_EQ(b.data.size(), 4u);
}

TEST(DataConnections, OfNoLinkOfAnotherLinkOrOfAnotherHostAreRefused) {
  Loop loop;
  Node b(loop, {.host = 2});
  const PeerKey key = key_of(kSecret);
  RawPeer early(loop, b.address());
  EXPECT_FALSE(early.shake_hands(RawPeer::hello(1, 1, 1, 1), key));
  RawPeer control(loop, b.address());
  ASSERT_TRUE(control.shake_hands(RawPeer::hello(1, 3, 4), key));
  for (const PeerHello& hello :
       {RawPeer::hello(1, 3, 3, 1), RawPeer::hello(1, 3, 5, 1), RawPeer::hello(1, 2, 4, 1),
        RawPeer::hello(1, 4, 4, 1), RawPeer::hello(3, 3, 4, 1)}) {
    RawPeer data(loop, b.address());
    EXPECT_FALSE(data.shake_hands(hello, key)) << hello.epoch_counter << '/' << hello.link;
  }
  EXPECT_EQ(b.links->counts()[static_cast<std::size_t>(PeerReason::stale)], 6u);
  RawPeer right(loop, b.address());
  EXPECT_TRUE(right.shake_hands(RawPeer::hello(1, 3, 4, 1), key));
  EXPECT_EQ(b.up.size(), 1u);
}

}  // namespace
}  // namespace tentq::test
