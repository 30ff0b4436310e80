// A histogram of durations in nanoseconds, log-linear: each power of two from 1.024 us to 137 s is
// split into four equal buckets, one bucket holds what is shorter, one what is longer. A bucket
// holds (the bound before, its bound], so that sums of buckets are Prometheus' cumulative buckets
// exactly. Recording is an index made of shifts and two additions. One thread (the conductor).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tentq {

class Histogram {
 public:
  static constexpr unsigned kFirstPower = 10;  // the first bound is 2^10 ns
  static constexpr unsigned kLastPower = 37;   // the last one 2^37 ns
  static constexpr unsigned kPowers = kLastPower - kFirstPower + 1;
  static constexpr unsigned kStepBits = 2;
  static constexpr std::size_t kSteps = std::size_t{1} << kStepBits;  // buckets of a power
  // All that have a bound, and the one for what is longer.
  static constexpr std::size_t kBuckets = (kPowers - 1) * kSteps + 2;

  void record(std::uint64_t ns) {
    counts_[bucket_of(ns)] += 1;
    sum_ns_ += ns;
  }

  // Without a branch. One less than the duration belongs to its bucket by its highest bits, because
  // bounds are inclusive.
  static constexpr std::size_t bucket_of(std::uint64_t ns) {
    constexpr std::uint64_t kLeast = (std::uint64_t{1} << kFirstPower) - 1;
    constexpr std::uint64_t kMost = std::uint64_t{1} << kLastPower;
    const std::uint64_t below = ns - (ns != 0 ? 1 : 0);
    const std::uint64_t value = std::min(std::max(below, kLeast), kMost);
    const auto power = static_cast<unsigned>(std::bit_width(value)) - 1;
    const std::uint64_t step = (value >> (power - kStepBits)) & (kSteps - 1);
    return ((std::size_t{power} - kFirstPower + 1) << kStepBits) + step - (kSteps - 1);
  }

  // The longest duration of a bucket; not of the last one, which has none.
  static constexpr std::uint64_t bound_ns(std::size_t bucket) {
    const std::size_t steps = bucket + kSteps - 1;
    return (kSteps + 1 + steps % kSteps) << (kFirstPower - kStepBits - 1 + steps / kSteps);
  }

  std::uint64_t count(std::size_t bucket) const { return counts_[bucket]; }
  std::uint64_t sum_ns() const { return sum_ns_; }
  // Durations recorded.
  std::uint64_t total() const;
  // No more than 2^(kFirstPower + i) ns, for all i below kPowers: what Prometheus is given.
  std::array<std::uint64_t, kPowers> cumulative() const;
  // The bound of the bucket that the quantile is in: at most a quarter above it, or 1,024 if it is
  // shorter than that; 2^kLastPower for what is longer; 0 when nothing was recorded. The quantile
  // is the least duration that `per_mille` of all do not exceed, at least one of them.
  std::uint64_t quantile_ns(std::uint32_t per_mille) const;

 private:
  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t sum_ns_ = 0;
};

}  // namespace tentq
