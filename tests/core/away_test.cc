// Lanes to other hosts whose way breaks: what waits keeps its place for the budget of a route.
#include <gtest/gtest.h>

#include "tests/core/world.h"

namespace tentq::core {
namespace {

constexpr ClassId kUser = ClassId::standard;
constexpr LaneId kLane{0};
using namespace std::chrono_literals;

struct Away : World {
  Away() {
    open_lane(0, 2 * 256 * kKiB);
    open_lane(1);
    open_session(0);
  }
  // The oldest chunk is lost, as its transport reports it.
  void lose_oldest() {
    const ChunkId chunk = in_flight.front().chunk;
    lose_chunk(chunk);
  }
};

TEST(AwayLane, NothingIsHandedOverUntilItIsBack) {
  Away world;
  world.handle(LaneAway{kLane});
  world.submit(0, kUser, 1000);
  EXPECT_TRUE(world.dispatched.empty());
  EXPECT_EQ(world.state_of(world.last()), OwnerState::queued);
  const auto why = world.core.explain(world.last());
  EXPECT_EQ(why->cause, WaitCause::route);
  EXPECT_EQ(why->not_before, world.now + world.core.limits().route_budget);
  EXPECT_TRUE(world.core.lane_totals(kLane).away);
  // Other lanes go on.
  world.submit(0, kUser, 1000, 1);
  EXPECT_EQ(world.dispatched.size(), 1u);
  world.handle(LaneBack{kLane});
  EXPECT_EQ(world.dispatched.size(), 2u);
  world.end_all();
  EXPECT_EQ(world.core.counters().completed, 2u);
}

TEST(AwayLane, ALostChunkIsMovedAgainAndCountsNoAttempt) {
  Away world;
  world.submit(0, kUser, 3 * 256 * kKiB);
  ASSERT_EQ(world.in_flight.size(), 2u);
  for (int i = 0; i < 1000; ++i) {
    world.handle(LaneAway{kLane});
    while (!world.in_flight.empty()) world.lose_oldest();
    EXPECT_EQ(world.core.lane_totals(kLane).in_flight_bytes, 0u);
    world.handle(LaneBack{kLane});
    ASSERT_EQ(world.in_flight.size(), 2u) << i;
  }
  while (!world.in_flight.empty()) world.end_all();
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].state, TaskState::completed);
  EXPECT_EQ(world.ended[0].bytes_done, 3 * 256 * kKiB);
}

TEST(AwayLane, TheBudgetEndsWhatWaitsWithPeerLost) {
  Away world;
  world.submit(0, kUser, 4 * 256 * kKiB);
  const OwnerId owner = world.last();
  world.handle(LaneAway{kLane});
  world.submit(0, ClassId::foreground, 1000);
  world.advance(world.core.limits().route_budget - 1ms);
  EXPECT_TRUE(world.ended.empty());
  world.advance(2ms);
  // The one with chunks in flight ends when they are quiet.
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].reason, Reason::peer_lost);
  EXPECT_EQ(world.state_of(owner), OwnerState::draining);
  world.lose_oldest();
  EXPECT_EQ(world.ended.size(), 1u);
  world.lose_oldest();
  ASSERT_EQ(world.ended.size(), 2u);
  EXPECT_EQ(world.ended[1].state, TaskState::failed);
  EXPECT_EQ(world.ended[1].reason, Reason::peer_lost);
  EXPECT_EQ(world.core.outstanding(), Amounts{});
}

TEST(AwayLane, WhatComesAfterTheBudgetEndsAtOnce) {
  Away world;
  world.submit(0, kUser, 2 * 256 * kKiB);  // all of it is in flight
  world.handle(LaneAway{kLane});
  world.advance(world.core.limits().route_budget + 1ms);
  EXPECT_TRUE(world.ended.empty());
  world.lose_oldest();
  world.lose_oldest();
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].reason, Reason::peer_lost);
  world.submit(0, kUser, 1000);
  ASSERT_EQ(world.ended.size(), 2u);
  EXPECT_EQ(world.ended[1].reason, Reason::peer_lost);
  // And is served again once the lane is back.
  world.handle(LaneBack{kLane});
  world.submit(0, kUser, 1000);
  world.end_all();
  EXPECT_EQ(world.core.counters().completed, 1u);
}

