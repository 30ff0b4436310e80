// A figure against its limit: interleaved rounds, the median ratio with its interval, the verdict.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/bench/statistics.h"

namespace tentq::bench {

enum class Verdict { pass, fail, inconclusive };
std::string_view to_string(Verdict verdict);

struct Bound {
  enum class Kind { at_most, at_least } kind = Kind::at_most;
  double value = 0;
};
// pass or fail only if the whole interval lies on one side of the bound.
Verdict judge(const Interval& interval, const Bound& bound);

// What is measured: one round of the subject and one of its limit. Both answer in the same unit.
class RoundPair {
 public:
  virtual ~RoundPair() = default;
  // Before the first round and before every repeat: forget all samples.
  virtual void begin_attempt() = 0;
  virtual double subject(unsigned round) = 0;
  virtual double limit(unsigned round) = 0;
};

// What the verdict is about.
enum class Basis {
  ratio,    // subject / limit, round by round
  subject,  // the subject's figure alone
};

struct Comparison {
  std::vector<double> subjects;  // of the last attempt, in order of rounds
  std::vector<double> limits;
  double ratio = 0;   // median over the rounds of subject / limit
  Interval interval;  // 90 %, of the median of what the basis says
  Verdict verdict = Verdict::inconclusive;
  unsigned attempts = 0;
};

inline constexpr unsigned kLeastRounds = 9;
inline constexpr unsigned kMostRepeats = 3;
inline constexpr double kConfidence = 0.9;

// One unmeasured round of each, then `rounds` (at least kLeastRounds) in ABBA order: subject,
// limit, limit, subject, … While the verdict is inconclusive all is run again, at most kMostRepeats
// times.
Comparison compare(RoundPair& pair, unsigned rounds, Basis basis, const Bound& bound,
                   std::uint64_t seed);

}  // namespace tentq::bench
