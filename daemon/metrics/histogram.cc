// What is read from a histogram. See histogram.h.
#include "daemon/metrics/histogram.h"

#include <numeric>

namespace tentq {

static_assert(Histogram::bucket_of(0) == 0 && Histogram::bucket_of(1'024) == 0);
static_assert(Histogram::bucket_of(1'025) == 1 && Histogram::bound_ns(0) == 1'024);
static_assert(Histogram::bound_ns(Histogram::kBuckets - 2) == std::uint64_t{1}
                                                                  << Histogram::kLastPower);
static_assert(Histogram::bucket_of(~std::uint64_t{0}) == Histogram::kBuckets - 1);

std::uint64_t Histogram::total() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

std::array<std::uint64_t, Histogram::kPowers> Histogram::cumulative() const {
  std::array<std::uint64_t, kPowers> sums{};
  std::uint64_t sum = 0;
  for (std::size_t bucket = 0; bucket + 1 < kBuckets; ++bucket) {
    sum += counts_[bucket];
    if (bucket % kSteps == 0) sums[bucket / kSteps] = sum;
  }
  return sums;
}

std::uint64_t Histogram::quantile_ns(std::uint32_t per_mille) const {
  const std::uint64_t all = total();
  if (all == 0) return 0;
  // all × per_mille / 1000, rounded up, in parts that do not overflow.
  const std::uint64_t rank =
      std::max<std::uint64_t>(1, all / 1'000 * per_mille + (all % 1'000 * per_mille + 999) / 1'000);
  std::uint64_t sum = 0;
  for (std::size_t bucket = 0; bucket + 1 < kBuckets; ++bucket) {
    sum += counts_[bucket];
    if (sum >= rank) return bound_ns(bucket);
  }
  return bound_ns(kBuckets - 2);
}

}  // namespace tentq
