// Owners whose lane is not known yet.
#include <gtest/gtest.h>

#include "tests/core/world.h"

namespace tentq::core {
namespace {

constexpr ClassId kUser = ClassId::standard;
using namespace std::chrono_literals;

struct Unrouted : World {
  Unrouted() {
    open_lane();
    open_session(0);
    OwnerSpec first = spec(0, 1000);
    first.lane = LaneId{};
    first.remote_region = RegionIndex{};
    first.remote_segment = SegmentHandle{7};
    first.remote_offset = 4096;
    submit(0, kUser, {first});
    owner = last();
  }
  OwnerId owner;
};

TEST(Routes, AsksOnceForARouteAndResumes) {
  Unrouted world;
  ASSERT_EQ(world.routes.size(), 1u);
  EXPECT_EQ(world.routes[0].owner, world.owner);
  EXPECT_EQ(world.routes[0].segment, SegmentHandle{7});
  EXPECT_EQ(world.routes[0].segment_offset, 4096u);
  EXPECT_EQ(world.routes[0].length, 1000u);
  EXPECT_EQ(world.state_of(world.owner), OwnerState::route_pending);
  EXPECT_EQ(world.core.explain(world.owner)->cause, WaitCause::route);
  EXPECT_EQ(world.core.class_totals(kUser).route_pending_owners, 1u);
  EXPECT_EQ(world.core.class_totals(kUser).queued_owners, 1u);
  world.handle(RouteResolved{world.owner, LaneId{0}, RegionIndex{9}, 64});
  ASSERT_EQ(world.dispatched.size(), 1u);
  EXPECT_EQ(world.dispatched[0].remote_region, RegionIndex{9});
  EXPECT_EQ(world.dispatched[0].remote_offset, 64u);
  world.end_all();
  EXPECT_EQ(world.core.counters().completed, 1u);
}

TEST(Routes, AFailedRouteEndsTheOwnerWithItsReason) {
  Unrouted world;
  world.handle(RouteFailed{world.owner, Reason::peer_lost});
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].state, TaskState::failed);
  EXPECT_EQ(world.ended[0].reason, Reason::peer_lost);
  EXPECT_EQ(world.core.outstanding(), Amounts{});
}

TEST(Routes, TheBudgetEndsTheWait) {
  Unrouted world;
  world.advance(world.core.limits().route_budget - 1ms);
  EXPECT_TRUE(world.ended.empty());
  world.advance(2ms);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].reason, Reason::no_route);
}

TEST(Routes, ADeadlineAndACancelWorkWhileItWaits) {
  World world;
  world.open_lane();
  world.open_session(0);
  OwnerSpec timed = world.spec(0, 1000);
  timed.lane = LaneId{};
  timed.deadline = 10ms;
  OwnerSpec other = world.spec(0, 1000);
  other.lane = LaneId{};
  world.submit(0, kUser, {timed, other});
  world.cancel(world.last());
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].state, TaskState::canceled);
  world.advance(11ms);
  ASSERT_EQ(world.ended.size(), 2u);
  EXPECT_EQ(world.ended[1].state, TaskState::timeout);
}

TEST(Routes, AnswersForOwnersThatAreGoneAreIgnored) {
  Unrouted world;
  world.cancel(world.owner);
  const std::uint64_t before = world.core.state_hash();
  world.handle(RouteResolved{world.owner, LaneId{0}, RegionIndex{9}, 64});
  world.handle(RouteFailed{world.owner, Reason::no_route});
  world.handle(RouteResolved{OwnerId{}, LaneId{0}, RegionIndex{9}, 64});
  EXPECT_EQ(world.core.state_hash(), before);
  EXPECT_TRUE(world.dispatched.empty());
}

TEST(Routes, ASecondAnswerChangesNothing) {
  Unrouted world;
  world.handle(RouteResolved{world.owner, LaneId{0}, RegionIndex{9}, 64});
  const std::uint64_t before = world.core.state_hash();
  world.handle(RouteResolved{world.owner, LaneId{0}, RegionIndex{8}, 0});
  world.handle(RouteFailed{world.owner, Reason::no_route});
  EXPECT_EQ(world.core.state_hash(), before);
}

TEST(Routes, ALaneThatIsNotOpenIsNoRoute) {
  Unrouted world;
  world.handle(RouteResolved{world.owner, LaneId{3}, RegionIndex{9}, 64});
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].reason, Reason::no_route);
}

TEST(Routes, TheSessionsDeathEndsIt) {
  Unrouted world;
  world.close(0);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].state, TaskState::canceled);
  EXPECT_EQ(world.quiet.size(), 1u);
}

}  // namespace
}  // namespace tentq::core
