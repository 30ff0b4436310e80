// Medians, percentiles and the bootstrap, against values worked out by hand.
#include "tests/bench/statistics.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tentq::bench {
namespace {

TEST(Median, IsTheMiddleOrTheMeanOfBothMiddles) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median(std::vector<double>{7}), 7);
  EXPECT_EQ(median(std::vector<double>{9, 1, 5}), 5);
  EXPECT_EQ(median(std::vector<double>{4, 1, 3, 2}), 2.5);
}

TEST(Percentile, IsTheNearestRank) {
  std::vector<double> hundred(100);
  std::iota(hundred.rbegin(), hundred.rend(), 1.0);  // 100 … 1: it has to sort
  EXPECT_EQ(percentile(hundred, 0.5), 50);
  EXPECT_EQ(percentile(hundred, 0.99), 99);
  EXPECT_EQ(percentile(hundred, 0.999), 100);
  EXPECT_EQ(percentile(hundred, 1.0), 100);
  EXPECT_EQ(percentile(hundred, 0.001), 1);
  EXPECT_EQ(percentile(std::vector<double>{3}, 0.5), 3);
  EXPECT_EQ(percentile({}, 0.5), 0);
}

TEST(Bootstrap, HoldsTheMedianAndRepeatsWithItsSeed) {
  const std::vector<double> values = {1.0, 1.1, 0.9, 1.2, 0.8, 1.05, 0.95, 1.02, 0.98};
  const Interval interval = bootstrap_median(values, 0.9, 7);
  EXPECT_LE(interval.low, 1.0);
  EXPECT_GE(interval.high, 1.0);
  EXPECT_GE(interval.low, 0.8);
  EXPECT_LE(interval.high, 1.2);
  const Interval again = bootstrap_median(values, 0.9, 7);
  EXPECT_EQ(interval.low, again.low);
  EXPECT_EQ(interval.high, again.high);
}

TEST(Bootstrap, IsAPointForEqualValuesAndWiderForMoreConfidence) {
  const std::vector<double> equal(9, 2.5);
  EXPECT_EQ(bootstrap_median(equal, 0.9, 1).low, 2.5);
  EXPECT_EQ(bootstrap_median(equal, 0.9, 1).high, 2.5);
  std::vector<double> spread(21);
  std::iota(spread.begin(), spread.end(), 0.0);
  const Interval narrow = bootstrap_median(spread, 0.5, 1);
  const Interval wide = bootstrap_median(spread, 0.99, 1);
  EXPECT_LT(wide.low, narrow.low);
  EXPECT_GT(wide.high, narrow.high);
}

TEST(Random, StaysBelowItsBoundAndReachesAllOfIt) {
  Random random(3);
  std::vector<int> seen(10);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = random.below(10);
    ASSERT_LT(value, 10u);
    ++seen[value];
  }
  for (const int count : seen) EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace tentq::bench
