// Deadlines and the longest wait in the queue, and the timing wheel under them.
#include <gtest/gtest.h>

#include <random>

#include "daemon/core/wheel.h"
#include "tests/core/world.h"

namespace tentq::core {
namespace {

constexpr ClassId kUser = ClassId::standard;
constexpr Duration kBucket{1 << 18};
using namespace std::chrono_literals;

TEST(Expiry, AQueuedOwnerEndsAtItsDeadlineAndIsReleasedInTheSameStep) {
  World world;
  world.open_lane(0, 64 * kKiB, 1, 64 * kKiB);
  world.open_session(0);
  world.submit(0, kUser, 1);
  OwnerSpec timed = world.spec(0, 100);
  timed.deadline = 5ms;
  world.submit(0, kUser, {timed});
  const Time due = world.now + 5ms;
  ASSERT_TRUE(world.core.next_deadline().has_value());
  EXPECT_GE(*world.core.next_deadline(), due);
  EXPECT_LE(*world.core.next_deadline(), due + kBucket);
  world.advance(5ms - 1us);
  EXPECT_TRUE(world.ended.empty());
  world.advance_to_deadline();
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].state, TaskState::timeout);
  EXPECT_EQ(world.ended[0].reason, Reason::deadline);
  EXPECT_EQ(world.core.outstanding(), (Amounts{1, 1, 1}));
  EXPECT_EQ(world.core.counters().timed_out, 1u);
  EXPECT_FALSE(world.core.next_deadline().has_value());
}

TEST(Expiry, InFlightTheRestIsDroppedAndTheOutcomeIsTimeout) {
  World world;
  world.open_lane(0, 2 * 64 * kKiB, 16, 64 * kKiB);
  world.open_session(0);
  OwnerSpec timed = world.spec(0, 4 * 64 * kKiB);
  timed.deadline = 5ms;
  world.submit(0, kUser, {timed});
  world.advance(6ms);
  EXPECT_EQ(world.state_of(world.last()), OwnerState::draining);
  EXPECT_EQ(world.cancels.size(), 2u);
  EXPECT_TRUE(world.ended.empty());
  world.end_oldest(2);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].state, TaskState::timeout);
  EXPECT_EQ(world.ended[0].bytes_done, 2 * 64 * kKiB);
}

TEST(Expiry, TheQueueWaitEndsWithTheFirstChunk) {
  World world;
  world.open_lane(0, 64 * kKiB, 1, 64 * kKiB);
  world.open_session(0);
  OwnerSpec first = world.spec(0, 1);
  first.max_queue_wait = 1ms;
  first.deadline = 1s;
  OwnerSpec second = world.spec(0, 1);
  second.max_queue_wait = 1ms;
  second.deadline = 1s;
  world.submit(0, kUser, {first, second});
  world.advance(2ms);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].slot, second.slot);
  EXPECT_EQ(world.ended[0].reason, Reason::max_queue_wait);
  world.end_oldest();
  EXPECT_EQ(world.core.counters().completed, 1u);
}

TEST(Expiry, AChunkThatWasRefusedWaitsInTheQueueAgain) {
  World world;
  world.open_lane();
  world.open_session(0);
  OwnerSpec first = world.spec(0, 1);
  first.max_queue_wait = 20ms;
  world.submit(0, kUser, {first});
  world.advance(1ms);
  for (int i = 0; i < 30 && world.ended.empty(); ++i) {
    if (!world.in_flight.empty()) world.refuse_chunk(world.in_flight[0].chunk);
    world.advance_to_deadline();
  }
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].state, TaskState::timeout);
  EXPECT_EQ(world.ended[0].reason, Reason::max_queue_wait);
}

TEST(Expiry, TheEarlierOfDeadlineAndQueueWaitCounts) {
  World world;
  world.open_lane(0, 64 * kKiB, 1, 64 * kKiB);
  world.open_session(0);
  world.submit(0, kUser, 1);
  OwnerSpec early = world.spec(0, 1);
  early.deadline = 1ms;
  early.max_queue_wait = 1s;
  OwnerSpec late = world.spec(0, 1);
  late.deadline = 1s;
  late.max_queue_wait = 1ms;
  world.submit(0, kUser, {early, late});
  world.advance(2ms);
  ASSERT_EQ(world.ended.size(), 2u);
  for (const OwnerEnded& end : world.ended) {
    EXPECT_EQ(end.reason, end.slot == early.slot ? Reason::deadline : Reason::max_queue_wait);
  }
}

