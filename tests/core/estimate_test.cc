// Deadlines at admission: what cannot be met is refused, what can be met is not, and no estimate is
// short of what the service of everything queued takes.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/core/world.h"

namespace tentq::core {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kS = 64 * kKiB;
constexpr std::int64_t kChunk_ns = 131'072;  // 64 KiB at 500 MB/s

// One lane of 500 MB/s, one chunk at a time, whose rate is known.
class Estimate : public ::testing::Test {
 protected:
  void start(DeadlineMode mode, const WorldShape& shape = {}) {
    WorldShape own = shape;
    own.limits.deadline_mode = mode;
    own.limits.classes[index_of(ClassId::foreground)].weight = 16;
    own.limits.classes[index_of(ClassId::standard)].weight = 4;
    world_ = std::make_unique<World>(own);
    world_->open_lane(0, 2 * kS, 2, kS);
    for (std::uint32_t s = 0; s < 4; ++s) world_->open_session(s, s / 2);
    for (int i = 0; i < 400; ++i) world_->submit(0, ClassId::standard, kS);
    serve();
    EXPECT_NEAR(static_cast<double>(world_->core.lane_totals(LaneId{0}).low_rate_bytes_per_s), 5e8,
                1e7);
  }
  void serve_one() {
    world_->now += Duration{kChunk_ns};
    world_->end_oldest();
  }
  void serve() {
    while (!world_->in_flight.empty()) serve_one();
  }
  // The reason of its refusal, or none.
  Reason submit(std::uint32_t session, ClassId cls, std::uint64_t bytes, Duration deadline) {
    OwnerSpec spec = world_->spec(session, bytes);
    spec.deadline = deadline;
    const std::size_t ended = world_->ended.size();
    world_->submit(session, cls, {spec});
    return world_->ended.size() == ended ? Reason::none : world_->ended.back().reason;
  }
  std::unique_ptr<World> world_;
};

TEST_F(Estimate, WhatCannotBeMetIsRefusedAndChangesNothing) {
  start(DeadlineMode::enforce);
  for (int i = 0; i < 100; ++i) world_->submit(0, ClassId::standard, kS);  // 13.1 ms
  EXPECT_EQ(submit(0, ClassId::standard, kS, 100us), Reason::unmeetable);
  const std::uint64_t hash = world_->core.state_hash();
  EXPECT_EQ(submit(0, ClassId::standard, 40 * kMiB, 50ms), Reason::unmeetable);
  EXPECT_EQ(world_->core.state_hash(), hash);
  EXPECT_EQ(world_->core.counters().rejected[static_cast<std::size_t>(Reason::unmeetable)], 2u);
  // Ahead of those that have no deadline.
  EXPECT_EQ(submit(0, ClassId::standard, kS, 2ms), Reason::none);
  serve();
  EXPECT_EQ(world_->core.counters().timed_out, 0u);
}

TEST_F(Estimate, OnlyWhatIsDueBeforeIsAhead) {
  start(DeadlineMode::enforce);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(submit(0, ClassId::standard, kS, 400ms), Reason::none);
  }
  EXPECT_EQ(submit(0, ClassId::standard, kS, 3ms), Reason::none);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(submit(0, ClassId::standard, kS, 30ms), Reason::none) << i;
  }
  EXPECT_EQ(submit(0, ClassId::standard, 8 * kMiB, 20ms), Reason::none);
  EXPECT_EQ(submit(0, ClassId::standard, kS, 25ms), Reason::none);
  EXPECT_EQ(submit(0, ClassId::standard, kS, 12ms), Reason::none);
  EXPECT_EQ(submit(0, ClassId::standard, 8 * kMiB, 30ms), Reason::unmeetable);
  EXPECT_EQ(submit(0, ClassId::standard, 8 * kMiB, 70ms), Reason::none);
}

