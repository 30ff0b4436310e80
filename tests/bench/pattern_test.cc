// What a pattern must find: another block, another place, another run, one changed byte.
#include "tests/bench/pattern.h"

#include <gtest/gtest.h>

#include <vector>

namespace tentq::bench {
namespace {

class PatternTest : public ::testing::Test {
 protected:
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(words_)); }
  std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>(8192 + 3);
};

TEST_F(PatternTest, MatchesItselfAndNothingElse) {
  const Pattern pattern(1, 42);
  pattern.fill(bytes());
  EXPECT_TRUE(pattern.matches(bytes()));
  EXPECT_FALSE(Pattern(1, 43).matches(bytes()));
  EXPECT_FALSE(Pattern(2, 42).matches(bytes()));
  EXPECT_FALSE(pattern.matches(bytes(), 8));
}

TEST_F(PatternTest, FindsEveryChangedByte) {
  const Pattern pattern(1, 42);
  pattern.fill(bytes());
  for (const std::size_t at : {std::size_t{0}, std::size_t{4095}, std::size_t{4096},
                               bytes().size() / 2, bytes().size() - 1}) {
    bytes()[at] ^= std::byte{0x10};
    EXPECT_FALSE(pattern.matches(bytes())) << at;
    EXPECT_EQ(pattern.first_difference(bytes()), at / 8 * 8);
    bytes()[at] ^= std::byte{0x10};
  }
  EXPECT_EQ(pattern.first_difference(bytes()), bytes().size());
}

TEST_F(PatternTest, FillsInPiecesAsInOne) {
  const Pattern pattern(9, 7);
  pattern.fill(bytes().first(64));
  pattern.fill(bytes().subspan(64), 64);
  EXPECT_TRUE(pattern.matches(bytes()));
  EXPECT_TRUE(pattern.matches(bytes().subspan(4096, 512), 4096));
}

TEST_F(PatternTest, PoisonHidesAnEarlierCopyOfTheSameBlock) {
  const Pattern pattern(1, 42);
  pattern.fill(bytes());
  poison(bytes());
  for (std::size_t at = 0; at < bytes().size(); at += 4096) {
    EXPECT_FALSE(pattern.matches(bytes().subspan(at, 8), at)) << at;
  }
}

}  // namespace
}  // namespace tentq::bench
