// Dispatch: chunks, windows in bytes and chunks, nothing beyond them and nothing left undone.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/core/world.h"

namespace tentq::core {
namespace {

constexpr ClassId kUser = ClassId::standard;
constexpr ClassId kBg = ClassId::background;

TEST(Dispatch, AChunkCarriesItsPartOfTheRange) {
  World world;
  world.open_lane(0, kMiB, 16, 64 * kKiB);
  world.open_session(0);
  OwnerSpec spec = world.spec(0, 150 * kKiB);
  spec.op = Op::write;
  spec.local_offset = 1000;
  spec.remote_offset = 5000;
  world.submit(0, kUser, {spec});
  ASSERT_EQ(world.dispatched.size(), 3u);
  std::uint64_t offset = 0;
  for (const DispatchChunk& chunk : world.dispatched) {
    EXPECT_EQ(chunk.op, Op::write);
    EXPECT_EQ(chunk.local_offset, 1000 + offset);
    EXPECT_EQ(chunk.remote_offset, 5000 + offset);
    EXPECT_EQ(chunk.local_region, RegionIndex{1});
    EXPECT_EQ(chunk.remote_region, RegionIndex{2});
    offset += chunk.length;
  }
  EXPECT_EQ(offset, 150 * kKiB);
  EXPECT_EQ(world.state_of(world.last()), OwnerState::submitted);
}

TEST(Dispatch, OneWindowsWorthAtMostIsDispatchedAndCompletionRefillsIt) {
  World world;
  world.open_lane(0, 4 * 64 * kKiB, 100, 64 * kKiB);
  world.open_session(0);
  world.submit(0, kUser, 10 * 64 * kKiB);
  EXPECT_EQ(world.dispatched.size(), 4u);
  EXPECT_EQ(world.core.lane_totals(LaneId{0}).in_flight_bytes, 4 * 64 * kKiB);
  for (std::size_t ended = 1; ended <= 6; ++ended) {
    world.end_oldest();
    EXPECT_EQ(world.dispatched.size(), 4 + ended);
  }
  world.end_all();
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].bytes_done, 10 * 64 * kKiB);
}

TEST(Dispatch, TheWindowBoundsChunksToo) {
  World world;
  world.open_lane(0, kGiB, 3, 64 * kKiB);
  world.open_session(0);
  for (int i = 0; i < 10; ++i) world.submit(0, kUser, 1);
  EXPECT_EQ(world.dispatched.size(), 3u);
  world.end_oldest(2);
  EXPECT_EQ(world.dispatched.size(), 5u);
}

TEST(Dispatch, AnOwnerLargerThanTheWindowIsCut) {
  World world;
  world.open_lane(0, 10'000, 8, 64 * kKiB);  // a window smaller than S
  world.open_session(0);
  world.submit(0, kUser, 1'000'001);
  std::uint64_t moved = 0;
  while (!world.in_flight.empty()) {
    EXPECT_LE(world.in_flight.front().length, 10'000u);
    moved += world.in_flight.front().length;
    world.end_oldest();
  }
  EXPECT_EQ(moved, 1'000'001u);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].state, TaskState::completed);
}

TEST(Dispatch, ChunksThatCompleteInAnyOrderCompleteTheOwner) {
  World world;
  world.open_lane(0, kMiB, 16, 64 * kKiB);
  world.open_session(0);
  world.submit(0, kUser, 5 * 64 * kKiB);
  const auto chunks = world.dispatched;
  for (const std::size_t i : {3u, 0u, 4u, 1u}) {
    world.end_chunk(chunks[i].chunk);
    EXPECT_TRUE(world.ended.empty());
  }
  world.end_chunk(chunks[2].chunk);
  EXPECT_EQ(world.ended.size(), 1u);
}

TEST(Dispatch, TheHeadThatDoesNotFitHoldsItsLaneAndNoOther) {
  World world;
  world.open_lane(0, 256 * kKiB, 16, 256 * kKiB);
  world.open_lane(1, 256 * kKiB, 16, 256 * kKiB);
  world.open_session(0);
  world.submit(0, kUser, kKiB);        // leaves 255 KiB of room
  world.submit(0, kUser, 256 * kKiB);  // does not fit
  world.submit(0, kUser, kKiB);        // would, but must not starve the one before
  EXPECT_EQ(world.dispatched.size(), 1u);
  world.submit(0, kUser, kKiB, 1);
  EXPECT_EQ(world.dispatched.size(), 2u);
  world.end_oldest();
  ASSERT_EQ(world.dispatched.size(), 3u);
  EXPECT_EQ(world.dispatched[2].length, 256 * kKiB);
}

TEST(Dispatch, ASmallForegroundPassesAHoldForBackground) {
  WorldShape shape;
  shape.policy = Policy::strict;
  World world(shape);
  world.open_lane(0, 256 * kKiB, 16, 256 * kKiB);
  world.open_session(0);
  world.submit(0, kBg, kKiB);
  world.submit(0, kBg, 256 * kKiB);
  EXPECT_EQ(world.dispatched.size(), 1u);
  world.submit(0, kUser, kKiB);
  EXPECT_EQ(world.dispatched.size(), 2u);
}

