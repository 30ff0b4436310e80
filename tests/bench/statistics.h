// Medians, exact percentiles and the bootstrap interval of a median. Pure; doubles in any unit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tentq::bench {

// SplitMix64: the project's benchmarks' only source of randomness, so that a seed repeats a run.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  // 0 … bound − 1; bound > 0. The bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound);

 private:
  std::uint64_t state_;
};

// The middle value, or the mean of both middle values; 0 for no values.
double median(std::span<const double> values);

// Nearest rank: the smallest value that at least `part` (0 … 1] of all are not above. Sorts a copy
// completely; 0 for no values.
double percentile(std::span<const double> values, double part);
// Of values that are sorted already.
double percentile_of_sorted(std::span<const double> sorted, double part);

struct Interval {
  double low = 0;
  double high = 0;
};

// Percentile bootstrap of the median: `resamples` medians of as many values drawn with replacement;
// the interval holds the middle `confidence` of them.
Interval bootstrap_median(std::span<const double> values, double confidence, std::uint64_t seed,
                          unsigned resamples = 4000);

}  // namespace tentq::bench
