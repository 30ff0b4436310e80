// Between which bounds a window moves, and what it aims at.
#include <algorithm>
#include <bit>

#include "daemon/core/hash.h"
#include "daemon/core/window.h"
#include "proto/check.h"

namespace tentq::core {

std::uint64_t LaneWindow::ceiling() const {
  if (!adaptive() || advice_ == 0) return shape_.window_bytes;
  return std::min(shape_.window_bytes, std::max(advice_, least_bytes()));
}

std::uint64_t LaneWindow::least_bytes() const {
  return adaptive() ? std::min(chunk_, shape_.window_bytes) : shape_.window_bytes;
}

std::uint64_t LaneWindow::clamped(double bytes) const {
  const std::uint64_t most = ceiling();
  if (bytes >= static_cast<double>(most)) return most;
  return std::max(least_bytes(), static_cast<std::uint64_t>(std::max(0.0, bytes)));
}

double LaneWindow::time_of_chunks_ns(double chunks) const {
  const double rate = rate_.highest();
  return rate <= 0 ? 0 : chunks * static_cast<double>(chunk_) / rate;
}

// A queue that is never empty keeps the lane busy: one chunk is enough for that, or what jitter
// takes. More gains nothing and makes foreground wait. What is configured bounds what jitter gets.
double LaneWindow::target_excess_ns() const {
  const double least = time_of_chunks_ns(1);
  const double most = static_cast<double>(shape_.rules.delay_target.count());
  return std::clamp(spread_ns_, least, std::max(least, most));
}

std::int64_t LaneWindow::target_ns() const {
  const std::int64_t base = base_ns();
  return base == 0 ? 0 : base + static_cast<std::int64_t>(target_excess_ns());
}

std::int64_t LaneWindow::period_ns() const {
  const std::int64_t base = base_.measured(dominant_);
  // A path that answers once in a while is still looked at.
  constexpr std::int64_t kMost_ns = 1'000'000'000;
  if (base == BaseLatency::kUnknown) return LaneRate::kLeastPeriod_ns;
  return std::clamp(base, LaneRate::kLeastPeriod_ns, kMost_ns);
}

void LaneWindow::check() const {
  TENTQ_CHECK(least_bytes() <= bytes_ && bytes_ <= ceiling());
  TENTQ_CHECK(least_bytes() <= floor_ && floor_ <= shape_.window_bytes);
  TENTQ_CHECK(bytes() <= shape_.window_bytes);
  TENTQ_CHECK(shape_.chunk_bytes != 0
                  ? chunk_ == shape_.chunk_bytes
                  : std::has_single_bit(chunk_) && kLeastChunk <= chunk_ && chunk_ <= kMostChunk);
  TENTQ_CHECK(adaptive() || (bytes() == shape_.window_bytes && dip_ == Dip::none));
  TENTQ_CHECK(static_cast<std::int32_t>(epoch_ - route_epoch_) >= 0);
  TENTQ_CHECK(dominant_ < BaseLatency::kBins && rate_.highest() >= 0);
}

std::uint64_t DelaySamples::hash(std::uint64_t seed) const {
  std::uint64_t hash = fold(fold(seed, std::bit_cast<std::uint64_t>(sum_ns_)),
                            std::bit_cast<std::uint64_t>(all_ns_));
  hash = fold(hash, static_cast<std::uint64_t>(in_group_ == 0 ? 0 : least_ns_));
  return fold(fold(fold(hash, in_group_), groups_), (std::uint64_t{group_} << 32) | samples_);
}

std::uint64_t LaneWindow::hash(std::uint64_t seed) const {
  std::uint64_t hash = delay_.hash(rate_.hash(base_.hash(seed)));
  hash = fold(fold(hash, shape_.window_bytes), shape_.chunk_bytes);
  hash = fold(fold(hash, adaptive() ? 1 : 0), shape_.rules.least_bytes);
  hash = fold(hash, static_cast<std::uint64_t>(shape_.rules.delay_target.count()));
  hash = fold(fold(fold(hash, bytes_), floor_), chunk_);
  hash = fold(hash, std::bit_cast<std::uint64_t>(spread_ns_));
  hash = fold(fold(hash, peak_), advice_);
  hash = fold(fold(hash, static_cast<std::uint64_t>(advice_end_ns_)),
              static_cast<std::uint64_t>(pressed_ns_));
  hash = fold(fold(hash, static_cast<std::uint64_t>(dip_least_ns_)), dip_samples_);
  hash = fold(fold(hash, static_cast<std::uint64_t>(next_look_ns_)),
              static_cast<std::uint64_t>(not_stale_ns_));
  hash = fold(fold(hash, dip_alone_), was_limit_ ? 1 : 0);
  hash = fold(fold(hash, epoch_), route_epoch_);
  hash = fold(fold(hash, dominant_), no_growth_);
  hash = fold(fold(hash, at_floor_), static_cast<std::uint64_t>(dip_));
  for (const std::uint64_t bytes : bin_bytes_) hash = fold(hash, bytes);
  return hash;
}

}  // namespace tentq::core