TEST(Dispatch, ACancelledHeadEndsItsHold) {
  World world;
  world.open_lane(0, 256 * kKiB, 16, 256 * kKiB);
  world.open_session(0);
  world.submit(0, kUser, kKiB);
  world.submit(0, kUser, 256 * kKiB);
  const OwnerId large = world.last();
  world.submit(0, kUser, kKiB);
  EXPECT_EQ(world.dispatched.size(), 1u);
  world.cancel(large);
  EXPECT_EQ(world.dispatched.size(), 2u);
}

TEST(Dispatch, AWindowThatShrinksTakesNothingBackAndGrowsAgain) {
  World world;
  world.open_lane(0, 8 * 64 * kKiB, 100, 64 * kKiB);
  world.open_session(0);
  world.submit(0, kUser, 20 * 64 * kKiB);
  EXPECT_EQ(world.in_flight.size(), 8u);
  world.handle(LaneWindowChanged{LaneId{0}, 2 * 64 * kKiB, 100, 64 * kKiB});
  world.end_oldest(6);
  EXPECT_EQ(world.in_flight.size(), 2u);
  world.end_oldest();
  EXPECT_EQ(world.in_flight.size(), 2u);
  world.handle(LaneWindowChanged{LaneId{0}, 4 * 64 * kKiB, 100, 64 * kKiB});
  EXPECT_EQ(world.in_flight.size(), 4u);
}

TEST(Dispatch, DirectHandsEverythingOverAtOnce) {
  WorldShape shape;
  shape.policy = Policy::direct;
  World world(shape);
  world.open_lane(0, 64 * kKiB, 1, 64 * kKiB);
  world.open_session(0);
  for (int i = 0; i < 10; ++i) world.submit(0, kBg, 10 * kKiB);
  EXPECT_EQ(world.in_flight.size(), 10u);
  world.forget();
  world.submit(0, kUser, kGiB);
  EXPECT_LE(world.dispatched.size(), 64u);
  EXPECT_EQ(world.state_of(world.last()), OwnerState::submitted);
  // Larger pieces no host would take from another.
  world.forget();
  world.submit(0, kUser, 4 * kGiB + 1);
  for (const DispatchChunk& piece : world.dispatched) EXPECT_LE(piece.length, 16 * kMiB);
  EXPECT_EQ(world.state_of(world.last()), OwnerState::submitted);
  world.end_all();
  EXPECT_EQ(world.core.counters().completed, 12u);
}

TEST(Dispatch, InternalWorkHasRoomOfItsOwnInEveryWindow) {
  World world;
  world.open_lane(0, 256 * kKiB, 2, 64 * kKiB);
  world.open_session(0);
  world.open_session(1, 1, 16, bit_of(ClassId::internal));
  world.submit(0, kUser, kMiB);
  EXPECT_EQ(world.in_flight.size(), 2u);
  OwnerSpec spec = world.spec(1, 64 * kKiB);
  spec.internal = true;
  world.submit(1, ClassId::internal, {spec});
  EXPECT_EQ(world.in_flight.size(), 3u);
  OwnerSpec second = world.spec(1, 64 * kKiB);
  second.internal = true;
  world.submit(1, ClassId::internal, {second});
  EXPECT_EQ(world.in_flight.size(), 3u);  // an eighth of the chunks, at least one
  world.end_chunk(world.dispatched[2].chunk);
  EXPECT_EQ(world.core.counters().completed, 1u);
  EXPECT_EQ(world.dispatched.back().session, SessionId{1});
}

TEST(Dispatch, TimesOfEnqueueDispatchAndCompletionAreReported) {
  World world;
  world.open_lane(0, 64 * kKiB, 1, 64 * kKiB);
  world.open_session(0);
  world.submit(0, kUser, 1);
  world.now += Duration{100};
  world.submit(0, kUser, 1);
  const Time enqueued = world.now;
  world.now += Duration{50};
  world.end_oldest();
  const Time dispatched = world.now;
  world.now += Duration{70};
  world.end_oldest();
  ASSERT_EQ(world.ended.size(), 2u);
  EXPECT_EQ(world.ended[1].enqueued, enqueued);
  EXPECT_EQ(world.ended[1].dispatched, dispatched);
  EXPECT_EQ(world.ended[1].completed, world.now);
}

// A lane that waits for the room of a head does so no longer when that head's client may not go.
TEST(Dispatch, ALaneIsNotHeldForAClientThatIsHidden) {
  WorldShape shape;
  shape.limits.client_in_flight_bytes = kMiB;
  World world(shape);
  world.open_lane(0, kMiB, 64, 512 * kKiB);
  world.open_lane(1, 4 * kMiB, 64, 512 * kKiB);
  world.open_session(0, 0);
  world.open_session(1, 1);
  world.submit(1, kUser, 256 * kKiB, 0);
  world.submit(1, kUser, 512 * kKiB, 0);
  world.submit(0, kUser, 512 * kKiB, 1);
  ASSERT_EQ(world.in_flight.size(), 3u);
  world.hold_effects = true;
  world.submit(0, kUser, 512 * kKiB, 0);
  world.submit(1, kUser, 4 * kKiB, 0);
  world.hold_effects = false;
  world.take_effects();
  world.submit(0, kUser, kMiB, 1);  // its client reaches its cap
  const auto went = [&world](std::uint64_t length) {
    for (const DispatchChunk& chunk : world.in_flight) {
      if (chunk.length == length) return true;
    }
    return false;
  };
  EXPECT_TRUE(went(4 * kKiB));
}

}  // namespace
}  // namespace tentq::core
