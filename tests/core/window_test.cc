// The rules of a window, each at its edges. Chunks of 64 KiB come back every 10 µs; the delay
// that is aimed at is one of them.
#include "daemon/core/window.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace tentq::core {
namespace {

using std::chrono::microseconds;

constexpr std::uint64_t kS = 64u << 10;
constexpr std::int64_t kUs = 1000;
constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kGap = 10 * kUs;
constexpr std::int64_t kBase = 100 * kUs;
constexpr std::uint64_t kCeiling = 1000 * kS;

WindowShape adaptive(std::uint64_t ceiling = kCeiling, std::uint64_t least = 0) {
  return {ceiling, kS, {true, microseconds{100}, least}};
}

class WindowTest : public ::testing::Test {
 protected:
  explicit WindowTest(const WindowShape& shape = adaptive()) { window.start(shape, now); }

  // A period of which the first chunk was alone: the base and the rate are known, and the window
  // is at its floor.
  void learn() {
    one(kBase, 0);
    period(kBase);
    ASSERT_NEAR(window.rate_bytes_per_s(), kS * 1e5, kS * 1e3);
    ASSERT_EQ(window.base_ns(), kBase);
    ASSERT_EQ(window.bytes(), window.floor_bytes());
  }
  ChunkMark hand_over(std::int64_t at, std::uint64_t others) {
    return window.hand_over(kS, others, at);
  }
  // A chunk comes back 10 µs after the one before; `others` were in flight when it went.
  void one(std::int64_t latency, std::uint64_t others, std::int64_t elsewhere = 0) {
    now += gap;
    const ChunkMark mark = hand_over(now - latency, others);
    window.sample(mark, kS, elsewhere, now);
    window.check();
  }
  // So many periods of eight chunks, of a lane that has become much slower.
  void slow_periods(int count, std::int64_t latency) {
    gap = 125 * kUs;
    for (int i = 0; i < 8 * count; ++i) one(latency, std::max(full(), kS));
    gap = kGap;
  }
  // All chunks of a period, `others` with each, and the small one that closes it: it belongs to
  // the next period, and to another size than the one that speaks for the lane.
  void period_with(std::uint64_t others, std::int64_t latency) {
    for (int i = 0; i < 99; ++i) one(latency, others);
    now += kGap;
    const ChunkMark mark = window.hand_over(1, others, now - kUs);
    window.sample(mark, 1, 0, now);
    window.check();
  }
  void period(std::int64_t latency) { period_with(full(), latency); }
  void periods(int count, std::int64_t latency) {
    for (int i = 0; i < count; ++i) period(latency);
  }
  std::uint64_t full() const { return window.bytes() - std::min(window.bytes(), kS); }
  void grow_to(std::uint64_t bytes) {
    while (window.bytes() < bytes) period(kBase);
  }
  // Above the base.
  std::int64_t target() const { return window.target_ns() - window.base_ns(); }