TEST(AwayLane, ARefusedChunkOfALaneThatWasGivenUpEnds) {
  Away world;
  world.submit(0, kUser, 1000);
  world.handle(LaneAway{kLane});
  world.advance(world.core.limits().route_budget + 1ms);
  world.refuse_chunk(world.in_flight.front().chunk);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].reason, Reason::peer_lost);
}

TEST(AwayLane, GivingUpManyTakesSteps) {
  WorldShape shape;
  shape.limits = small_limits(3500, kGiB);
  shape.check = false;
  World world(shape);
  world.open_lane();
  world.open_session(0, 0, 4096);
  world.handle(LaneAway{kLane});
  for (int i = 0; i < 3000; ++i) {
    if (!world.has_credit(0, kUser, {1, 1000, 1})) world.want(0, kUser, {1, 1000, 1}, false);
    world.submit(0, kUser, 1000);
  }
  ASSERT_EQ(world.admitted.size(), 3000u);
  world.hold_effects = true;  // each of them is an event, and so a step
  world.advance(world.core.limits().route_budget);
  EXPECT_GT(world.core.counters().failed, 0u);
  EXPECT_LT(world.core.counters().failed, 3000u);
  EXPECT_EQ(world.core.next_deadline(), world.now);
  world.hold_effects = false;
  while (world.ended.size() < 3000) world.advance(0ms);
  world.core.check_invariants();
  EXPECT_EQ(world.core.outstanding(), Amounts{});
}

TEST(AwayLane, EachHasABudgetOfItsOwn) {
  Away world;
  world.handle(LaneAway{LaneId{1}});
  world.submit(0, kUser, 1000, 1);
  world.advance(1s);
  world.handle(LaneAway{kLane});
  world.submit(0, kUser, 1000, 0);
  world.advance(world.core.limits().route_budget - 1s);
  EXPECT_EQ(world.ended.size(), 1u);
  world.advance(1s);
  EXPECT_EQ(world.ended.size(), 2u);
}

TEST(AwayLane, DeadlinesCancelsAndDeathsWorkMeanwhile) {
  Away world;
  world.handle(LaneAway{kLane});
  OwnerSpec timed = world.spec(0, 1000);
  timed.deadline = 10ms;
  world.submit(0, kUser, {timed, world.spec(0, 1000), world.spec(0, 1000)});
  world.cancel(world.admitted[1].owner);
  world.advance(11ms);
  ASSERT_EQ(world.ended.size(), 2u);
  EXPECT_EQ(world.ended[1].state, TaskState::timeout);
  world.close(0);
  EXPECT_EQ(world.ended.size(), 3u);
  EXPECT_EQ(world.quiet.size(), 1u);
}

TEST(AwayLane, SayingItTwiceDoesNotProlongTheBudget) {
  Away world;
  world.handle(LaneAway{kLane});
  world.submit(0, kUser, 1000);
  world.advance(world.core.limits().route_budget - 1ms);
  world.handle(LaneAway{kLane});
  world.advance(1ms);
  EXPECT_EQ(world.ended.size(), 1u);
}

TEST(AwayLane, ARouteThatFailsSaysWhy) {
  Away world;
  OwnerSpec spec = world.spec(0, 1000);
  spec.lane = LaneId{};
  spec.without_route = Reason::peer_lost;
  world.submit(0, kUser, {spec});
  world.advance(world.core.limits().route_budget + 1ms);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].reason, Reason::peer_lost);
}

TEST(AwayLane, UnknownLanesAndStaleChunksChangeNothing) {
  Away world;
  world.submit(0, kUser, 1000);
  const ChunkId chunk = world.in_flight.front().chunk;
  world.end_all();
  const std::uint64_t before = world.core.state_hash();
  world.handle(LaneAway{LaneId{3}});
  world.handle(LaneBack{LaneId{3}});
  world.handle(LaneBack{kLane});
  world.handle(ChunkLost{chunk});
  EXPECT_EQ(world.core.state_hash(), before);
  EXPECT_EQ(world.core.counters().stale_completions, 1u);
}

}  // namespace
}  // namespace tentq::core
