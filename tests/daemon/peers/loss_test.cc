// How links end: silence, a peer that does not read, nonsense after READY, the other side's end;
// and that they come back.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tests/daemon/peers/peer_node.h"
#include "tests/daemon/peers/raw_peer.h"

namespace tentq::test {
namespace {

using std::chrono::milliseconds;

const PeerKey& key() {
  static const PeerKey made = key_of(kSecret);
  return made;
}

TEST(Loss, OfASilentPeerAfterTheTimeoutAndNotBefore) {
  Loop loop;
  Node b(loop, {.host = 2, .timeout = milliseconds{150}});
  RawPeer raw(loop, b.address());
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(raw.shake_hands(RawPeer::hello(1, 1, 1), key()));
  ASSERT_TRUE(loop.until([&] { return !b.downs.empty(); }));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds{150});
  EXPECT_EQ(b.downs[0].reason, PeerReason::silent);
  EXPECT_TRUE(b.up.empty());
  EXPECT_TRUE(raw.ended());
}

TEST(Loss, DoesNotComeWhileBothSidesAnswerPings) {
  Loop loop;
  Node a(loop, {.host = 1, .timeout = milliseconds{60}});
  Node b(loop, {.host = 2, .timeout = milliseconds{60}});
  a.want(b.address());
  ASSERT_TRUE(loop.until([&] { return Node::connected(a, b); }));
  const auto end = std::chrono::steady_clock::now() + milliseconds{600};
  ASSERT_TRUE(loop.until([&] { return std::chrono::steady_clock::now() > end; }));
  EXPECT_TRUE(a.downs.empty());
  EXPECT_TRUE(b.downs.empty());
}

TEST(Loss, PongsRepeatWhatThePingSaid) {
  Loop loop;
  Node b(loop, {.host = 2});
  RawPeer raw(loop, b.address());
  ASSERT_TRUE(raw.shake_hands(RawPeer::hello(1, 1, 1), key()));
  PeerPing ping;
  ping.header.request = 1234;
  raw.send(ping);
  const auto pong = raw.next_but_pings<PeerPong>();
  ASSERT_TRUE(pong);
  EXPECT_EQ(pong->header.request, 1234u);
}

TEST(Loss, OfAPeerThatDoesNotReadComesByTheBoundAndHoldsUpNobody) {
  Loop loop;
  Node b(loop, {.host = 2});
  Node a(loop, {.host = 3});
  a.want(b.address());
  RawPeer raw(loop, b.address());
  ASSERT_TRUE(raw.shake_hands(RawPeer::hello(1, 1, 1), key()));
  ASSERT_TRUE(loop.until([&] { return Node::connected(a, b) || b.data.size() == 2; }));
  LinkKey stuck, good;
  for (const auto& [link, peer] : b.up) (peer.host == host_id(1) ? stuck : good) = link;
  PeerRegions regions;
  std::size_t sent = 0;
  while (b.links->send(stuck, regions)) {
    ++sent;
    ASSERT_LT(sent, 100'000u);
    loop.io.poll_one();
  }
  EXPECT_GE(sent * sizeof(regions), PeerConnection::kMostQueued / 2);
  // Nothing is called from inside send().
  EXPECT_TRUE(b.downs.empty());
  ASSERT_TRUE(b.links->send(good, PeerRegions{}));
  ASSERT_TRUE(loop.until([&] { return b.downs.size() == 1 && a.messages.size() == 1; }));
  EXPECT_EQ(b.downs[0].key, stuck);
  EXPECT_EQ(b.downs[0].reason, PeerReason::not_reading);
  EXPECT_FALSE(b.links->send(stuck, regions));
}

TEST(Loss, OfAPeerThatSendsGarbageOrWhatMayNotComeThere) {
  Loop loop;
  Node b(loop, {.host = 2});
  PeerSegment answer;  // to a question that an acceptor never asks
  answer.segment = 1;
  answer.header = {PeerSegment::kType, sizeof(PeerSegment), 1};
  PeerHello again = RawPeer::hello(1, 1, 1);
  PeerFence nameless{{PeerFence::kType, sizeof(PeerFence), 1}, 0};
  const std::string garbage(64, 'z');
  const std::pair<const void*, std::size_t> bad[] = {{&answer, sizeof(answer)},
                                                     {&again, sizeof(again)},
                                                     {&nameless, sizeof(nameless)},
                                                     {garbage.data(), garbage.size()}};
  std::uint64_t link = 0;
  for (const auto& [bytes, size] : bad) {
    b.downs.clear();
    RawPeer raw(loop, b.address());
    ASSERT_TRUE(raw.shake_hands(RawPeer::hello(1, 1, ++link), key())) << link;
    ASSERT_TRUE(raw.send_bytes(bytes, size));
    EXPECT_TRUE(raw.next_but_pings<PeerRefused>()) << link;
    ASSERT_TRUE(loop.until([&] { return !b.downs.empty(); }));
    EXPECT_EQ(b.downs[0].reason, PeerReason::protocol_error) << b.downs[0].text;
  }
  EXPECT_TRUE(b.messages.empty());
}

TEST(Loss, OfALinkThatTheOwnerDropsIsToldToTheOtherSide) {
  Loop loop;
  Node a(loop, {.host = 1}), b(loop, {.host = 2});
  a.want(b.address());
  ASSERT_TRUE(loop.until([&] { return Node::connected(a, b); }));
  b.links->drop(b.up.begin()->first, "an answer without a question");
  EXPECT_TRUE(b.downs.empty());
  ASSERT_TRUE(loop.until([&] { return !a.downs.empty() && !b.downs.empty(); }));
  EXPECT_EQ(b.downs[0].reason, PeerReason::protocol_error);
  EXPECT_EQ(a.downs[0].reason, PeerReason::refused);
  EXPECT_EQ(a.downs[0].text, "an answer without a question");
  // A new one comes by itself, and the fences were confirmed before.
  EXPECT_TRUE(loop.until([&] { return Node::connected(a, b); }));
}

// The owner decides by it which of them are to be dialed again.
TEST(Loss, TellsWhichAddressesTheLinkServed) {
  Loop loop;
  Node a(loop, {.host = 1});
  Node b(loop, {.host = 2});
  const std::string address = b.address();
  a.want(address);
  ASSERT_TRUE(loop.until([&] { return Node::connected(a, b); }));
  b.stop();
  ASSERT_TRUE(loop.until([&] { return !a.downs.empty(); }));
  EXPECT_EQ(a.downs[0].peer.served, std::vector{address});
}

TEST(Loss, IsFollowedByANewLinkWhenTheOtherSideRestarts) {
  Loop loop;
  Node a(loop, {.host = 1}), b(loop, {.host = 2, .epoch = 4});
  a.want(b.address());
  ASSERT_TRUE(loop.until([&] { return Node::connected(a, b); }));
  const LinkKey before = *a.links->link_to(b.address());
  b.restart(5);
  ASSERT_TRUE(loop.until([&] { return !a.downs.empty() && Node::connected(a, b); }));
  EXPECT_EQ(a.downs[0].key, before);
  const LinkKey after = *a.links->link_to(b.address());
  EXPECT_NE(after, before);
  EXPECT_EQ(a.up.at(after).epoch_counter, 5u);
  EXPECT_FALSE(a.links->send(before, PeerPing{}));
  EXPECT_EQ(a.fenced.size(), 2u);
}

TEST(Loss, IsFollowedByANewLinkWhenTheOtherSideComesBackLater) {
  Loop loop;
  Node a(loop, {.host = 1});
  Node b(loop, {.host = 2});
  const std::string address = b.address();
  a.want(address);
  ASSERT_TRUE(loop.until([&] { return Node::connected(a, b); }));
  b.options.listen = address;
  b.stop();
  ASSERT_TRUE(loop.until([&] { return a.has_trouble(PeerReason::unreachable); }));
  EXPECT_FALSE(a.links->link_to(address));
  b.restart(2);
  EXPECT_TRUE(loop.until([&] { return Node::connected(a, b); }));
}

TEST(Loss, OfAllWhenTheDaemonStopsCallsNobody) {
  Loop loop;
  Node a(loop, {.host = 1}), b(loop, {.host = 2});
  a.want(b.address());
  ASSERT_TRUE(loop.until([&] { return Node::connected(a, b); }));
  b.hold_fences = true;
  b.links->drop(b.up.begin()->first, "test");
  ASSERT_TRUE(loop.until([&] { return b.fences.size() == 2; }));
  const auto done = b.fences[0].second;
  a.order.clear();
  a.links.reset();
  b.links.reset();
  done();  // of links that are gone
  loop.drain();
  EXPECT_TRUE(a.order.empty());
}

}  // namespace
}  // namespace tentq::test
