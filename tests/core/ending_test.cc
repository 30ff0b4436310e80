// Ends that are not completions: cancel, failure, refusal by the transport, late and false reports.
#include <gtest/gtest.h>

#include "tests/core/world.h"

namespace tentq::core {
namespace {

constexpr ClassId kUser = ClassId::standard;
using namespace std::chrono_literals;

// A world with one owner of four chunks, two of them in flight.
struct HalfDone : World {
  HalfDone() {
    open_lane(0, 2 * 64 * kKiB, 16, 64 * kKiB);
    open_session(0);
    submit(0, kUser, 4 * 64 * kKiB);
    owner = last();
    forget();
  }
  OwnerId owner;
};

TEST(Cancel, AQueuedOwnerEndsAtOnceAndReleasesItsCharges) {
  World world;
  world.open_lane(0, 64 * kKiB, 1, 64 * kKiB);
  world.open_session(0);
  world.submit(0, kUser, 1);
  world.submit(0, kUser, 1000);
  const OwnerId queued = world.last();
  world.cancel(queued);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].owner, queued);
  EXPECT_EQ(world.ended[0].state, TaskState::canceled);
  EXPECT_EQ(world.ended[0].reason, Reason::canceled);
  EXPECT_EQ(world.ended[0].dispatched, Time{});
  EXPECT_EQ(world.core.outstanding(), (Amounts{1, 1, 1}));
  EXPECT_EQ(world.dispatched.size(), 1u);
  world.cancel(queued);  // twice is harmless
  EXPECT_EQ(world.ended.size(), 1u);
}

TEST(Cancel, WorkInFlightGoesThroughTheTransportAndKeepsItsChargesUntilQuiet) {
  HalfDone world;
  const std::uint32_t slot = world.core.find_owner(world.owner)->slot;
  world.handle(CancelRequested{SessionId{0}, slot, 1});
  EXPECT_EQ(world.state_of(world.owner), OwnerState::draining);
  EXPECT_EQ(world.cancels.size(), 2u);
  EXPECT_TRUE(world.ended.empty());
  EXPECT_EQ(world.core.outstanding().bytes, 4 * 64 * kKiB);
  EXPECT_EQ(world.core.class_totals(kUser).queued_bytes, 0u);
  world.handle(CancelRequested{SessionId{0}, slot, 1});  // twice is harmless
  EXPECT_EQ(world.cancels.size(), 2u);
  world.end_oldest(1, Reason::canceled);
  EXPECT_TRUE(world.ended.empty());
  world.end_oldest();
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].state, TaskState::canceled);
  EXPECT_EQ(world.core.outstanding(), Amounts{});
}

TEST(Cancel, AFullyPostedOwnerMayStillComplete) {
  World world;
  world.open_lane();
  world.open_session(0);
  world.submit(0, kUser, 1000);
  world.cancel(world.last());
  world.end_oldest();
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].state, TaskState::completed);
  EXPECT_EQ(world.ended[0].reason, Reason::none);
}

TEST(Cancel, ATransportThatGaveAChunkBackMakesItCanceledWhateverItMoved) {
  World world;
  world.open_lane();
  world.open_session(0);
  world.submit(0, kUser, 1000);
  world.cancel(world.last());
  world.end_chunk(world.dispatched[0].chunk, Reason::canceled, 1000);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].state, TaskState::canceled);
}

TEST(Cancel, OfAnotherGenerationSlotOrSessionChangesNothing) {
  HalfDone world;
  const std::uint64_t before = world.core.state_hash();
  world.handle(CancelRequested{SessionId{0}, 0, 2});
  world.handle(CancelRequested{SessionId{0}, 99, 1});
  world.handle(CancelRequested{SessionId{0}, 1u << 31, 1});
  world.handle(CancelRequested{SessionId{3}, 0, 1});
  world.handle(CancelRequested{SessionId{}, 0, 1});
  EXPECT_EQ(world.core.state_hash(), before);
  EXPECT_TRUE(world.cancels.empty());
}

TEST(Cancel, BetweenTwoChunksInFlightEndsAtOnce) {
  World world;
  world.open_lane(0, 64 * kKiB, 1, 64 * kKiB);
  world.open_session(0);
  world.open_session(1);
  world.submit(0, kUser, 2 * 64 * kKiB);
  const OwnerId first = world.last();
  world.hold_effects = true;  // the second chunk is not asked for yet
  world.end_oldest();
  world.hold_effects = false;
  EXPECT_EQ(world.state_of(first), OwnerState::dispatching);
  world.cancel(first);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].bytes_done, 64 * kKiB);
  EXPECT_TRUE(world.cancels.empty());
}