  LaneWindow window;
  std::int64_t now = 5 * kMs;
  std::int64_t gap = kGap;
};

TEST_F(WindowTest, AFixedWindowStaysWhateverHappens) {
  window.start({8 * kS, kS, {false, microseconds{100}, 0}}, now);
  one(kBase, 0);
  periods(20, 50 * kBase);
  window.press(PressureKind::timeout, 0, now);
  window.press(PressureKind::recommended, kS, now);
  EXPECT_EQ(window.bytes(), 8 * kS);
  EXPECT_EQ(window.chunk_bytes(), kS);
  // What was measured is shown all the same.
  EXPECT_NEAR(window.rate_bytes_per_s(), kS * 1e5, kS * 1e3);
  EXPECT_EQ(window.base_ns(), kBase);
}

TEST_F(WindowTest, StartsWithAFewChunksWithinItsCeiling) {
  EXPECT_EQ(window.bytes(), 8 * kS);
  EXPECT_EQ(window.base_ns(), 0);
  EXPECT_EQ(window.target_ns(), 0);
  window.start(adaptive(3 * kS), now);
  EXPECT_EQ(window.bytes(), 3 * kS);
  window.start(adaptive(kS - 1), now);  // smaller than a chunk
  EXPECT_EQ(window.bytes(), kS - 1);
  window.check();
}

TEST_F(WindowTest, TheFloorIsRateTimesBaseAndTwoChunks) {
  learn();
  EXPECT_NEAR(static_cast<double>(window.floor_bytes()),
              window.rate_bytes_per_s() * 1e-9 * kBase + 2 * kS, 1);
  EXPECT_NEAR(static_cast<double>(target()), 1.0 * kS / (window.rate_bytes_per_s() * 1e-9), 1);
}

TEST_F(WindowTest, JitterRaisesTheTargetUpToWhatIsConfigured) {
  window.start({kCeiling, kS, {true, microseconds{20}, 0}}, now);
  learn();
  for (int i = 0; i < 5000; ++i) one(kBase + i % 4 * 40 * kUs, full());  // 60 µs on average
  EXPECT_EQ(target(), 20 * kUs);
  window.start({kCeiling, kS, {true, microseconds{500}, 0}}, now);
  learn();
  for (int i = 0; i < 5000; ++i) one(kBase + i % 4 * 40 * kUs, full());
  EXPECT_NEAR(static_cast<double>(target()), 60 * kUs, 2 * kUs);
  // But one chunk may always wait.
  window.start({kCeiling, kS, {true, microseconds{1}, 0}}, now);
  learn();
  EXPECT_NEAR(static_cast<double>(target()), 1.0 * kS / (window.rate_bytes_per_s() * 1e-9), 1);
}

TEST_F(WindowTest, GrowsByAChunkWhenUnderTargetAndFull) {
  learn();
  grow_to(20 * kS);
  const std::uint64_t before = window.bytes();
  period(kBase + target() / 2);
  EXPECT_EQ(window.bytes(), before + kS);
}

TEST_F(WindowTest, GrowsByAnEighthWhileChunksHardlyWait) {
  learn();
  grow_to(20 * kS);
  const std::uint64_t before = window.bytes();
  period(kBase + target() / 5);
  EXPECT_EQ(window.bytes(), before + before / 8);
}

TEST_F(WindowTest, GrowsWhenHalfUsedAndNotWhenLess) {
  learn();
  grow_to(20 * kS);
  const std::uint64_t before = window.bytes();
  periods(1, kBase + target() + kUs);  // ends the period in which it was full
  const std::uint64_t half = window.bytes() / 2;
  ASSERT_LT(window.bytes(), before);
  period_with(half - kS - 1, kBase);
  const std::uint64_t same = window.bytes();
  period_with(half - kS - 1, kBase);
  EXPECT_EQ(window.bytes(), same);
  period_with(half - kS, kBase);
  EXPECT_GT(window.bytes(), same);
}

TEST_F(WindowTest, ShrinksByItsOvershoot) {
  learn();
  grow_to(60 * kS);
  const double before = static_cast<double>(window.bytes());
  const std::int64_t excess = 60 * kUs;
  const double overshoot =
      static_cast<double>(excess - target()) / static_cast<double>(kBase + excess);
  period(kBase + excess);
  EXPECT_NEAR(static_cast<double>(window.bytes()), before * (1 - 0.8 * overshoot), 1e-3 * before);
}

TEST_F(WindowTest, ShrinksToNoLessThanHalfAtOnce) {
  learn();
  grow_to(60 * kS);
  const std::uint64_t before = window.bytes();
  period(100 * kBase);
  EXPECT_EQ(window.bytes(), before / 2);
}

TEST_F(WindowTest, AtTheTargetItGrowsAndAboveItShrinks) {
  learn();
  grow_to(60 * kS);
  const std::uint64_t before = window.bytes();
  period(kBase + target());
  EXPECT_EQ(window.bytes(), before + kS);
  period(kBase + target() + 2);
  EXPECT_LT(window.bytes(), before + kS);
}

TEST_F(WindowTest, SamplesFromBeforeACutDoNotCountAgain) {
  learn();
  grow_to(60 * kS);
  std::vector<ChunkMark> old;
  for (int i = 0; i < 300; ++i) old.push_back(hand_over(now, full()));
  period(20 * kBase);
  const std::uint64_t cut = window.bytes();
  for (const ChunkMark& mark : old) {  // they waited in the window as it was
    now += kGap;
    window.sample(mark, kS, 0, now);
  }
  EXPECT_EQ(window.bytes(), cut);
  periods(2, 20 * kBase);
  EXPECT_LT(window.bytes(), cut);
}

TEST_F(WindowTest, NeverGoesBelowTheFloorOrAboveTheCeiling) {
  learn();
  periods(7, 3 * kBase);
  EXPECT_EQ(window.bytes(), window.floor_bytes());
  window.reshape(adaptive(20 * kS));
  periods(30, kBase);
  EXPECT_EQ(window.bytes(), 20 * kS);
  window.reshape(adaptive(5 * kS));  // below the floor: the ceiling wins
  EXPECT_EQ(window.bytes(), 5 * kS);
  periods(3, kBase);
  EXPECT_EQ(window.bytes(), 5 * kS);
  window.reshape(adaptive(kCeiling, 40 * kS));  // a configured floor
  periods(2, 3 * kBase);
  EXPECT_EQ(window.bytes(), 40 * kS);
}

TEST_F(WindowTest, SmallChunksThatPassTheQueueDoNotHideIt) {
  learn();
  grow_to(60 * kS);
  const std::uint64_t before = window.bytes();
  for (int i = 0; i < 99; ++i) {
    one(4 * kBase, full());
    const ChunkMark small = window.hand_over(4096, full(), now);  // done at once
    window.sample(small, 4096, 0, now);
  }
  one(4 * kBase, full());
  EXPECT_EQ(window.bytes(), before / 2);
}

TEST_F(WindowTest, JitterIsNoQueue) {
  learn();
  grow_to(20 * kS);
  // Seven of eight come late by up to ten targets, one does not: that one shows the queue.
  for (int i = 0; i < 2000; ++i) one(kBase + (i % 8 == 0 ? 0 : (i % 7) * 30 * kUs), full());
  EXPECT_GT(window.bytes(), 40 * kS);
}

TEST_F(WindowTest, SaturatedTakesThreeTenthsOnceABase) {
  learn();
  grow_to(100 * kS);
  const std::uint64_t before = window.bytes();
  window.press(PressureKind::saturated, 0, now);
  EXPECT_EQ(window.bytes(), static_cast<std::uint64_t>(0.7 * static_cast<double>(before)));
  const std::uint64_t cut = window.bytes();
  window.press(PressureKind::saturated, 0, now + kMs - 1);
  EXPECT_EQ(window.bytes(), cut);
  window.press(PressureKind::saturated, 0, now + kMs);
  EXPECT_EQ(window.bytes(), static_cast<std::uint64_t>(0.7 * static_cast<double>(cut)));
  for (int i = 2; i < 20; ++i) window.press(PressureKind::saturated, 0, now + i * kMs);
  EXPECT_EQ(window.bytes(), window.floor_bytes());
}

TEST_F(WindowTest, RetryAndTimeoutTakeHalfAndStopGrowthForTenPeriods) {
  for (const PressureKind kind : {PressureKind::retry, PressureKind::timeout}) {
    window.start(adaptive(), now);
    learn();
    grow_to(100 * kS);
    const std::uint64_t before = window.bytes();
    window.press(kind, 0, now);
    const std::uint64_t cut = window.bytes();
    EXPECT_EQ(cut, before / 2);
    periods(10, kBase);
    EXPECT_EQ(window.bytes(), cut);
    period(kBase);
    EXPECT_GT(window.bytes(), cut);
  }
}

TEST_F(WindowTest, WhatWasInFlightAtATimeoutIsNoLatency) {
  learn();
  grow_to(100 * kS);
  std::vector<ChunkMark> tried_twice;
  for (int i = 0; i < 300; ++i) tried_twice.push_back(hand_over(now, full()));
  window.press(PressureKind::timeout, 0, now);
  const std::uint64_t cut = window.bytes();
  now += 50 * kMs;
  for (const ChunkMark& mark : tried_twice) {
    now += kGap;
    window.sample(mark, kS, 0, now);
  }
  EXPECT_EQ(window.bytes(), cut);
}

TEST_F(WindowTest, RecommendedBytesAreACeilingForASecond) {
  learn();
  grow_to(100 * kS);
  window.press(PressureKind::recommended, 30 * kS, now);
  const std::int64_t end = now + LaneWindow::kAdvice_ns;
  EXPECT_EQ(window.bytes(), 30 * kS);
  periods(5, kBase);
  EXPECT_EQ(window.bytes(), 30 * kS);
  window.press(PressureKind::recommended, 0, now);  // no advice at all
  EXPECT_EQ(window.bytes(), 30 * kS);
  now = end - kGap - 1;
  one(kBase, kS);
  EXPECT_EQ(window.bytes(), 30 * kS);
  periods(4, kBase);
  EXPECT_GT(window.bytes(), 30 * kS);
}

TEST_F(WindowTest, RecommendedBytesBelowAChunkAllowOneChunk) {
  learn();
  window.press(PressureKind::recommended, 1, now);
  EXPECT_EQ(window.bytes(), kS);
  window.check();
}

// All lanes look at multiples of 20 ms.
TEST_F(WindowTest, AStaleBaseIsMeasuredAnewWhenTheLaneSlowsDownAtItsFloor) {
  learn();  // until 6 ms
  const std::int64_t longer = 5 * kBase;
  const std::uint64_t floor = window.floor_bytes();
  while (window.bytes() > kS) {
    slow_periods(1, longer);
    ASSERT_LT(now, 42 * kMs);
  }
  EXPECT_GT(now, 20 * kMs - kMs / 4);
  // One chunk at a time: the first is alone, but others may just have begun.
  one(longer, 0);
  EXPECT_EQ(window.bytes(), kS);
  one(longer, 0);
  EXPECT_GT(window.bytes(), kS);
  EXPECT_GE(window.base_ns(), longer);
  for (int i = 0; i < 300; ++i) one(longer, full());
  EXPECT_GE(window.bytes(), 4 * floor);  // rate × the new base + 2S
}

TEST_F(WindowTest, AFullPathIsNoStaleBase) {
  learn();
  // Others fill the path: chunks wait, and as many as before come back.
  while (now < 2000 * kMs) {
    period(5 * kBase);
    ASSERT_GT(window.bytes(), kS);
  }
  EXPECT_EQ(window.bytes(), window.floor_bytes());
}

TEST_F(WindowTest, ABaseThatWasFoundRightIsNotLookedForAgainForLong) {
  learn();
  while (window.bytes() > kS) slow_periods(1, 20 * kBase);
  gap = 125 * kUs;
  for (int i = 0; i < 2; ++i) one(kBase, 0);  // the lane has become slower, the path not longer
  EXPECT_GT(window.bytes(), kS);
  while (now < LaneWindow::kLookAgain_ns - 2 * kMs) {
    slow_periods(1, 20 * kBase);
    ASSERT_GT(window.bytes(), kS);
  }
}

// At multiples of 5 s.
TEST_F(WindowTest, AFullLaneLooksForItsBaseNowAndThen) {
  learn();
  const std::int64_t under = kBase + target() - kUs;
  while (window.bytes() != kS) {
    one(under, full());
    ASSERT_LT(now, BaseLatency::kHalf_ns + kMs);
  }
  EXPECT_GE(now, BaseLatency::kHalf_ns);
  EXPECT_EQ(window.base_ns(), kBase);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(window.bytes(), kS);
    one(kBase - 10 * kUs, 0);
  }
  EXPECT_GT(window.bytes(), kS);
  EXPECT_EQ(window.base_ns(), kBase - 10 * kUs);
}

