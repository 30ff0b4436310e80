// Order of the rounds, the judgement, and the repeats of what straddles its bound.
#include "tests/bench/comparison.h"

#include <gtest/gtest.h>

#include <string>

namespace tentq::bench {
namespace {

// Writes down what it is asked, and answers from a list of ratios that it goes through again and
// again.
class ScriptedRounds : public RoundPair {
 public:
  explicit ScriptedRounds(std::vector<double> ratios) : ratios_(std::move(ratios)) {}
  void begin_attempt() override { calls += '|'; }
  double subject(unsigned) override {
    calls += 'S';
    return 10 * ratios_[next_++ % ratios_.size()];
  }
  double limit(unsigned) override {
    calls += 'L';
    return 10;
  }
  std::string calls;

 private:
  std::vector<double> ratios_;
  std::size_t next_ = 0;
};

constexpr Bound kAtMostTwo{Bound::Kind::at_most, 2};
constexpr Bound kAtLeastTwo{Bound::Kind::at_least, 2};

TEST(Judge, NeedsTheWholeIntervalOnOneSide) {
  EXPECT_EQ(judge({1, 1.9}, kAtMostTwo), Verdict::pass);
  EXPECT_EQ(judge({1, 2}, kAtMostTwo), Verdict::pass);
  EXPECT_EQ(judge({1.9, 2.1}, kAtMostTwo), Verdict::inconclusive);
  EXPECT_EQ(judge({2.1, 3}, kAtMostTwo), Verdict::fail);
  EXPECT_EQ(judge({2.1, 3}, kAtLeastTwo), Verdict::pass);
  EXPECT_EQ(judge({1.9, 2.1}, kAtLeastTwo), Verdict::inconclusive);
  EXPECT_EQ(judge({1, 1.9}, kAtLeastTwo), Verdict::fail);
}

TEST(Compare, WarmsUpAndAlternatesWhoIsFirst) {
  ScriptedRounds rounds({1.5});
  const Comparison result = compare(rounds, 9, Basis::ratio, kAtMostTwo, 1);
  EXPECT_EQ(rounds.calls, "|SL|SLLSSLLSSLLSSLLSSL");
  EXPECT_EQ(result.verdict, Verdict::pass);
  EXPECT_EQ(result.attempts, 1u);
  EXPECT_DOUBLE_EQ(result.ratio, 1.5);
  EXPECT_EQ(result.subjects.size(), 9u);
  EXPECT_EQ(result.limits.size(), 9u);
}

TEST(Compare, NeverTakesFewerThanNineRounds) {
  ScriptedRounds rounds({1.5});
  EXPECT_EQ(compare(rounds, 1, Basis::ratio, kAtMostTwo, 1).limits.size(), kLeastRounds);
}

TEST(Compare, RepeatsWhatStraddlesItsBoundThreeTimesAtMost) {
  ScriptedRounds rounds({1.0, 3.0, 2.0});
  const Comparison result = compare(rounds, 9, Basis::ratio, kAtMostTwo, 1);
  EXPECT_EQ(result.verdict, Verdict::inconclusive);
  EXPECT_EQ(result.attempts, 1 + kMostRepeats);
  EXPECT_EQ(result.subjects.size(), 9u);  // of the last attempt alone
}

TEST(Compare, JudgesTheSubjectAloneWhenAsked) {
  ScriptedRounds rounds({1.5});
  const Bound at_least_20{Bound::Kind::at_least, 20};
  const Comparison result = compare(rounds, 9, Basis::subject, at_least_20, 1);
  EXPECT_EQ(result.verdict, Verdict::fail);  // the subject's figure is 15
  EXPECT_DOUBLE_EQ(result.interval.low, 15);
}

}  // namespace
}  // namespace tentq::bench
