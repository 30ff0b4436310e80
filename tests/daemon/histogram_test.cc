// Histograms: every duration in the bucket whose bounds hold it, and what is read from them beside
// sorted samples.
#include "daemon/metrics/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "daemon/metrics/latencies.h"

namespace tentq {
namespace {

constexpr std::size_t kLast = Histogram::kBuckets - 1;

TEST(HistogramBuckets, HoldExactlyWhatIsAboveTheBoundBeforeUpToTheirOwn) {
  std::uint64_t before = 0;
  EXPECT_EQ(Histogram::bucket_of(0), 0u);
  for (std::size_t bucket = 0; bucket < kLast; ++bucket) {
    const std::uint64_t bound = Histogram::bound_ns(bucket);
    ASSERT_GT(bound, before);
    EXPECT_EQ(Histogram::bucket_of(before + 1), bucket) << bound;
    EXPECT_EQ(Histogram::bucket_of(bound), bucket) << bound;
    EXPECT_EQ(Histogram::bucket_of(bound + 1), bucket + 1) << bound;
    before = bound;
  }
  EXPECT_EQ(before, std::uint64_t{1} << Histogram::kLastPower);
  EXPECT_EQ(Histogram::bucket_of(~std::uint64_t{0}), kLast);
}

TEST(HistogramBuckets, AreAtMostAQuarterWideAndMeetEveryPowerOfTwo) {
  EXPECT_EQ(Histogram::bound_ns(0), 1'024u);
  for (std::size_t bucket = 1; bucket < kLast; ++bucket) {
    const std::uint64_t from = Histogram::bound_ns(bucket - 1);
    EXPECT_LE(4 * (Histogram::bound_ns(bucket) - from), from);
    EXPECT_EQ(std::has_single_bit(from), (bucket - 1) % Histogram::kSteps == 0) << from;
  }
}

TEST(Histogram, OfNothingIsEmpty) {
  const Histogram histogram;
  EXPECT_EQ(histogram.total(), 0u);
  EXPECT_EQ(histogram.sum_ns(), 0u);
  EXPECT_EQ(histogram.quantile_ns(990), 0u);
  for (const std::uint64_t count : histogram.cumulative()) EXPECT_EQ(count, 0u);
}

TEST(Histogram, ShowsTheLastBoundForWhatIsLonger) {
  Histogram histogram;
  histogram.record(std::uint64_t{1} << 50);
  EXPECT_EQ(histogram.total(), 1u);
  EXPECT_EQ(histogram.cumulative().back(), 0u);
  EXPECT_EQ(histogram.quantile_ns(500), std::uint64_t{1} << Histogram::kLastPower);
}

TEST(Histogram, AgreesWithSortedSamples) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 50; ++round) {
    Histogram histogram;
    std::vector<std::uint64_t> samples(1 + random() % 3'000);
    // Evenly over the powers of two, and some of them on a bound.
    std::uniform_real_distribution<double> power(0, Histogram::kLastPower);
    for (std::uint64_t& sample : samples) {
      sample = static_cast<std::uint64_t>(std::exp2(power(random)));
      if (random() % 8 == 0) sample = Histogram::bound_ns(Histogram::bucket_of(sample));
      histogram.record(sample);
    }
    std::sort(samples.begin(), samples.end());
    EXPECT_EQ(histogram.total(), samples.size());
    std::uint64_t sum = 0;
    for (const std::uint64_t sample : samples) sum += sample;
    EXPECT_EQ(histogram.sum_ns(), sum);
    const auto cumulative = histogram.cumulative();
    for (std::size_t i = 0; i < cumulative.size(); ++i) {
      const std::uint64_t bound = std::uint64_t{1} << (Histogram::kFirstPower + i);
      const auto end = std::upper_bound(samples.begin(), samples.end(), bound);
      EXPECT_EQ(cumulative[i], static_cast<std::uint64_t>(end - samples.begin())) << bound;
    }
    for (const std::uint32_t per_mille : {0u, 1u, 10u, 500u, 900u, 990u, 999u, 1'000u}) {
      const std::size_t rank = std::max<std::size_t>(1, (samples.size() * per_mille + 999) / 1'000);
      const std::uint64_t exact = samples[rank - 1];
      const std::uint64_t shown = histogram.quantile_ns(per_mille);
      EXPECT_GE(shown, exact) << per_mille;
      EXPECT_LE(shown, std::max<std::uint64_t>(1'024, exact + exact / 4 + 1)) << per_mille;
    }
  }
}

TEST(Latencies, SplitALifeAtTheFirstDispatchByClass) {
  Latencies latencies;
  latencies.ended(ClassId::foreground, time_from_ns(1'000), time_from_ns(6'000),
                  time_from_ns(26'000));
  latencies.ended(ClassId::background, time_from_ns(1'000), time_from_ns(1'000),
                  time_from_ns(1'500));
  const ClassLatencies& foreground = latencies.of(ClassId::foreground);
  EXPECT_EQ(foreground.wait.total(), 1u);
  EXPECT_EQ(foreground.wait.sum_ns(), 5'000u);
  EXPECT_EQ(foreground.transport.total(), 1u);
  EXPECT_EQ(foreground.transport.sum_ns(), 20'000u);
  EXPECT_EQ(latencies.of(ClassId::background).wait.sum_ns(), 0u);
  EXPECT_EQ(latencies.of(ClassId::background).transport.sum_ns(), 500u);
  EXPECT_EQ(latencies.of(ClassId::standard).wait.total(), 0u);
}

TEST(Latencies, OfAnOwnerThatWasNeverDispatchedAreAWaitAlone) {
  Latencies latencies;
  latencies.ended(ClassId::prefetch, time_from_ns(1'000), Time{}, time_from_ns(9'000));
  EXPECT_EQ(latencies.of(ClassId::prefetch).wait.total(), 1u);
  EXPECT_EQ(latencies.of(ClassId::prefetch).wait.sum_ns(), 8'000u);
  EXPECT_EQ(latencies.of(ClassId::prefetch).transport.total(), 0u);
}

}  // namespace
}  // namespace tentq
