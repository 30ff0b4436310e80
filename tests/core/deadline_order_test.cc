// The order of deadlines: against a sorted list, over the turn of its numbers, and with nothing
// left behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <vector>

#include "daemon/core/deadline_order.h"
#include "tests/core/world.h"

namespace tentq::core {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kBucket = std::int64_t{1} << 18;
constexpr std::int64_t kTurn = kBucket << 24;  // 73 minutes

// Buckets in order, each with its owners in the order in which they came.
class Naive {
 public:
  using Key = std::int64_t;  // bucket
  std::uint32_t append(Key bucket, std::uint32_t owner) {
    const std::uint32_t behind = last_until(bucket);
    buckets_[bucket].push_back(owner);
    return behind;
  }
  std::uint32_t last_until(Key bucket) const {
    auto it = buckets_.upper_bound(bucket);
    return it == buckets_.begin() ? kNone : std::prev(it)->second.back();
  }
  std::map<Key, std::vector<std::uint32_t>> buckets_;
};

TEST(DeadlineOrder, FindsTheSamePlacesAsASortedList) {
  const auto seed = static_cast<std::uint32_t>(std::random_device{}());
  RecordProperty("seed", static_cast<int>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  DeadlineOrder order(10'000);
  Naive naive;
  std::uint32_t root = kNone;
  std::int64_t now = kTurn - 20 * kBucket;  // its numbers turn while it runs
  std::uint32_t next = 0;
  const std::int64_t spreads[] = {3, 70, 5'000, 400'000, 14'000'000};
  for (int step = 0; step < 20'000; ++step) {
    now += static_cast<std::int64_t>(random() % kBucket);
    order.advance(now);
    if (random() % 2 == 0 || naive.buckets_.empty()) {
      const std::int64_t spread = spreads[random() % 5];
      const std::int64_t bucket =
          now / kBucket + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(spread));
      const std::uint32_t behind = order.append(&root, order.key_of(bucket * kBucket), next);
      ASSERT_EQ(behind, naive.append(bucket, next));
      next += 1;
      continue;
    }
    auto it = naive.buckets_.begin();
    std::advance(it, random() % std::min<std::size_t>(naive.buckets_.size(), 8));
    const std::uint32_t key = order.key_of(it->first * kBucket);
    ASSERT_EQ(order.last_of(root, key), it->second.back());
    ASSERT_EQ(order.last_before(root, key), naive.last_until(it->first - 1));
    ASSERT_EQ(order.last(root), naive.buckets_.rbegin()->second.back());
    it->second.pop_back();
    order.set_last(&root, key, it->second.empty() ? kNone : it->second.back());
    if (it->second.empty()) naive.buckets_.erase(it);
    ASSERT_EQ(order.buckets(root), naive.buckets_.size());
  }
  for (auto& [bucket, owners] : naive.buckets_) {
    order.set_last(&root, order.key_of(bucket * kBucket), kNone);
  }
  EXPECT_EQ(root, kNone);
  EXPECT_EQ(order.nodes(), 0u);
}

TEST(DeadlineOrder, TellsApartWhatIsNearEnough) {
  DeadlineOrder order(16);
  order.advance(5 * kTurn);
  EXPECT_TRUE(order.can_tell(5 * kTurn));
  EXPECT_TRUE(order.can_tell(5 * kTurn + kTurn / 10 * 9));
  EXPECT_FALSE(order.can_tell(5 * kTurn + kTurn));
  EXPECT_FALSE(order.can_tell(std::numeric_limits<std::int64_t>::max()));
}

class DeadlinesInALeaf : public ::testing::Test {
 protected:
  void SetUp() override {
    world_.open_lane(0, 64 * kKiB, 1, 64 * kKiB);  // one after the other
    world_.open_session(0);
    submit({});  // fills the lane
  }
  // 64 KiB, one chunk.
  OwnerId submit(Duration deadline) {
    OwnerSpec spec = world_.spec(0, 64 * kKiB);
    spec.deadline = deadline;
    world_.submit(0, ClassId::standard, {spec});
    return world_.last();
  }
  // In the order in which they were handed over from now on.
  std::vector<OwnerId> drain() {
    world_.dispatched.clear();
    while (!world_.in_flight.empty()) world_.end_oldest();
    std::vector<OwnerId> owners;
    for (const DispatchChunk& chunk : world_.dispatched) owners.push_back(chunk.chunk.owner);
    return owners;
  }
  World world_;
};

TEST_F(DeadlinesInALeaf, TheEarliestIsFirstAndWhoHasNoneIsLast) {
  const OwnerId none = submit({});
  const OwnerId late = submit(30ms);
  const OwnerId none_too = submit({});
  const OwnerId early = submit(10ms);
  const OwnerId between = submit(20ms);
  const OwnerId early_too = submit(10ms);
  EXPECT_EQ(drain(), (std::vector<OwnerId>{early, early_too, between, late, none, none_too}));
}

TEST_F(DeadlinesInALeaf, ArrivalAloneCountsUnderFifo) {
  ASSERT_EQ(world_.core.set_policy(Policy::fifo), StatusCode::ok);
  const OwnerId none = submit({});
  const OwnerId late = submit(30ms);
  const OwnerId early = submit(10ms);
  EXPECT_EQ(drain(), (std::vector<OwnerId>{none, late, early}));
}

TEST_F(DeadlinesInALeaf, APolicyThatKnowsThemOrdersWhatWaits) {
  ASSERT_EQ(world_.core.set_policy(Policy::fifo), StatusCode::ok);
  const OwnerId none = submit({});
  const OwnerId late = submit(30ms);
  const OwnerId early = submit(10ms);
  ASSERT_EQ(world_.core.set_policy(Policy::wdrr), StatusCode::ok);
  EXPECT_EQ(drain(), (std::vector<OwnerId>{early, late, none}));
}

// A chunk that its transport refused goes back to its place, not to the head of all.
TEST_F(DeadlinesInALeaf, WhatWasRefusedGoesBackToItsPlace) {
  const OwnerId late = submit(30ms);
  const OwnerId late_too = submit(30ms);
  world_.end_oldest();
  ASSERT_EQ(world_.in_flight.front().chunk.owner, late);
  const OwnerId early = submit(10ms);
  const OwnerId none = submit({});
  world_.refuse_chunk(world_.in_flight.front().chunk);
  world_.dispatched.clear();
  world_.advance_to_deadline();
  std::vector<OwnerId> order;
  while (!world_.in_flight.empty()) {
    order.push_back(world_.in_flight.front().chunk.owner);
    world_.end_oldest();
  }
  EXPECT_EQ(order, (std::vector<OwnerId>{early, late, late_too, none}));
}

// Whoever stands behind a deadline grows old as well, and is known to be when it becomes the head.
TEST_F(DeadlinesInALeaf, WhoWaitsBehindADeadlineGrowsOld) {
  Limits limits = world_.core.limits();
  limits.age_max = 50ms;
  limits.classes[index_of(ClassId::foreground)].strict = true;
  std::string why;
  ASSERT_EQ(world_.core.set_limits(limits, &why), StatusCode::ok) << why;
  const OwnerId old = submit({});
  world_.advance(60ms);
  const OwnerId dated = submit(500ms);
  world_.open_session(1, 1);
  for (int i = 0; i < 100; ++i) world_.submit(1, ClassId::foreground, 64 * kKiB);
  for (int i = 0; i < 20; ++i) world_.end_oldest();  // the head is young
  EXPECT_EQ(world_.state_of(old), OwnerState::queued);
  world_.cancel(dated);
  for (int i = 0; i < 20; ++i) world_.end_oldest();
  EXPECT_NE(world_.state_of(old), OwnerState::queued) << "an old head was not seen";
}

// A path that hangs for longer than keys are told apart, and then refuses a chunk.
TEST_F(DeadlinesInALeaf, FarDeadlinesStandWithThoseThatHaveNone) {
  const OwnerId far = submit(10h);
  world_.advance(5min);
  const OwnerId far_too = submit(10h);
  const OwnerId near = submit(69min);
  for (int i = 0; i < 68; ++i) world_.advance(1min);
  world_.end_oldest();
  ASSERT_EQ(world_.in_flight.front().chunk.owner, near);
  world_.end_oldest();
  ASSERT_EQ(world_.in_flight.front().chunk.owner, far);
  world_.refuse_chunk(world_.in_flight.front().chunk);
  for (int i = 0; i < 10; ++i) world_.advance(1min);
  ASSERT_EQ(world_.in_flight.front().chunk.owner, far);
  EXPECT_EQ(drain(), std::vector<OwnerId>{far_too});
}

}  // namespace
}  // namespace tentq::core
