// Connections whose WRITEs wait until the other host has fenced them.
#include <gtest/gtest.h>

#include <vector>

#include "daemon/hosts/fences.h"

namespace tentq {
namespace {

using namespace std::chrono_literals;

const HostId kHost{1};
const HostId kOtherHost{2};
const Time kStart = time_from_ns(1'000'000'000);

struct FencesTest : ::testing::Test {
  struct Settled {
    std::uint64_t number;
    bool fenced;
    bool operator==(const Settled&) const = default;
  };
  std::vector<std::uint64_t> asked;
  std::vector<Settled> settled;
  Fences fences{5s,
                [this](const Fences::Connection& connection) {
                  asked.push_back(connection.number);
                  return true;
                },
                [this](const Fences::Connection& connection, bool fenced) {
                  settled.push_back({connection.number, fenced});
                }};
};

TEST_F(FencesTest, AskAndAreConfirmedOnce) {
  fences.needed(kHost, {LinkKey{1}, 3}, kStart);
  EXPECT_EQ(asked, std::vector<std::uint64_t>{3});
  fences.confirmed({LinkKey{1}, 4});
  fences.confirmed({LinkKey{2}, 3});
  EXPECT_TRUE(settled.empty());
  fences.confirmed({LinkKey{1}, 3});
  fences.confirmed({LinkKey{1}, 3});
  EXPECT_EQ(settled, (std::vector<Settled>{{3, true}}));
}

TEST_F(FencesTest, ANewLinkToTheHostConfirmsItsOlderOnes) {
  fences.needed(kHost, {LinkKey{1}, 3}, kStart);
  fences.needed(kHost, {LinkKey{2}, 4}, kStart);
  fences.needed(kOtherHost, {LinkKey{3}, 5}, kStart);
  fences.link_up(kHost, LinkKey{2});
  EXPECT_EQ(settled, (std::vector<Settled>{{3, true}}));
  EXPECT_EQ(fences.waiting(), 2u);
}

TEST_F(FencesTest, NobodyIsWaitedForLongerThanForARoute) {
  fences.needed(kHost, {LinkKey{1}, 3}, kStart);
  fences.expire(kStart + 4s);
  EXPECT_TRUE(settled.empty());
  fences.expire(kStart + 5s);
  EXPECT_EQ(settled, (std::vector<Settled>{{3, false}}));
  fences.confirmed({LinkKey{1}, 3});
  EXPECT_EQ(settled.size(), 1u);
}

}  // namespace
}  // namespace tentq
