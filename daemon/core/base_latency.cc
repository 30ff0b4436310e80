// Minima per size, and what they say about sizes that were not seen.
#include "daemon/core/base_latency.h"

#include <algorithm>

#include "daemon/core/hash.h"

namespace tentq::core {
namespace {

std::int64_t time_of(std::uint64_t bytes, double rate) {
  if (rate <= 0) return 0;
  constexpr double kMost = 1e15;  // eleven days: nothing that is added to it wraps
  return static_cast<std::int64_t>(std::min(kMost, static_cast<double>(bytes) / rate));
}

}  // namespace

void BaseLatency::reset(std::int64_t now_ns) {
  halves_ = {};
  half_started_ns_ = now_ns;
}

std::int64_t BaseLatency::normal(std::uint32_t bin, std::uint64_t bytes, std::int64_t latency_ns,
                                 double rate) {
  const std::uint64_t largest = largest_of(bin);
  return bytes >= largest ? latency_ns : latency_ns + time_of(largest - bytes, rate);
}

void BaseLatency::replace(std::uint32_t bin, std::int64_t normal_ns, std::int64_t now_ns) {
  reset(now_ns);
  halves_[bin][0] = {normal_ns, true};
}

std::int64_t BaseLatency::nearest_fixed_part(std::uint32_t bin, double rate) const {
  for (std::uint32_t away = 1; away < kBins; ++away) {
    for (const std::uint32_t other : {bin - away, bin + away}) {  // below 0 wraps beyond kBins
      if (other >= kBins || !is_anyhow_sure(other)) continue;
      return std::max<std::int64_t>(0, measured(other) - time_of(largest_of(other), rate));
    }
  }
  return kUnknown;
}

std::int64_t BaseLatency::of(std::uint32_t bin, double rate) const {
  const std::int64_t by_rate = time_of(largest_of(bin), rate);
  std::int64_t base = measured(bin);
  if (!is_anyhow_sure(bin)) {
    const std::int64_t fixed = nearest_fixed_part(bin, rate);
    if (fixed != kUnknown) base = std::min(base, fixed + by_rate);
  }
  return base == kUnknown ? 0 : std::max(base, by_rate);
}

void BaseLatency::rotate(std::int64_t now_ns) {
  for (auto& [running, before] : halves_) {
    if (running.least_ns == kUnknown) continue;
    before = running;
    running = {};
  }
  half_started_ns_ = now_ns;
}

std::uint64_t BaseLatency::hash(std::uint64_t seed) const {
  std::uint64_t hash = seed;
  for (const auto& halves : halves_) {
    for (const Half& half : halves) {
      hash = fold(fold(hash, static_cast<std::uint64_t>(half.least_ns)), half.alone ? 1 : 0);
    }
  }
  return fold(hash, static_cast<std::uint64_t>(half_started_ns_));
}

}  // namespace tentq::core