// A class of more weight is not held up by what waits in others.
TEST_F(Estimate, ForegroundIsPromisedItsShare) {
  start(DeadlineMode::enforce);
  for (int i = 0; i < 400; ++i) world_->submit(2, ClassId::background, kS);  // 52 ms
  EXPECT_EQ(submit(0, ClassId::foreground, 10 * kS, 3ms), Reason::none);
  EXPECT_EQ(submit(1, ClassId::background, kS, 40ms), Reason::none) << "another client's turn";
  EXPECT_EQ(submit(3, ClassId::background, 100 * kS, 15ms), Reason::unmeetable);
}

TEST_F(Estimate, AdvisoryAdmitsAndCounts) {
  start(DeadlineMode::advisory);
  for (int i = 0; i < 100; ++i) world_->submit(0, ClassId::standard, kS);
  EXPECT_EQ(submit(0, ClassId::standard, kMiB, 100us), Reason::none);
  EXPECT_EQ(world_->core.counters().admitted_unmeetable, 1u);
  EXPECT_EQ(submit(0, ClassId::standard, kS, 50ms), Reason::none);
  EXPECT_EQ(world_->core.counters().admitted_unmeetable, 1u);
}

TEST_F(Estimate, OffMeasuresAndRefusesNothing) {
  World world;
  world.open_lane(0, 2 * kS, 2, kS);
  world.open_session(0);
  for (int i = 0; i < 400; ++i) world.submit(0, ClassId::standard, kS);
  while (!world.in_flight.empty()) {
    world.now += Duration{kChunk_ns};
    world.end_oldest();
  }
  EXPECT_EQ(world.core.lane_totals(LaneId{0}).low_rate_bytes_per_s, 0u);
  OwnerSpec spec = world.spec(0, 64 * kMiB);
  spec.deadline = 1us;
  world.submit(0, ClassId::standard, {spec});
  EXPECT_EQ(world.core.counters().rejected[static_cast<std::size_t>(Reason::unmeetable)], 0u);
}

// Nothing is known of a lane that has not been full yet.
TEST_F(Estimate, AnUnknownRateRefusesNothing) {
  WorldShape shape;
  shape.limits.deadline_mode = DeadlineMode::enforce;
  World world(shape);
  world.open_lane();
  world.open_session(0);
  OwnerSpec spec = world.spec(0, 64 * kMiB);
  spec.deadline = 1us;
  world.submit(0, ClassId::standard, {spec});
  EXPECT_EQ(world.core.counters().rejected[static_cast<std::size_t>(Reason::unmeetable)], 0u);
}

TEST_F(Estimate, ChangesWhileItRuns) {
  start(DeadlineMode::advisory);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(submit(0, ClassId::standard, kS, 900ms), Reason::none);
  Limits limits = world_->core.limits();
  std::string why;
  for (const DeadlineMode mode : {DeadlineMode::off, DeadlineMode::enforce}) {
    limits.deadline_mode = mode;
    ASSERT_EQ(world_->core.set_limits(limits, &why), StatusCode::ok) << why;
  }
  EXPECT_EQ(submit(0, ClassId::standard, kS, 5ms), Reason::none);
  EXPECT_EQ(submit(0, ClassId::standard, 100 * kS, 15ms), Reason::unmeetable);
  serve();
  world_->core.check_invariants();
}

// A lane of which little was asked is not slow.
TEST_F(Estimate, DemandIsNotTakenForTheRate) {
  WorldShape shape;
  shape.limits.deadline_mode = DeadlineMode::enforce;
  World world(shape);
  world.open_lane(0, 4 * kMiB, 256, 256 * kKiB);
  world.open_session(0);
  for (int i = 0; i < 40; ++i) {  // 4 KiB in 10 us each, one every 0.9 ms
    world.submit(0, ClassId::standard, 4 * kKiB);
    world.now += 10us;
    world.end_oldest();
    world.now += 890us;
  }
  OwnerSpec spec = world.spec(0, kMiB);
  spec.deadline = 100ms;
  world.forget();
  world.submit(0, ClassId::standard, {spec});
  EXPECT_TRUE(world.ended.empty());
}