TEST(Failure, TheFirstFailingChunkDecidesAndTheRestDrains) {
  HalfDone world;
  world.end_oldest(1, Reason::memory_fault);
  EXPECT_EQ(world.state_of(world.owner), OwnerState::draining);
  EXPECT_EQ(world.cancels.size(), 1u);
  EXPECT_TRUE(world.dispatched.empty());  // what was not dispatched is dropped
  world.end_oldest(1, Reason::transport_error);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].state, TaskState::failed);
  EXPECT_EQ(world.ended[0].reason, Reason::memory_fault);
  EXPECT_EQ(world.core.outstanding(), Amounts{});
}

TEST(Failure, BytesOfGoodChunksAreCountedAndNeverMoreThanTheirLength) {
  HalfDone world;
  const DispatchChunk second = world.in_flight[1];
  world.end_oldest();
  world.end_chunk(second.chunk, Reason::memory_fault, ~std::uint64_t{0});
  world.end_all();
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_LE(world.ended[0].bytes_done, 4 * 64 * kKiB);
  EXPECT_EQ(world.core.counters().transferred_bytes, world.ended[0].bytes_done);
}

TEST(Stale, ALateRepeatedOrInventedCompletionChangesNothing) {
  HalfDone world;
  const ChunkId first = world.in_flight[0].chunk;
  world.end_oldest();
  world.forget();
  const std::uint64_t before = world.core.state_hash();
  std::vector<ChunkId> stale = {first};
  ChunkId other = world.in_flight[0].chunk;
  other.attempt += 1;
  stale.push_back(other);
  other = world.in_flight[0].chunk;
  other.owner.generation += 1;
  stale.push_back(other);
  other = world.in_flight[0].chunk;
  other.ordinal += 1000;
  stale.push_back(other);
  other = world.in_flight[0].chunk;
  other.owner.index += 1;
  stale.push_back(other);
  stale.push_back(ChunkId{});
  for (const ChunkId& id : stale) {
    world.handle(ChunkEnded{id, 1, Reason::none});
    world.handle(ChunkEnded{id, 1, Reason::memory_fault});
    world.handle(ChunkRefused{id});
  }
  EXPECT_EQ(world.core.state_hash(), before);
  EXPECT_EQ(world.core.counters().stale_completions, 3 * stale.size());
  EXPECT_TRUE(world.ended.empty());
}

TEST(Stale, ACompletionOfAnEarlierOwnerInTheSamePlaceIsNoOp) {
  World world;
  world.open_lane();
  world.open_session(0, 0, 1);
  world.submit(0, ClassId::foreground, 100);
  const ChunkId old = world.in_flight[0].chunk;
  world.end_all();
  world.submit(0, ClassId::foreground, 100);
  ASSERT_EQ(world.last().index, old.owner.index);
  const std::uint64_t before = world.core.state_hash();
  world.handle(ChunkEnded{old, 100, Reason::none});
  EXPECT_EQ(world.core.state_hash(), before);
}

TEST(Refusal, TheChunkGoesBackToTheHeadAndTheWindowIsRolledBack) {
  World world;
  world.open_lane(0, 64 * kKiB, 1, 64 * kKiB);
  world.open_session(0);
  world.submit(0, kUser, 100);
  world.submit(0, kUser, 200);
  const std::uint64_t first = world.in_flight[0].length;
  world.refuse_chunk(world.in_flight[0].chunk);
  EXPECT_EQ(world.core.lane_totals(LaneId{0}).in_flight_bytes, 0u);
  EXPECT_EQ(world.core.counters().requeues, 1u);
  EXPECT_TRUE(world.in_flight.empty());  // the lane pauses
  EXPECT_EQ(world.core.explain(world.admitted[0].owner)->cause, WaitCause::backoff);
  world.advance_to_deadline();
  ASSERT_EQ(world.in_flight.size(), 1u);
  EXPECT_EQ(world.in_flight[0].length, first);
  world.end_all();
  EXPECT_EQ(world.core.counters().completed, 2u);
}

TEST(Refusal, TheOldAttemptIsVoid) {
  World world;
  world.open_lane();
  world.open_session(0);
  world.submit(0, kUser, 100);
  const ChunkId old = world.in_flight[0].chunk;
  world.refuse_chunk(old);
  world.advance_to_deadline();
  ASSERT_EQ(world.in_flight.size(), 1u);
  EXPECT_NE(world.in_flight[0].chunk, old);
  world.handle(ChunkEnded{old, 100, Reason::none});
  EXPECT_TRUE(world.ended.empty());
  world.end_all();
  EXPECT_EQ(world.ended.size(), 1u);
}

