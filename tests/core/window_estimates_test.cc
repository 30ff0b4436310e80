// What a window is made from: the base latency per size, and the rate.
#include <gtest/gtest.h>

#include "daemon/core/base_latency.h"
#include "daemon/core/lane_rate.h"

namespace tentq::core {
namespace {

constexpr std::int64_t kUs = 1000;
constexpr std::int64_t kMs = 1'000'000;
constexpr std::uint64_t kKi = 1024;

TEST(BaseLatency, BinsEndAtPowersOfTwo) {
  EXPECT_EQ(BaseLatency::bin_of(1), 0u);
  EXPECT_EQ(BaseLatency::bin_of(4 * kKi), 0u);
  EXPECT_EQ(BaseLatency::bin_of(4 * kKi + 1), 1u);
  EXPECT_EQ(BaseLatency::bin_of(64 * kKi), 4u);
  EXPECT_EQ(BaseLatency::bin_of(64 * kKi + 1), 5u);
  EXPECT_EQ(BaseLatency::bin_of(std::uint64_t{1} << 60), BaseLatency::kBins - 1);
  for (std::uint32_t bin = 0; bin < BaseLatency::kBins; ++bin) {
    EXPECT_EQ(BaseLatency::bin_of(BaseLatency::largest_of(bin)), bin);
  }
}

TEST(BaseLatency, ASmallerChunkIsTakenAsIfItWereTheLargestOfItsBin) {
  // 48 KiB in the bin of 64 KiB: 16 KiB more at 1 byte a nanosecond.
  EXPECT_EQ(BaseLatency::normal(4, 48 * kKi, 50 * kUs, 1.0), 50 * kUs + 16 * 1024);
  EXPECT_EQ(BaseLatency::normal(4, 64 * kKi, 50 * kUs, 1.0), 50 * kUs);
  EXPECT_EQ(BaseLatency::normal(4, 48 * kKi, 50 * kUs, 0.0), 50 * kUs);
  // Longer than the last bin.
  EXPECT_EQ(BaseLatency::normal(BaseLatency::kBins - 1, std::uint64_t{1} << 60, 7, 1.0), 7);
}

TEST(BaseLatency, IsTheLeastAndNeverLessThanTheBytesTake) {
  BaseLatency base;
  EXPECT_EQ(base.of(4, 1.0), 0);
  base.add(4, 90 * kUs, true);
  base.add(4, 80 * kUs, false);
  base.add(4, 85 * kUs, true);
  EXPECT_EQ(base.of(4, 1.0), 80 * kUs);
  EXPECT_EQ(base.of(4, 0.5), 2 * 64 * 1024);
}

TEST(BaseLatency, AnUnknownSizeIsTakenFromTheNearestKnownOne) {
  BaseLatency base;
  base.add(4, 64 * 1024 + 30 * kUs, true);  // b0 = 30 µs at 1 byte a nanosecond
  EXPECT_EQ(base.of(6, 1.0), 256 * 1024 + 30 * kUs);
  EXPECT_EQ(base.of(0, 1.0), 4 * 1024 + 30 * kUs);
  // Seen, but never alone: what is known of the other sizes counts if it is less.
  base.add(6, 900 * kUs, false);
  EXPECT_EQ(base.of(6, 1.0), 256 * 1024 + 30 * kUs);
  base.add(6, 270 * kUs, false);
  EXPECT_EQ(base.of(6, 1.0), 270 * kUs);
  base.add(6, 900 * kUs, true);
  EXPECT_EQ(base.of(6, 1.0), 270 * kUs);
}

TEST(BaseLatency, ForgetsAfterTwoHalvesButKeepsWhatNothingReplaced) {
  BaseLatency base;
  base.reset(0);
  EXPECT_FALSE(base.is_half_over(BaseLatency::kHalf_ns - 1));
  EXPECT_TRUE(base.is_half_over(BaseLatency::kHalf_ns));
  base.add(4, 10 * kUs, true);
  base.add(5, 20 * kUs, true);
  EXPECT_TRUE(base.is_sure(4));
  base.rotate(BaseLatency::kHalf_ns);
  EXPECT_FALSE(base.is_sure(4));
  base.add(4, 50 * kUs, true);
  EXPECT_EQ(base.of(4, 0), 10 * kUs);
  base.rotate(2 * BaseLatency::kHalf_ns);
  EXPECT_EQ(base.of(4, 0), 50 * kUs);
  EXPECT_EQ(base.of(5, 0), 20 * kUs);
}

TEST(BaseLatency, AReplacedBaseForgetsEverythingElse) {
  BaseLatency base;
  base.add(4, 10 * kUs, true);
  base.add(5, 10 * kUs, true);
  base.replace(4, 300 * kUs, 0);
  EXPECT_EQ(base.of(4, 0), 300 * kUs);
  EXPECT_EQ(base.measured(5), BaseLatency::kUnknown);
}

class LaneRateTest : public ::testing::Test {
 protected:
  LaneRateTest() { rate.reset(now); }