TEST_F(Estimate, ABadSpellIsForgotten) {
  start(DeadlineMode::enforce);
  for (int i = 0; i < 600; ++i) world_->submit(0, ClassId::standard, kS);
  while (!world_->in_flight.empty()) {  // 3 MB/s
    world_->now += 20ms;
    world_->end_oldest();
  }
  EXPECT_EQ(submit(0, ClassId::standard, 16 * kS, 100ms), Reason::unmeetable);
  world_->advance(11s);
  EXPECT_EQ(submit(0, ClassId::standard, 16 * kS, 100ms), Reason::none);
}

// Nobody measured until now: what came before is no period.
TEST_F(Estimate, TurnedOnWhileTheLaneIsBusy) {
  World world;
  world.open_lane(0, 2 * kS, 2, kS);
  world.open_session(0);
  world.advance(1h);
  for (int i = 0; i < 250; ++i) world.submit(0, ClassId::standard, kS);
  Limits limits = world.core.limits();
  limits.deadline_mode = DeadlineMode::enforce;
  ASSERT_EQ(world.core.set_limits(limits, nullptr), StatusCode::ok);
  for (int i = 0; i < 200; ++i) {
    world.now += Duration{kChunk_ns};
    world.end_oldest();
  }
  EXPECT_GT(world.core.lane_totals(LaneId{0}).low_rate_bytes_per_s, 400'000'000u);
}

TEST_F(Estimate, EveryDeadlineOfACallCounts) {
  start(DeadlineMode::enforce);
  const auto call = [this](std::vector<std::pair<std::uint64_t, Duration>> owners, bool replayed) {
    std::vector<OwnerSpec> specs;
    for (const auto& [bytes, deadline] : owners) {
      specs.push_back(world_->spec(0, bytes));
      specs.back().deadline = deadline;
    }
    const std::size_t ended = world_->ended.size();
    if (replayed) {
      world_->handle(Submitted{SessionId{0}, ClassId::standard, true, Reason::none, specs});
    } else {
      world_->submit(0, ClassId::standard, specs);
    }
    return world_->ended.size() == ended ? Reason::none : world_->ended.back().reason;
  };
  EXPECT_EQ(call({{512 * kMiB, 1ms}, {kS, Duration{0}}}, false), Reason::unmeetable);
  EXPECT_EQ(call({{kS, 10ms}, {512 * kMiB, 20ms}}, false), Reason::unmeetable);
  // The second goes first.
  EXPECT_EQ(call({{64 * kMiB, 10s}, {kS, 10ms}}, false), Reason::none);
  serve();
  // Whoever says that it was admitted before must have had something outstanding then.
  EXPECT_EQ(call({{512 * kMiB, 1ms}}, true), Reason::unmeetable);
}

// The estimate is an upper bound: whatever is queued, who was let in by it and is overtaken by
// nobody that came later, is in time.
TEST_F(Estimate, WhoWasLetInIsInTime) {
  const auto seed = static_cast<std::uint32_t>(std::random_device{}());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  int admitted = 0;
  int refused = 0;
  for (int round = 0; round < 60; ++round) {
    start(DeadlineMode::enforce);
    const ClassId classes[] = {ClassId::foreground, ClassId::standard, ClassId::background};
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t bytes = 1 + random() % (6 * kS);
      const Duration deadline = random() % 2 == 0 ? Duration{0} : Duration{200ms};
      (void)submit(random() % 4, classes[random() % 3], bytes, deadline);
    }
    const Duration deadline{1'000'000 + static_cast<std::int64_t>(random() % 60'000'000)};
    const Reason reason =
        submit(random() % 4, classes[random() % 3], 1 + random() % (6 * kS), deadline);
    (reason == Reason::none ? admitted : refused) += 1;
    const std::uint64_t before = world_->core.counters().timed_out;
    serve();
    EXPECT_EQ(world_->core.counters().timed_out, before) << "round " << round;
  }
  EXPECT_GT(admitted, 10);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace tentq::core
