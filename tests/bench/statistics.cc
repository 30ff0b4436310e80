// Sorting does the work; the bootstrap is seeded.
#include "tests/bench/statistics.h"

#include <algorithm>
#include <cmath>

namespace tentq::bench {
namespace {

double median_of_sorted(std::span<const double> sorted) {
  if (sorted.empty()) return 0;
  const std::size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[middle];
  return (sorted[middle - 1] + sorted[middle]) / 2;
}

std::vector<double> sorted_copy(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

}  // namespace

std::uint64_t Random::next() {
  state_ += 0x9e37'79b9'7f4a'7c15;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9;
  z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11eb;
  return z ^ (z >> 31);
}

std::uint64_t Random::below(std::uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((Wide{next()} * bound) >> 64);
}

double median(std::span<const double> values) {
  return median_of_sorted(sorted_copy(values));
}

double percentile(std::span<const double> values, double part) {
  return percentile_of_sorted(sorted_copy(values), part);
}

double percentile_of_sorted(std::span<const double> sorted, double part) {
  if (sorted.empty()) return 0;
  // The product may lie a rounding error above a whole number: 0.99 × 100.
  const double rank = std::ceil(part * static_cast<double>(sorted.size()) - 1e-9);
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

Interval bootstrap_median(std::span<const double> values, double confidence, std::uint64_t seed,
                          unsigned resamples) {
  if (values.empty() || resamples == 0) return {};
  Random random(seed);
  std::vector<double> medians(resamples);
  std::vector<double> drawn(values.size());
  for (double& one : medians) {
    for (double& value : drawn) value = values[random.below(values.size())];
    std::sort(drawn.begin(), drawn.end());
    one = median_of_sorted(drawn);
  }
  std::sort(medians.begin(), medians.end());
  const double tail = (1 - confidence) / 2;
  return {percentile_of_sorted(medians, tail), percentile_of_sorted(medians, 1 - tail)};
}

}  // namespace tentq::bench
