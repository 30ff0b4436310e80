// The limit measured for the bandwidth benchmark.
#include "tests/bench/copy_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "transports/shm/copy_routines.h"

namespace tentq::bench {
namespace {

TEST(CopyLimit, LeavesTheDestinationEqualToTheSourceAndNamesARoutine) {
  constexpr std::uint64_t kSize = 70'000;
  std::vector<std::byte> source(3 * kSize), destination(3 * kSize);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7);
  const CopyLimit limit = measure_copy_limit(destination.data(), source.data(), kSize, 3, 4);
  EXPECT_EQ(source, destination);
  EXPECT_GT(limit.gb_per_s, 0);
  EXPECT_TRUE(std::any_of(kCopyRoutines.begin(), kCopyRoutines.end(), [&](CopyRoutine routine) {
    return runs_here(routine) && name_of(routine) == limit.best_routine;
  })) << limit.best_routine;
  EXPECT_GT(copy_limit_bytes_per_second(destination.data(), source.data(), kSize, 3, 0), 0);
}

}  // namespace
}  // namespace tentq::bench
