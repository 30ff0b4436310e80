// Periods, and the highest of them.
#include "daemon/core/lane_rate.h"

#include <algorithm>
#include <bit>

#include "daemon/core/hash.h"

namespace tentq::core {

void LaneRate::reset(std::int64_t now_ns) {
  periods_ = {};
  next_ = next_long_ = 0;
  long_ = {};
  highest_ = latest_ = low_ = 0;
  halves_ = {};
  half_ns_ = now_ns;
  restart(now_ns);
}

void LaneRate::restart(std::int64_t now_ns) {
  start_ns_ = last_ns_ = now_ns;
  bytes_ = 0;
  samples_ = 0;
}

void LaneRate::close(bool window_was_limit) {
  const double rate = static_cast<double>(bytes_) / static_cast<double>(last_ns_ - start_ns_);
  const std::int64_t oldest_ns = last_ns_ - kRemembered_ns;
  Period& latest = periods_[(next_ + kPeriods - 1) % kPeriods];
  if (window_was_limit) {
    periods_[next_] = {rate, last_ns_};
    next_ = static_cast<std::uint32_t>((next_ + 1) % kPeriods);
  } else if (rate >= latest.rate || latest.ended_ns < oldest_ns) {
    latest = {rate, last_ns_};
  }
  latest_ = rate;
  if (last_ns_ - half_ns_ >= kRemembered_ns / 2) {
    halves_ = {0, halves_[0]};
    half_ns_ = last_ns_;
  }
  if (window_was_limit) halves_[0] = std::max(halves_[0], rate);
  if (window_was_limit) add_long(rate);
  highest_ = 0;
  for (const Period& period : periods_) {
    if (period.ended_ns >= oldest_ns) highest_ = std::max(highest_, period.rate);
  }
  restart(last_ns_);
}

void LaneRate::add_long(double rate) {
  long_[next_long_] = rate;
  next_long_ = static_cast<std::uint32_t>((next_long_ + 1) % kLongPeriods);
  std::array<double, kLongPeriods> sorted = long_;
  const auto known =
      std::partition(sorted.begin(), sorted.end(), [](double each) { return each != 0; });
  const auto count = std::distance(sorted.begin(), known);
  const auto tenth = sorted.begin() + count / 10;
  std::nth_element(sorted.begin(), tenth, known);
  low_ = *tenth;
}

std::uint64_t LaneRate::hash(std::uint64_t seed) const {
  std::uint64_t hash = seed;
  for (const Period& period : periods_) {
    hash = fold(fold(hash, std::bit_cast<std::uint64_t>(period.rate)),
                static_cast<std::uint64_t>(period.ended_ns));
  }
  for (const double rate : long_) hash = fold(hash, std::bit_cast<std::uint64_t>(rate));
  hash = fold(fold(hash, next_long_), std::bit_cast<std::uint64_t>(low_));
  hash = fold(fold(hash, next_), std::bit_cast<std::uint64_t>(highest_));
  for (const double rate : {latest_, halves_[0], halves_[1]}) {
    hash = fold(hash, std::bit_cast<std::uint64_t>(rate));
  }
  hash = fold(hash, static_cast<std::uint64_t>(half_ns_));
  hash = fold(fold(hash, static_cast<std::uint64_t>(start_ns_)), samples_);
  return fold(fold(hash, static_cast<std::uint64_t>(last_ns_)), bytes_);
}

}  // namespace tentq::core
