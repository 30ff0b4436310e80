// Every copy routine at every size and alignment that its loops tell apart.
#include "transports/shm/copy_routines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "tests/transports/rig.h"

namespace tentq::test {
namespace {

class CopyRoutines : public testing::TestWithParam<CopyRoutine> {
 protected:
  void SetUp() override {
    if (!runs_here(GetParam())) GTEST_SKIP() << "this processor lacks " << name_of(GetParam());
  }
};

std::string test_name(const testing::TestParamInfo<CopyRoutine>& tested) {
  std::string name(name_of(tested.param));
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, CopyRoutines, testing::ValuesIn(kCopyRoutines), test_name);

constexpr std::size_t kMargin = 128;

// Copies into a field of 0xee and compares target and margins.
testing::AssertionResult copies(CopyRoutine routine, std::vector<std::byte>& field,
                                const std::vector<std::byte>& source, std::size_t to,
                                std::size_t from, std::size_t length) {
  std::byte* target = field.data() + kMargin + to;
  std::memset(target - kMargin, 0xee, length + 2 * kMargin);
  copy_bytes(routine, target, source.data() + from, length);
  static const std::vector<std::byte> margin(kMargin, std::byte{0xee});
  if (std::memcmp(target, source.data() + from, length) != 0) {
    return testing::AssertionFailure()
           << "wrong bytes: " << length << " from +" << from << " to +" << to;
  }
  if (std::memcmp(target - kMargin, margin.data(), kMargin) != 0 ||
      std::memcmp(target + length, margin.data(), kMargin) != 0) {
    return testing::AssertionFailure()
           << "wrote outside: " << length << " from +" << from << " to +" << to;
  }
  return testing::AssertionSuccess();
}

TEST_P(CopyRoutines, EverySizeTo4200AtAlignmentsTo64) {
  std::vector<std::byte> source(4400), field(4800);
  fill_pattern(source, 11);
  for (std::size_t length = 0; length <= 4200; ++length) {
    // Every alignment where heads and tails meet, every fifth beyond.
    const std::size_t step = length <= 1100 ? 1 : 5;
    for (std::size_t to = length % step; to <= 64; to += step) {
      const std::size_t from = (length * 7 + to * 29) % 65;
      ASSERT_TRUE(copies(GetParam(), field, source, to, from, length));
    }
  }
}

TEST_P(CopyRoutines, LongCopiesAtAwkwardDistances) {
  std::vector<std::byte> source(1'100'000), field(1'100'000);
  fill_pattern(source, 12);
  for (const std::size_t length : {65'536ul, 65'537ul, 131'071ul, 1'048'576ul, 1'048'703ul}) {
    for (const std::size_t to : {0u, 1u, 33u, 64u, 4101u}) {
      ASSERT_TRUE(copies(GetParam(), field, source, to, 64 - to % 64, length));
    }
  }
}

// A heap block of the exact size: AddressSanitizer sees any read or write outside.
TEST_P(CopyRoutines, TouchNothingOutsideTheRanges) {
  for (std::size_t length = 0; length <= 1200; ++length) {
    const std::vector<std::byte> source(length, std::byte{7});
    std::vector<std::byte> target(length);
    copy_bytes(GetParam(), target.data(), source.data(), length);
    ASSERT_EQ(source, target);
  }
}

TEST(CopyRoutineNames, AreDistinct) {
  std::set<std::string_view> names;
  for (const CopyRoutine routine : kCopyRoutines) names.insert(name_of(routine));
  EXPECT_EQ(names.size(), kCopyRoutines.size());
  EXPECT_TRUE(runs_here(cached_routine()));
  EXPECT_TRUE(runs_here(streamed_routine()));
  EXPECT_TRUE(runs_here(CopyRoutine::libc));
}

}  // namespace
}  // namespace tentq::test