TEST_F(WindowTest, ALaneThatNeverHasOneChunkAloneStopsLookingForIt) {
  learn();
  const std::int64_t under = kBase + target() - kUs;
  while (window.bytes() != kS) one(under, full());
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(window.bytes(), kS);
    one(under, kS);
  }
  EXPECT_GT(window.bytes(), kS);
}

TEST_F(WindowTest, ALaneThatIsSeldomFullNeedNotLookForItsBase) {
  learn();
  while (now < 3 * BaseLatency::kHalf_ns) {
    one(kBase, 0);
    for (int i = 0; i < 1000; ++i) {
      one(kBase + 10 * kUs, kS);
      ASSERT_NE(window.bytes(), kS);
    }
  }
}

TEST_F(WindowTest, ANewRouteStartsAnew) {
  learn();
  grow_to(100 * kS);
  const ChunkMark old = hand_over(now, full());
  window.start(adaptive(), now);
  EXPECT_EQ(window.bytes(), 8 * kS);
  EXPECT_EQ(window.rate_bytes_per_s(), 0);
  // What was in flight on the old route comes back and says nothing about the new one.
  now += kUs;
  window.sample(old, kS, 0, now);
  EXPECT_EQ(window.base_ns(), 0);
}

TEST_F(WindowTest, OtherBoundsForTheSameRouteKeepWhatWasLearnt) {
  learn();
  grow_to(30 * kS);
  const std::uint64_t before = window.bytes();
  window.reshape(adaptive(2 * kCeiling));
  EXPECT_EQ(window.bytes(), before);
  EXPECT_EQ(window.base_ns(), kBase);
  window.reshape({10 * kS, kS, {false, microseconds{100}, 0}});
  EXPECT_EQ(window.bytes(), 10 * kS);
  window.reshape(adaptive());
  EXPECT_EQ(window.bytes(), 10 * kS);
}

