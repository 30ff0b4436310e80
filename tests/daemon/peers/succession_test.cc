// Which of a host's connections counts: newer epochs and links void older ones, whose data
// connections are fenced before the new one is told READY; never the other way round, and never
// because of somebody who proved nothing.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tests/daemon/peers/peer_node.h"
#include "tests/daemon/peers/raw_peer.h"

namespace tentq::test {
namespace {

const PeerKey& key() {
  static const PeerKey made = key_of(kSecret);
  return made;
}

// A link of host 1 to `node`, with one data connection.
struct Linked {
  Linked(Loop& loop, Node& node, std::uint64_t epoch, std::uint64_t link)
      : control(loop, node.address()), data(loop, node.address()) {
    EXPECT_TRUE(control.shake_hands(RawPeer::hello(1, epoch, link), key()));
    EXPECT_TRUE(data.shake_hands(RawPeer::hello(1, epoch, link, 1), key()));
    EXPECT_TRUE(loop.until([&] { return node.data.size() == 1; }));
  }
  RawPeer control, data;
};

std::uint64_t count(const Node& node, PeerReason reason) {
  return node.links->counts()[static_cast<std::size_t>(reason)];
}

TEST(Succession, OlderEpochsAndLinksAreRefused) {
  Loop loop;
  Node b(loop, {.host = 2});
  Linked present(loop, b, 5, 7);
  const std::pair<std::uint64_t, std::uint64_t> older[] = {
      {5, 7}, {5, 6}, {4, 7}, {4, 100}, {1, 1}};
  for (const auto& [epoch, link] : older) {
    RawPeer raw(loop, b.address());
    ASSERT_TRUE(raw.prove(RawPeer::hello(1, epoch, link), key()));
    const auto refused = raw.next<PeerRefused>();
    ASSERT_TRUE(refused) << epoch << '/' << link;
    EXPECT_EQ(refused->status, StatusCode::stale_handle);
  }
  EXPECT_EQ(count(b, PeerReason::stale), 5u);
  EXPECT_EQ(b.up.size(), 1u);
  EXPECT_TRUE(b.fenced.empty());
}

TEST(Succession, TheNewestIsRememberedWhenItsLinkHasEnded) {
  Loop loop;
  Node b(loop, {.host = 2});
  { Linked gone(loop, b, 5, 7); }
  ASSERT_TRUE(loop.until([&] { return b.up.empty(); }));
  RawPeer raw(loop, b.address());
  EXPECT_FALSE(raw.shake_hands(RawPeer::hello(1, 5, 6), key()));
  EXPECT_EQ(count(b, PeerReason::stale), 1u);
}

TEST(Succession, WithoutAProofNothingIsVoided) {
  Loop loop;
  Node b(loop, {.host = 2});
  Linked present(loop, b, 5, 7);
  RawPeer raw(loop, b.address());
  raw.send(RawPeer::hello(1, 6, 1));
  ASSERT_TRUE(raw.next<PeerHello>());
  raw.send(PeerProof{});
  ASSERT_TRUE(raw.next<PeerRefused>());
  EXPECT_EQ(b.up.size(), 1u);
  EXPECT_TRUE(b.downs.empty());
  EXPECT_TRUE(b.fenced.empty());
  // Nor is it remembered.
  RawPeer next(loop, b.address());
  EXPECT_TRUE(next.shake_hands(RawPeer::hello(1, 5, 8), key()));
}

class SuccessionOf : public testing::TestWithParam<std::pair<std::uint64_t, std::uint64_t>> {};

TEST_P(SuccessionOf, ANewerOneIsReadyOnlyAfterTheFencesOfTheOlder) {
  Loop loop;
  Node b(loop, {.host = 2});
  Linked old(loop, b, 5, 7);
  b.hold_fences = true;
  RawPeer fresh(loop, b.address());
  ASSERT_TRUE(fresh.prove(RawPeer::hello(1, GetParam().first, GetParam().second), key()));
  ASSERT_TRUE(loop.until([&] { return b.downs.size() == 1; }));
  EXPECT_EQ(b.downs[0].reason, PeerReason::replaced);
  EXPECT_TRUE(old.control.ended());
  ASSERT_EQ(b.fences.size(), 1u);
  EXPECT_TRUE(b.up.empty());
  loop.drain();
  char byte = 0;
  EXPECT_LT(::recv(fresh.socket(), &byte, 1, MSG_DONTWAIT), 0);
  b.fences[0].second();
  EXPECT_TRUE(fresh.next<PeerReady>());
  ASSERT_EQ(b.up.size(), 1u);
  EXPECT_EQ(b.up.begin()->second.epoch_counter, GetParam().first);
  EXPECT_EQ(b.up.begin()->second.link, GetParam().second);
  EXPECT_EQ(b.order, (std::vector<std::string>{"up 1", "fence 1/1", "down 1", "up 2"}));
}

INSTANTIATE_TEST_SUITE_P(Newer, SuccessionOf,
                         testing::Values(std::pair{5, 8}, std::pair{6, 1}, std::pair{6, 7}),
                         [](const auto& at) {
                           return "Epoch" + std::to_string(at.param.first) + "Link" +
                                  std::to_string(at.param.second);
                         });

TEST(Succession, FencesOfALostLinkAreWaitedForToo) {
  Loop loop;
  Node b(loop, {.host = 2});
  b.hold_fences = true;
  { Linked gone(loop, b, 5, 7); }
  ASSERT_TRUE(loop.until([&] { return b.fences.size() == 1 && b.downs.size() == 1; }));
  EXPECT_EQ(b.downs[0].reason, PeerReason::closed);
  RawPeer fresh(loop, b.address());
  ASSERT_TRUE(fresh.prove(RawPeer::hello(1, 5, 8), key()));
  loop.drain();
  EXPECT_TRUE(b.up.empty());
  b.fences[0].second();
  EXPECT_TRUE(fresh.next<PeerReady>());
}

TEST(Succession, AmongThoseThatWaitTheNewestCounts) {
  Loop loop;
  Node b(loop, {.host = 2});
  Linked old(loop, b, 5, 7);
  b.hold_fences = true;
  RawPeer second(loop, b.address()), third(loop, b.address()), late(loop, b.address());
  ASSERT_TRUE(second.prove(RawPeer::hello(1, 5, 8), key()));
  ASSERT_TRUE(third.prove(RawPeer::hello(1, 5, 10), key()));
  EXPECT_TRUE(second.next<PeerRefused>());
  ASSERT_TRUE(late.prove(RawPeer::hello(1, 5, 9), key()));
  EXPECT_TRUE(late.next<PeerRefused>());
  ASSERT_EQ(b.fences.size(), 1u);
  b.fences[0].second();
  EXPECT_TRUE(third.next<PeerReady>());
  EXPECT_EQ(b.up.begin()->second.link, 10u);
}

TEST(Succession, WhoWaitsTooLongForFencesIsRefusedAndMayComeAgain) {
  Loop loop;
  Node b(loop, {.host = 2, .connect_timeout = std::chrono::milliseconds{100}});
  Linked old(loop, b, 5, 7);
  b.hold_fences = true;
  RawPeer second(loop, b.address());
  ASSERT_TRUE(second.prove(RawPeer::hello(1, 5, 8), key()));
  EXPECT_TRUE(second.next<PeerRefused>());
  b.fences[0].second();
  loop.drain();
  EXPECT_TRUE(b.up.empty());
  RawPeer third(loop, b.address());
  EXPECT_TRUE(third.shake_hands(RawPeer::hello(1, 5, 9), key()));
}

TEST(Succession, TwoHostsWithOneIdAreToldApart) {
  Loop loop;
  Node b(loop, {.host = 2});
  Linked present(loop, b, 5, 7);
  PeerHello twin = RawPeer::hello(1, 5, 8);
  twin.epoch_random = 77;
  RawPeer raw(loop, b.address());
  ASSERT_TRUE(raw.prove(twin, key()));
  const auto refused = raw.next<PeerRefused>();
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->text.view().find("host_id"), std::string_view::npos);
  EXPECT_EQ(count(b, PeerReason::twin), 1u);
  EXPECT_EQ(b.up.size(), 1u);
}

TEST(Succession, ARestartedHostEndsWhatItsOldEpochLeftOnBothSides) {
  Loop loop;
  Node a(loop, {.host = 1, .epoch = 3}), b(loop, {.host = 2, .epoch = 1});
  a.want(b.address());
  b.want(a.address());
  ASSERT_TRUE(loop.until([&] { return a.data.size() == 4 && b.data.size() == 4; }));
  b.restart(2);
  b.want(a.address());
  ASSERT_TRUE(loop.until([&] { return b.data.size() == 4 && a.data.size() == 4; }));
  EXPECT_EQ(a.fenced.size(), 4u);
  EXPECT_EQ(a.downs.size(), 2u);
  for (const auto& [link, peer] : a.up) EXPECT_EQ(peer.epoch_counter, 2u);
}

// The network swallowed the old epoch's end: only the new epoch's HELLO tells.
TEST(Succession, ANewEpochSeenOnOneLinkEndsTheOtherSidesLinkToTheOld) {
  Loop loop;
  std::string address;
  const shm::Fd listener = listen_anywhere(&address);
  Node b(loop, {.host = 2});
  b.want(address);
  RawPeer old(loop, listener);
  const auto hello = old.next<PeerHello>();
  ASSERT_TRUE(hello);
  const PeerHello own = RawPeer::hello(1, 5, hello->link);
  old.send(own);
  ASSERT_TRUE(old.next<PeerProof>());
  PeerProof proof;
  proof.proof = make_proof(key(), PeerSide::acceptor, *hello, own);
  old.send(proof);
  PeerReady ready;
  ready.highest_class = 1;
  ready.data_connections = 1;
  ready.most_length = 1;
  old.send(ready);
  ASSERT_TRUE(loop.until([&] { return b.up.size() == 1; }));
  RawPeer fresh(loop, b.address());
  ASSERT_TRUE(fresh.shake_hands(RawPeer::hello(1, 6, 1), key()));
  ASSERT_EQ(b.downs.size(), 1u);
  EXPECT_EQ(b.downs[0].peer.side, LinkSide::dialed);
  EXPECT_EQ(b.downs[0].reason, PeerReason::replaced);
}

}  // namespace
}  // namespace tentq::test