TEST(Expiry, AnEndlessDurationDoesNotWrap) {
  World world;
  world.open_lane(0, 64 * kKiB, 1, 64 * kKiB);
  world.open_session(0);
  world.submit(0, kUser, 1);
  OwnerSpec timed = world.spec(0, 100);
  timed.deadline = Duration::max();
  timed.max_queue_wait = Duration::max();
  world.submit(0, kUser, {timed});
  world.advance(std::chrono::hours{24 * 365});
  EXPECT_TRUE(world.ended.empty());
  world.cancel(world.last());
  EXPECT_EQ(world.ended.size(), 1u);
}

TEST(Expiry, ManyAtOnceEndInBoundedSteps) {
  WorldShape shape;
  shape.maxima.owners = 8192;
  shape.limits = small_limits(8192, kGiB);
  shape.check = false;
  World world(shape);
  world.open_lane(0, 64 * kKiB, 1, 64 * kKiB);
  world.open_session(0, 0, 8192, bit_of(kUser));
  world.want(0, kUser, {5000, 5000, 5000}, false);
  for (int i = 0; i < 5000; ++i) {
    OwnerSpec timed = world.spec(0, 1);
    timed.deadline = 1ms;
    world.submit(0, kUser, {timed});
  }
  world.advance(2ms);
  EXPECT_LT(world.ended.size(), 4999u);
  for (int i = 0; i < 10; ++i) {
    if (world.core.next_deadline() == world.now) world.advance(0ms);
  }
  EXPECT_EQ(world.ended.size(), 4999u);
  world.core.check_invariants();
}

TEST(Wheel, GivesBackEveryOwnerOnceInTimeOverAllItsLevels) {
  constexpr std::uint32_t kOwners = 2000;
  std::mt19937_64 random(7);
  OwnerTable owners(kOwners);
  Wheel wheel(&owners);
  std::int64_t now = 5'000'000'000;
  EXPECT_EQ(wheel.take_due(now), kNone);
  std::vector<std::int64_t> due(kOwners);
  std::vector<bool> linked(kOwners, true);
  for (std::uint32_t i = 0; i < kOwners; ++i) {
    const std::uint32_t index = owners.take();
    due[index] = now + static_cast<std::int64_t>(random() % (std::uint64_t{1} << (10 + i % 50)));
    owners.extras(index) = OwnerExtras{};
    owners.extras(index).due_ns = due[index];
    wheel.set(index);
  }
  std::uint32_t left = kOwners;
  for (std::uint32_t i = 0; i < kOwners; i += 5) {
    wheel.drop(i);
    wheel.drop(i);
    linked[i] = false;
    left -= 1;
  }
  EXPECT_EQ(wheel.count(), left);
  while (left != 0) {
    const std::int64_t next = wheel.next_ns();
    ASSERT_NE(next, 0);
    now = std::max(now, next);
    for (std::uint32_t i = wheel.take_due(now); i != kNone; i = wheel.take_due(now)) {
      ASSERT_TRUE(linked[i]);
      linked[i] = false;
      left -= 1;
      EXPECT_LE(due[i], now);
      EXPECT_GE(due[i] + 2 * kBucket.count(), now);
    }
  }
  EXPECT_EQ(wheel.next_ns(), 0);
}

TEST(Wheel, LongLeapsOfTimeCostLittleAndLoseNothing) {
  OwnerTable owners(8);
  Wheel wheel(&owners);
  std::int64_t now = 0;
  for (int day = 0; day < 400; ++day) {
    const std::uint32_t index = owners.take();
    owners.extras(index) = OwnerExtras{};
    owners.extras(index).due_ns = now + 3'600'000'000'000;
    wheel.set(index);
    now += 24 * 3'600'000'000'000;
    EXPECT_EQ(wheel.take_due(now), index);
    EXPECT_EQ(wheel.take_due(now), kNone);
    owners.give(index);
  }
}

}  // namespace
}  // namespace tentq::core