TEST_F(WindowTest, TimeQueuedElsewhereIsNoDelayOfTheLane) {
  learn();
  grow_to(30 * kS);
  const std::uint64_t before = window.bytes();
  for (int i = 0; i < 500; ++i) one(kBase + 40 * kBase, full(), 40 * kBase);
  EXPECT_GT(window.bytes(), before);
}

TEST_F(WindowTest, NonsenseAboutTimeElsewhereIsBounded) {
  learn();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t elsewhere : {kMost, -kMost - 1, std::int64_t{-1}}) {
    one(kBase, full(), elsewhere);
    EXPECT_GE(window.base_ns(), 0);
    EXPECT_LE(window.base_ns(), kBase);
  }
}

TEST_F(WindowTest, AClockThatStandsStillIsNoDivisionByZero) {
  for (int i = 0; i < 1000; ++i) {
    const ChunkMark mark = hand_over(now, full());
    window.sample(mark, kS, 0, now);
    window.check();
  }
  EXPECT_EQ(window.rate_bytes_per_s(), 0);
}

// S follows the rate: a power of two from 64 KiB to 1 MiB that takes about 20 µs.
class ChunkByRateTest : public WindowTest {
 protected:
  ChunkByRateTest() : WindowTest({std::uint64_t{1} << 40, 0, {true, microseconds{100}, 0}}) {}

