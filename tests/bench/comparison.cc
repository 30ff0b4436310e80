// Order of the rounds and the judgement; what is measured is the caller's.
#include "tests/bench/comparison.h"

#include <algorithm>

namespace tentq::bench {
namespace {

Comparison run_once(RoundPair& pair, unsigned rounds, Basis basis, const Bound& bound,
                    std::uint64_t seed) {
  pair.begin_attempt();
  pair.subject(0);
  pair.limit(0);
  pair.begin_attempt();
  Comparison result;
  for (unsigned round = 0; round < rounds; ++round) {
    const bool subject_first = round % 2 == 0;
    if (subject_first) result.subjects.push_back(pair.subject(round));
    result.limits.push_back(pair.limit(round));
    if (!subject_first) result.subjects.push_back(pair.subject(round));
  }
  std::vector<double> ratios;
  for (unsigned round = 0; round < rounds; ++round) {
    ratios.push_back(result.limits[round] > 0 ? result.subjects[round] / result.limits[round] : 0);
  }
  result.ratio = median(ratios);
  result.interval =
      bootstrap_median(basis == Basis::ratio ? ratios : result.subjects, kConfidence, seed);
  result.verdict = judge(result.interval, bound);
  return result;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass: return "pass";
    case Verdict::fail: return "fail";
    case Verdict::inconclusive: return "inconclusive";
  }
  return "";
}

Verdict judge(const Interval& interval, const Bound& bound) {
  const bool low_fits = bound.kind == Bound::Kind::at_most ? interval.low <= bound.value
                                                           : interval.low >= bound.value;
  const bool high_fits = bound.kind == Bound::Kind::at_most ? interval.high <= bound.value
                                                            : interval.high >= bound.value;
  if (low_fits && high_fits) return Verdict::pass;
  return low_fits || high_fits ? Verdict::inconclusive : Verdict::fail;
}

Comparison compare(RoundPair& pair, unsigned rounds, Basis basis, const Bound& bound,
                   std::uint64_t seed) {
  Comparison result;
  for (unsigned attempt = 0; attempt <= kMostRepeats; ++attempt) {
    result = run_once(pair, std::max(rounds, kLeastRounds), basis, bound, seed + attempt);
    result.attempts = attempt + 1;
    if (result.verdict != Verdict::inconclusive) break;
  }
  return result;
}

}  // namespace tentq::bench
