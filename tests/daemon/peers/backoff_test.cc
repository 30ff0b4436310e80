// Pauses between attempts, and numbers that are used once.
#include "daemon/peers/backoff.h"

#include <gtest/gtest.h>

#include <set>

#include "daemon/peers/number_window.h"

namespace tentq {
namespace {

TEST(Backoff, DoublesUpToItsMostAndJitters) {
  Backoff one(1), other(2);
  Duration most = Backoff::kFirst;
  bool differs = false;
  for (int i = 0; i < 20; ++i) {
    const Duration a = one.next(), b = other.next();
    for (const Duration pause : {a, b}) {
      EXPECT_GE(pause, most / 2) << i;
      EXPECT_LE(pause, most) << i;
    }
    differs = differs || a != b;
    most = std::min(2 * most, Backoff::kMost);
  }
  EXPECT_TRUE(differs);
  EXPECT_EQ(most, Backoff::kMost);
  one.reset();
  EXPECT_LE(one.next(), Backoff::kFirst);
  one.slow();
  EXPECT_GE(one.next(), Backoff::kMost / 2);
}

TEST(NumberWindow, LetsEachNumberThroughOnce) {
  NumberWindow window;
  EXPECT_FALSE(window.take(0));
  EXPECT_TRUE(window.take(2));
  EXPECT_TRUE(window.take(1));
  EXPECT_FALSE(window.take(1));
  EXPECT_FALSE(window.take(2));
  EXPECT_FALSE(window.take(0));
}

TEST(NumberWindow, ForgetsNothingAtItsEdges) {
  NumberWindow window;
  EXPECT_TRUE(window.take(100));
  EXPECT_TRUE(window.take(100 - NumberWindow::kWidth + 1));
  EXPECT_FALSE(window.take(100 - NumberWindow::kWidth));  // cannot be told: as used
  EXPECT_TRUE(window.take(100 + NumberWindow::kWidth - 1));
  EXPECT_FALSE(window.take(100));
  EXPECT_TRUE(window.take(~std::uint64_t{0}));
  EXPECT_FALSE(window.take(~std::uint64_t{0}));
  EXPECT_FALSE(window.take(163));
}

TEST(NumberWindow, AgreesWithASet) {
  std::mt19937_64 random(7);
  NumberWindow window;
  std::set<std::uint64_t> used;
  std::uint64_t highest = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t number = highest + 40 - std::min(highest + 40, random() % 130);
    const bool fresh = number != 0 && used.count(number) == 0 &&
                       (number > highest || highest - number < NumberWindow::kWidth);
    ASSERT_EQ(window.take(number), fresh) << number;
    if (fresh) used.insert(number);
    highest = std::max(highest, fresh ? number : 0);
  }
}

}  // namespace
}  // namespace tentq