  // Chunks at that many bytes a nanosecond for 12 periods.
  std::uint64_t after(double rate) {
    for (const std::int64_t end = now + 13 * kMs; now < end;) {
      const std::uint64_t bytes = window.chunk_bytes();
      now += static_cast<std::int64_t>(static_cast<double>(bytes) / rate);
      const ChunkMark mark = window.hand_over(bytes, full(), now - kBase);
      window.sample(mark, bytes, 0, now);
      window.check();
    }
    return window.chunk_bytes();
  }
};

TEST_F(ChunkByRateTest, FollowsTheRateBetweenItsBounds) {
  EXPECT_EQ(window.chunk_bytes(), 64u << 10);
  EXPECT_EQ(after(0.1), 64u << 10);
  EXPECT_EQ(after(6.5), 64u << 10);   // 130,000 bytes: less than twice
  EXPECT_EQ(after(6.6), 128u << 10);  // 132,000
  EXPECT_EQ(after(5.0), 128u << 10);  // 100,000: more than three quarters
  EXPECT_EQ(after(4.8), 64u << 10);
  EXPECT_EQ(after(60.0), 1u << 20);
  EXPECT_EQ(after(300.0), 1u << 20);
  window.reshape({kCeiling, 100'000, {true, microseconds{100}, 0}});  // a fixed one wins
  EXPECT_EQ(after(1.0), 100'000u);
}

TEST_F(WindowTest, SameSamplesSameStateAndEverySampleCounts) {
  LaneWindow other;
  other.start(adaptive(), now);
  LaneWindow first;
  first.start(adaptive(), now);
  std::uint64_t hash = first.hash(0);
  for (int i = 1; i < 5000; ++i) {
    const std::int64_t at = now + i * kGap;
    for (LaneWindow* each : {&first, &other}) {
      const ChunkMark mark = each->hand_over(kS, i % 3 == 0 ? 0 : kS, at - kBase - i % 17 * kUs);
      each->sample(mark, kS, 0, at);
      if (i % 1000 == 0) each->press(PressureKind::saturated, 0, at);
    }
    ASSERT_EQ(first.hash(0), other.hash(0));
    ASSERT_NE(first.hash(0), hash);
    hash = first.hash(0);
  }
}

}  // namespace
}  // namespace tentq::core