TEST(Refusal, PausesDoubleWithinTheirBoundsAndAreJittered) {
  std::vector<std::int64_t> pauses[2];
  for (const std::uint64_t seed : {1u, 2u}) {
    WorldShape shape;
    shape.seed = seed;
    shape.limits.retry_attempts = 20;
    World world(shape);
    world.open_lane();
    world.open_session(0);
    world.submit(0, kUser, 100);
    for (int i = 0; i < 12; ++i) {
      world.refuse_chunk(world.in_flight[0].chunk);
      const Duration pause = *world.core.next_deadline() - world.now;
      const Duration least = std::min<Duration>(1ms * (1 << std::min(i, 7)), 75ms);
      EXPECT_GE(pause, least) << i;
      EXPECT_LE(pause, std::min<Duration>(least * 2, 100ms)) << i;
      pauses[seed - 1].push_back(pause.count());
      world.advance_to_deadline();
    }
  }
  EXPECT_NE(pauses[0], pauses[1]);
}

TEST(Refusal, AttemptsAreBoundedAndZeroDisablesThem) {
  for (const std::uint32_t attempts : {0u, 1u, 3u}) {
    WorldShape shape;
    shape.limits.retry_attempts = attempts;
    World world(shape);
    world.open_lane();
    world.open_session(0);
    world.submit(0, kUser, 100);
    for (std::uint32_t i = 0; i < attempts; ++i) {
      world.refuse_chunk(world.in_flight[0].chunk);
      world.advance_to_deadline();
    }
    world.refuse_chunk(world.in_flight[0].chunk);
    ASSERT_EQ(world.ended.size(), 1u);
    EXPECT_EQ(world.ended[0].state, TaskState::failed);
    EXPECT_EQ(world.ended[0].reason, Reason::transport_error);
  }
}

TEST(Refusal, ABatchRefusedTogetherKeepsItsOrderAndCountsOneAttempt) {
  WorldShape shape;
  shape.limits.retry_attempts = 1;
  World world(shape);
  world.open_lane();
  world.open_session(0);
  for (std::uint64_t length = 1; length <= 6; ++length) world.submit(0, kUser, length);
  const std::deque<DispatchChunk> batch = world.in_flight;
  for (const DispatchChunk& chunk : batch) world.refuse_chunk(chunk.chunk);
  world.forget();
  world.advance_to_deadline();
  ASSERT_EQ(world.dispatched.size(), 6u);
  for (std::uint64_t i = 0; i < 6; ++i) EXPECT_EQ(world.dispatched[i].length, i + 1);
  // The head went through: those behind it are not charged for having been in the batch.
  world.end_oldest();
  const std::deque<DispatchChunk> rest = world.in_flight;
  for (const DispatchChunk& chunk : rest) world.refuse_chunk(chunk.chunk);
  world.advance_to_deadline();
  world.end_all();
  EXPECT_EQ(world.core.counters().completed, 6u);
}

TEST(Refusal, AReturnedChunkLargerThanANewWindowIsCutAgain) {
  World world;
  world.open_lane(0, kMiB, 16, 256 * kKiB);
  world.open_session(0);
  world.submit(0, kUser, 256 * kKiB);
  world.refuse_chunk(world.in_flight[0].chunk);
  world.handle(LaneWindowChanged{LaneId{0}, 100 * kKiB, 16, 64 * kKiB});
  world.advance_to_deadline();
  std::uint64_t moved = 0;
  while (!world.in_flight.empty()) {
    moved += world.in_flight[0].length;
    world.end_oldest();
  }
  EXPECT_EQ(moved, 256 * kKiB);
  EXPECT_EQ(world.core.counters().completed, 1u);
}

TEST(Refusal, OfADrainingOwnerEndsItWhenQuiet) {
  World world;
  world.open_lane();
  world.open_session(0);
  world.submit(0, kUser, 100);
  world.cancel(world.last());
  world.refuse_chunk(world.in_flight[0].chunk);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].state, TaskState::canceled);
}

TEST(Refusal, PausesOneLaneOnly) {
  World world;
  world.open_lane(0);
  world.open_lane(1);
  world.open_session(0);
  world.submit(0, kUser, 100, 0);
  world.refuse_chunk(world.in_flight[0].chunk);
  world.submit(0, kUser, 100, 1);
  ASSERT_EQ(world.in_flight.size(), 1u);
  EXPECT_EQ(world.in_flight[0].lane, LaneId{1});
}

}  // namespace
}  // namespace tentq::core
