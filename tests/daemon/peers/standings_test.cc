// The order of epochs and links, against a model, and its bound.
#include "daemon/peers/standings.h"

#include <gtest/gtest.h>

#include <random>

namespace tentq {
namespace {

PeerHello hello(std::uint8_t host, std::uint64_t epoch, std::uint64_t link,
                std::uint64_t random = 0) {
  PeerHello made;
  made.host.fill(host);
  made.epoch_counter = epoch;
  made.epoch_random = random == 0 ? epoch * 100 : random;
  made.link = link;
  return made;
}

TEST(Standings, KnowOlderAndNewer) {
  Standings standings(8);
  EXPECT_FALSE(standings.judge_link(hello(1, 5, 7)));
  standings.record_link(hello(1, 5, 7));
  EXPECT_EQ(standings.judge_link(hello(1, 5, 7)), PeerReason::stale);
  EXPECT_EQ(standings.judge_link(hello(1, 5, 6)), PeerReason::stale);
  EXPECT_EQ(standings.judge_link(hello(1, 4, 99)), PeerReason::stale);
  EXPECT_FALSE(standings.judge_link(hello(1, 5, 8)));
  EXPECT_FALSE(standings.judge_link(hello(1, 6, 1)));
  EXPECT_EQ(standings.judge_link(hello(1, 5, 8, 3)), PeerReason::twin);
  EXPECT_FALSE(standings.judge_link(hello(2, 1, 1)));
  EXPECT_FALSE(standings.judge_epoch(hello(1, 5, 1)));
  EXPECT_EQ(standings.judge_epoch(hello(1, 4, 1)), PeerReason::stale);
}

TEST(Standings, OfAnEpochDoNotHideItsLinks) {
  Standings standings(8);
  standings.record_epoch(hello(1, 6, 40));  // it was dialed: the link is this side's number
  EXPECT_FALSE(standings.judge_link(hello(1, 6, 1)));
  EXPECT_EQ(standings.judge_link(hello(1, 5, 50)), PeerReason::stale);
}

TEST(Standings, ForgetWhoWasHeardOfLongestAgo) {
  Standings standings(3);
  for (std::uint8_t host = 1; host <= 3; ++host) standings.record_link(hello(host, 5, 5));
  standings.record_epoch(hello(1, 5, 1));
  standings.record_link(hello(4, 5, 5));
  EXPECT_EQ(standings.size(), 3u);
  EXPECT_EQ(standings.find(hello(2, 1, 1).host), nullptr);
  EXPECT_EQ(standings.judge_link(hello(1, 5, 5)), PeerReason::stale);
}

TEST(Standings, AgreeWithAPairThatOnlyGrows) {
  const std::uint64_t seed = std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  Standings standings(4);
  std::pair<std::uint64_t, std::uint64_t> newest{0, 0};
  for (int i = 0; i < 5'000; ++i) {
    const std::pair now{newest.first + random() % 3 - std::min<std::uint64_t>(newest.first, 1),
                        1 + random() % 6};
    if (now.first == 0) continue;
    const auto reason = standings.judge_link(hello(1, now.first, now.second));
    ASSERT_EQ(reason.has_value(), now <= newest) << i;
    if (reason) continue;
    standings.record_link(hello(1, now.first, now.second));
    newest = now;
  }
}

}  // namespace
}  // namespace tentq
