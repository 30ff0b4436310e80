// Windows on links in virtual time: full links, short queues, changes of capacity and path,
// company. Every link prints what it is made from.
#include <gtest/gtest.h>

#include "tests/core/window_flow.h"
#include "tests/core/window_world.h"

namespace tentq::core {
namespace {

using std::chrono::microseconds;

constexpr std::int64_t kUs = 1000;
constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMostWindow = 256 * kMiB;

WindowShape shape(int target_us = 100) {
  return {kMostWindow, 0, {true, microseconds{target_us}, 0}};
}

std::string text_of(const LinkShape& link) {
  return "link of " + std::to_string(link.bytes_per_ns) + " GB/s, delay " +
         std::to_string(link.delay_ns) + " ns, jitter " + std::to_string(link.jitter_ns) +
         " ns, ends every " + std::to_string(link.ack_burst_ns) + " ns, seed " +
         std::to_string(link.seed);
}

// What a lane does once it has settled.
struct Steady {
  double utilisation;
  double mean_latency_ns;
};
Steady steady(Flows* flows, double bytes_per_ns, std::int64_t for_ns) {
  double sum = 0;
  double count = 0;
  flows->on_end = [&](std::int64_t latency_ns) {
    sum += static_cast<double>(latency_ns);
    count += 1;
  };
  const double utilisation = flows->utilisation(for_ns, bytes_per_ns);
  flows->on_end = nullptr;
  return {utilisation, sum / count};
}
Steady settled(const LinkShape& link, const WindowShape& window) {
  Flows flows(link);
  flows.add(window);
  flows.run(200 * kMs);
  return steady(&flows, link.bytes_per_ns, 100 * kMs);
}

// The best fixed window is the one with the shortest foreground p99 among those that reach 98 % of
// the highest throughput of all.
struct Best {
  double utilisation = 0;
  double p99_us = 0;
  std::uint64_t window = 0;
};
Best best_fixed(LoadShape load, std::uint64_t chunk, std::int64_t for_ns) {
  std::vector<Best> all;
  double most = 0;
  for (std::uint64_t chunks = 1; chunks <= 40; chunks += chunks < 12 ? 1 : 4) {
    load.lane = LaneOpened{LaneId{0}, chunks * chunk, 65'536, chunk};
    WindowWorld world(load);
    world.run(20 * kMs);
    const LoadResult result = world.run(for_ns);
    if (result.refused != 0) continue;
    all.push_back({result.utilisation, result.p99_us, chunks * chunk});
    most = std::max(most, result.utilisation);
  }
  Best best;
  for (const Best& each : all) {
    if (each.utilisation < 0.98 * most) continue;
    if (best.window == 0 || each.p99_us < best.p99_us) best = each;
  }
  best.utilisation = most;
  return best;
}

struct SweepCase {
  double bytes_per_ns;
  std::int64_t delay_us;
  std::int64_t jitter_us;
  int target_us;
};
class BestFixedWindow : public ::testing::TestWithParam<SweepCase> {};

TEST_P(BestFixedWindow, IsMatchedInThroughputAndInForegroundLatency) {
  const SweepCase c = GetParam();
  LoadShape load;
  load.link = {c.bytes_per_ns, c.delay_us * kUs, c.jitter_us * kUs, 0, 11};
  load.foreground_bytes = 256 * kKiB;
  load.lane = LaneOpened{LaneId{0}, kMostWindow, 65'536, 0,
                         WindowRules{true, microseconds{c.target_us}, 0}};
  SCOPED_TRACE(text_of(load.link));
  // At least 1,000 foreground owners, the same ones for every window.
  const auto for_ns = static_cast<std::int64_t>(1000 * 256 * 1024 /
                                                (load.foreground_share * load.link.bytes_per_ns));
  WindowWorld world(load);
  world.run(20 * kMs);
  const LoadResult own = world.run(for_ns);
  world.world.core.check_invariants();
  const LaneTotals lane = world.world.core.lane_totals(LaneId{0});
  const Best best = best_fixed(load, lane.chunk_bytes, for_ns);
  ASSERT_NE(best.window, 0u);
  EXPECT_GE(own.utilisation, 0.98 * best.utilisation);
  EXPECT_LE(own.p99_us, 1.3 * best.p99_us)
      << "window " << lane.window_bytes << ", best fixed one " << best.window;
  RecordProperty("p99_us", std::to_string(own.p99_us) + " best " + std::to_string(best.p99_us));
}

INSTANTIATE_TEST_SUITE_P(Links, BestFixedWindow,
                         ::testing::Values(SweepCase{0.5, 20, 0, 100}, SweepCase{0.5, 100, 50, 100},
                                           SweepCase{2, 5, 0, 100}, SweepCase{2, 100, 0, 500},
                                           SweepCase{2, 50, 50, 500}, SweepCase{8, 10, 0, 100}));

struct StepCase {
  double before;
  double after;
  std::int64_t delay_us;
};
class CapacityStep : public ::testing::TestWithParam<StepCase> {};

TEST_P(CapacityStep, IsFollowedWithinTwentyMilliseconds) {
  const StepCase c = GetParam();
  const LinkShape before{c.before, c.delay_us * kUs, 0, 0, 3};
  LinkShape after = before;
  after.bytes_per_ns = c.after;
  SCOPED_TRACE(text_of(before) + " → " + std::to_string(c.after));
  const Steady goal = settled(after, shape());
  Flows flows(before);
  flows.add(shape());
  flows.run(300 * kMs);
  flows.link.set_rate(c.after);
  flows.run(20 * kMs);
  const Steady now = steady(&flows, c.after, 20 * kMs);
  EXPECT_GE(now.utilisation, 0.98);
  EXPECT_LE(now.mean_latency_ns, 1.3 * goal.mean_latency_ns);
}

INSTANTIATE_TEST_SUITE_P(Links, CapacityStep,
                         ::testing::Values(StepCase{4, 1, 20}, StepCase{4, 1, 100},
                                           StepCase{8, 2, 50}, StepCase{2, 0.5, 20},
                                           StepCase{1, 4, 20}, StepCase{1, 4, 100},
                                           StepCase{2, 8, 50}, StepCase{10, 40, 20}));

TEST(WindowLink, TwoEqualLanesShareALinkEvenly) {
  for (const std::int64_t delay_us : {5, 50, 200}) {
    const LinkShape link{4, delay_us * kUs, 20 * kUs, 0, 5};
    SCOPED_TRACE(text_of(link));
    Flows flows(link);
    Flow& first = flows.add(shape());
    Flow& second = flows.add(shape());
    flows.run(11 * kSecond);  // both have looked for their base at the same time
    const std::uint64_t a = first.moved;
    const std::uint64_t b = second.moved;
    EXPECT_GE(flows.utilisation(kSecond, 4), 0.98);
    const auto moved_a = static_cast<double>(first.moved - a);
    const auto moved_b = static_cast<double>(second.moved - b);
    EXPECT_NEAR(moved_a / moved_b, 1, 0.05);
  }
}

TEST(WindowLink, ALaneThatJoinsGetsItsShare) {
  const LinkShape link{4, 50 * kUs, 20 * kUs, 0, 6};
  SCOPED_TRACE(text_of(link));
  Flows flows(link);
  Flow& first = flows.add(shape());
  flows.run(500 * kMs);
  Flow& second = flows.add(shape());
  flows.run(5 * kSecond);
  const std::uint64_t a = first.moved;
  const std::uint64_t b = second.moved;
  flows.run(kSecond);
  const double share = static_cast<double>(second.moved - b) /
                       static_cast<double>(second.moved - b + first.moved - a);
  EXPECT_GT(share, 0.4);
  EXPECT_LT(share, 0.6);
}

TEST(WindowLink, JitterAndEndsInBurstsDoNotStarveIt) {
  for (const double rate : {0.5, 2.0, 8.0}) {
    for (const std::int64_t jitter_us : {0, 100, 300}) {
      for (const std::int64_t burst_us : {0, 250, 2000}) {
        const LinkShape link{rate, 30 * kUs, jitter_us * kUs, burst_us * kUs, 17};
        SCOPED_TRACE(text_of(link));
        Flows flows(link);
        flows.add(shape(500));
        flows.run(200 * kMs);
        EXPECT_GE(flows.utilisation(kSecond, rate), 0.95);
      }
    }
  }
}

TEST(WindowLink, AQueueWithoutABoundIsKeptShort) {
  const LinkShape link{1, 20 * kUs, 0, 0, 1};
  Flows flows(link);
  flows.add(shape());
  flows.run(50 * kMs);
  const Steady now = steady(&flows, 1, 10 * kSecond);
  EXPECT_GE(now.utilisation, 0.98);
  // 64 KiB take 65 µs and 20 µs on the way; about two more wait.
  EXPECT_LE(now.mean_latency_ns, 85'000 + 3.5 * 65'536);
}

TEST(WindowLink, ABaseDoesNotDriftWhileTheLaneIsFullForAMinute) {
  const LinkShape link{1, 20 * kUs, 0, 0, 1};
  Flows flows(link);
  Flow& flow = flows.add(shape());
  flows.run(kSecond);
  const std::int64_t base_ns = flow.window.base_ns();
  EXPECT_GE(flows.utilisation(60 * kSecond, 1), 0.98);
  EXPECT_EQ(flow.window.base_ns(), base_ns);
}

TEST(WindowLink, AJammedLaneRecovers) {
  const LinkShape link{2, 20 * kUs, 0, 0, 1};
  const Steady goal = settled(link, shape());
  for (const std::int64_t jam_ns : {5 * kMs, 500 * kMs, 12 * kSecond}) {
    SCOPED_TRACE(jam_ns);
    Flows flows(link);
    flows.add(shape());
    flows.run(200 * kMs);
    flows.link.jam_until(flows.now_ns + jam_ns);
    flows.run(jam_ns + 30 * kMs);
    const Steady now = steady(&flows, 2, 20 * kMs);
    EXPECT_GE(now.utilisation, 0.98);
    EXPECT_LE(now.mean_latency_ns, 1.3 * goal.mean_latency_ns);
  }
}

TEST(WindowLink, ALongerPathIsFollowedAndAShorterOneToo) {
  LinkShape link{4, 20 * kUs, 0, 0, 1};
  Flows flows(link);
  flows.add(shape());
  flows.run(200 * kMs);
  flows.link.set_delay(600 * kUs);
  flows.run(100 * kMs);
  EXPECT_GE(flows.utilisation(50 * kMs, 4), 0.98);
  flows.link.set_delay(20 * kUs);
  const Steady goal = settled(link, shape());
  flows.run(50 * kMs);
  const Steady now = steady(&flows, 4, 50 * kMs);
  EXPECT_GE(now.utilisation, 0.98);
  EXPECT_LE(now.mean_latency_ns, 1.3 * goal.mean_latency_ns);
}

TEST(WindowLink, DemandThatComesInBurstsFindsAWindowThatCarriesIt) {
  const LinkShape link{4, 50 * kUs, 0, 0, 1};
  Flows flows(link);
  Flow& flow = flows.add(shape());
  flows.run(100 * kMs);
  double sum = 0;
  for (int i = 0; i < 100; ++i) {
    flow.active = false;
    flows.run(50 * kMs);
    flow.active = true;
    sum += flows.utilisation(kMs, 4);  // the first millisecond, less the way there and back
  }
  EXPECT_GE(sum / 100, 0.85);
}

}  // namespace
}  // namespace tentq::core
