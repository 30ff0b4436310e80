// The exact LRU, against a naive one and by hand.
#include "tests/bench/replay/lru.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/bench/statistics.h"

namespace tentq::bench {
namespace {

TEST(LruModel, DropsTheLeastRecentlyUsed) {
  LruModel lru(2);
  EXPECT_FALSE(lru.access(1));
  EXPECT_FALSE(lru.access(2));
  EXPECT_TRUE(lru.access(1));
  EXPECT_FALSE(lru.access(3));  // 2 leaves
  EXPECT_TRUE(lru.access(1));
  EXPECT_FALSE(lru.access(2));  // 3 leaves
  EXPECT_FALSE(lru.access(3));
}

TEST(LruModel, HoldsNothingInNoRoom) {
  LruModel lru(0);
  EXPECT_FALSE(lru.access(1));
  EXPECT_FALSE(lru.access(1));
}

TEST(LruModel, AgreesWithANaiveOne) {
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  LruModel lru(20);
  std::vector<std::uint64_t> naive;  // most recent last
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t block = random.below(40);
    const auto found = std::find(naive.begin(), naive.end(), block);
    ASSERT_EQ(lru.access(block), found != naive.end());
    if (found != naive.end()) naive.erase(found);
    naive.push_back(block);
    if (naive.size() > 20) naive.erase(naive.begin());
  }
}

TEST(ExactLru, CountsEveryBlockOfEveryRequest) {
  const std::vector<TraceRequest> trace = {{0, {1, 2, 3}}, {1, {1, 2, 4}}, {2, {3}}};
  EXPECT_EQ(exact_lru(trace, 10).hits, 3u);
  EXPECT_EQ(exact_lru(trace, 10).misses, 4u);
  EXPECT_EQ(exact_lru(trace, 3).hits, 2u);  // 4 displaced 3
}

}  // namespace
}  // namespace tentq::bench
