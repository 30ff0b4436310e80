// The formulas of `tentq-bench qos` against values worked out by hand.
#include "tests/bench/qos/figures.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/bench/qos/arrivals.h"
#include "tests/bench/qos/verdicts.h"

namespace tentq::bench::qos {
namespace {

TEST(Jain, IsOneForEqualSharesAndOneInNForAMonopoly) {
  EXPECT_DOUBLE_EQ(jain(std::vector<double>{3, 3, 3, 3}), 1);
  EXPECT_DOUBLE_EQ(jain(std::vector<double>{5, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(jain(std::vector<double>{1, 3}), 0.8);
  EXPECT_DOUBLE_EQ(jain(std::vector<double>{0, 0}), 1);
  EXPECT_DOUBLE_EQ(jain({}), 1);
}

TEST(Jain, WeighsBytesByTheirWeights) {
  const std::vector<double> weights = {1, 2, 4, 8};
  EXPECT_DOUBLE_EQ(jain_weighted(std::vector<double>{10, 20, 40, 80}, weights), 1);
  EXPECT_DOUBLE_EQ(jain_weighted(std::vector<double>{1, 6}, std::vector<double>{1, 2}), 0.8);
}

Measured measured(std::vector<double> observed_us, double total_bytes, double seconds) {
  Measured side;
  side.observed_us = std::move(observed_us);
  side.total_bytes = total_bytes;
  side.seconds = seconds;
  return side;
}

TEST(Figures, CompareWithTheForegroundAloneAndWithDirect) {
  const Measured alone = measured({100, 100, 100, 200}, 1e8, 1);
  const Measured direct = measured({900, 1000, 1100, 2200}, 5e8, 1);
  Measured side = measured({150, 300, 390, 600}, 9.8e8, 2);
  side.foreground_bytes = 2e8;
  side.flood_bytes = {1, 3};
  const Figures figures = figures_of(side, 5e8, &alone, &direct);
  EXPECT_DOUBLE_EQ(figures.p50_us, 300);
  EXPECT_DOUBLE_EQ(figures.p99_us, 600);
  EXPECT_DOUBLE_EQ(figures.total_gb_per_s, 0.49);
  EXPECT_DOUBLE_EQ(figures.utilisation, 0.98);
  EXPECT_DOUBLE_EQ(*figures.utilisation_vs_direct, 0.98);
  EXPECT_DOUBLE_EQ(*figures.slowdown_p99, 3);
  EXPECT_DOUBLE_EQ(*figures.slo_attainment, 0.75);                     // within 400 µs
  EXPECT_DOUBLE_EQ(*figures.goodput_gb_per_s, (7.8e8 + 1.5e8) / 2e9);  // 3/4 of its bytes
  EXPECT_DOUBLE_EQ(*figures.isolation_leakage, 0.2);                   // 400 of 2,000 µs
  EXPECT_DOUBLE_EQ(figures.jain, 0.8);
}

TEST(Figures, LeaveOutWhatWasNotRun) {
  const Measured side = measured({10, 20}, 1e8, 1);
  const Figures figures = figures_of(side, 5e8, nullptr, nullptr);
  EXPECT_FALSE(figures.slowdown_p99.has_value());
  EXPECT_FALSE(figures.utilisation_vs_direct.has_value());
  EXPECT_FALSE(figures.isolation_leakage.has_value());
  const Figures beside_alone = figures_of(side, 5e8, &side, nullptr);
  EXPECT_DOUBLE_EQ(*beside_alone.slowdown_p99, 1);
  EXPECT_FALSE(beside_alone.isolation_leakage.has_value());
  // Nothing to divide by: the foreground alone was as slow as beside the flood.
  EXPECT_FALSE(figures_of(side, 5e8, &side, &side).isolation_leakage.has_value());
}

TEST(DelayBound, IsWhatIsInFlightAChunkAndItself) {
  EXPECT_DOUBLE_EQ(delay_bound_us(4e6, 1e6, 5e4, 500e6), 10'100);
}

TEST(Arrivals, ComeEvenlyFromTheirPhaseOn) {
  Arrivals arrivals(Spacing::fixed, 1000, 0.25, 1);
  EXPECT_EQ(arrivals.next(), 250);
  EXPECT_EQ(arrivals.next(), 1250);
  EXPECT_EQ(arrivals.next(), 2250);
}

TEST(Arrivals, AreAPoissonProcessThatRepeatsWithItsSeed) {
  constexpr int kCount = 100'000;
  constexpr double kMean = 1000;
  Arrivals arrivals(Spacing::poisson, kMean, 0, 7);
  Arrivals again(Spacing::poisson, kMean, 0, 7);
  Arrivals other(Spacing::poisson, kMean, 0, 8);
  std::int64_t last = 0;
  int long_gaps = 0;
  int different = 0;
  for (int i = 0; i < kCount; ++i) {
    const std::int64_t at = arrivals.next();
    ASSERT_GE(at, last);
    if (static_cast<double>(at - last) > kMean) ++long_gaps;
    ASSERT_EQ(again.next(), at);
    different += other.next() != at ? 1 : 0;
    last = at;
  }
  EXPECT_NEAR(static_cast<double>(last) / kCount, kMean, kMean * 0.02);
  EXPECT_NEAR(static_cast<double>(long_gaps) / kCount, 0.3679, 0.01);  // 1/e
  EXPECT_GT(different, kCount / 2);
}

TEST(QosVerdicts, PassOnlyWhatWasMeasuredAndReachesItsGoal) {
  Verdicts verdicts;
  verdicts.at_most("latency", 2.0, 2.0);
  verdicts.at_least("throughput", 0.99, 0.98);
  EXPECT_TRUE(verdicts.pass());
  verdicts.at_least("shares", std::nullopt, 0.99, "needs root");
  EXPECT_FALSE(verdicts.all().back().pass());
  EXPECT_TRUE(verdicts.pass()) << "what was not measured judges nothing";
  verdicts.at_most("late", 2.01, 2.0);
  EXPECT_FALSE(verdicts.all().back().pass());
  EXPECT_FALSE(verdicts.pass());
  EXPECT_EQ(to_string(verdicts.all()[0].goal), "<= 2");
  EXPECT_EQ(to_string(verdicts.all()[1].goal), ">= 0.98");
}

}  // namespace
}  // namespace tentq::bench::qos