  // A period of that many bytes a nanosecond.
  void period(double bytes_per_ns, bool was_limit = true) {
    for (int i = 0; i < 10; ++i) {
      now += kMs / 10;
      rate.count(now, static_cast<std::uint64_t>(bytes_per_ns * kMs / 10));
    }
    ASSERT_TRUE(rate.is_due(now + 1, kMs));
    rate.close(was_limit);
  }

  LaneRate rate;
  std::int64_t now = 7 * kMs;
};

TEST_F(LaneRateTest, APeriodTakesAMillisecondAndEightChunksAndEndsWithALaterOne) {
  for (int i = 0; i < 7; ++i) rate.count(now + kMs, 1000);
  EXPECT_FALSE(rate.is_due(now + 2 * kMs, kMs));
  rate.count(now + kMs, 1000);
  EXPECT_TRUE(rate.is_due(now + 2 * kMs, kMs));
  EXPECT_FALSE(rate.is_due(now + kMs, kMs));          // may belong to the same burst
  EXPECT_FALSE(rate.is_due(now + 2 * kMs, kMs + 1));  // a longer base
  EXPECT_EQ(rate.highest(), 0);
  rate.close(true);
  EXPECT_DOUBLE_EQ(rate.highest(), 8000.0 / kMs);
}

TEST_F(LaneRateTest, IsTheHighestOfTenPeriods) {
  period(5);
  for (int i = 0; i < 9; ++i) period(1);
  EXPECT_DOUBLE_EQ(rate.highest(), 5);
  period(1);
  EXPECT_DOUBLE_EQ(rate.highest(), 1);
}

TEST_F(LaneRateTest, APeriodWithoutDemandOnlyRaisesIt) {
  period(5);
  for (int i = 0; i < 100; ++i) period(1, false);
  EXPECT_DOUBLE_EQ(rate.highest(), 5);
  period(6, false);
  EXPECT_DOUBLE_EQ(rate.highest(), 6);
}

TEST_F(LaneRateTest, IsForgottenAfterASecondWithoutDemand) {
  period(5);
  for (int i = 0; i < 990; ++i) period(1, false);
  EXPECT_DOUBLE_EQ(rate.highest(), 5);
  for (int i = 0; i < 20; ++i) period(1, false);
  EXPECT_DOUBLE_EQ(rate.highest(), 1);
}

TEST_F(LaneRateTest, IdleTimeIsNoSlowness) {
  period(5);
  for (int i = 0; i < 4; ++i) rate.count(now += kMs / 10, 100);
  now += 100 * kMs;
  rate.resume(now);
  period(7);
  EXPECT_DOUBLE_EQ(rate.highest(), 7);
  // A short pause belongs to how the lane is used.
  rate.resume(now += kMs / 2);
  period(9);
  EXPECT_DOUBLE_EQ(rate.highest(), 7);
}

TEST_F(LaneRateTest, ABurstAtOneTimeIsNoSpeed) {
  // Everything comes back every 2 ms at once.
  for (int burst = 0; burst < 20; ++burst) {
    now += 2 * kMs;
    for (int i = 0; i < 20; ++i) {
      if (rate.is_due(now, kMs)) rate.close(true);
      rate.count(now, 100'000);
    }
  }
  EXPECT_DOUBLE_EQ(rate.highest(), 1.0);
}

}  // namespace
}  // namespace tentq::core
