// What changes a window: periods of samples, pressure, and looking for the base latency anew.
#include "daemon/core/window.h"

#include <algorithm>
#include <bit>

#include "daemon/core/amounts.h"
#include "daemon/core/hash.h"

namespace tentq::core {

void LaneWindow::start(const WindowShape& shape, std::int64_t now_ns) {
  // Before anything is known: a few chunks, so that the first ones show the base.
  constexpr std::uint64_t kFirstChunks = 8;
  const std::uint32_t epoch = epoch_ + 1;
  *this = {};
  epoch_ = route_epoch_ = epoch;
  base_.reset(now_ns);
  rate_.reset(now_ns);
  bytes_ = kFirstChunks * kMostChunk;
  chunk_ = kLeastChunk;
  reshape(shape);
  bytes_ = clamped(static_cast<double>(kFirstChunks * chunk_));
  dominant_ = BaseLatency::bin_of(chunk_);
}

void LaneWindow::reshape(const WindowShape& shape) {
  TENTQ_CHECK(shape.window_bytes != 0);
  shape_ = shape;
  if (shape_.chunk_bytes != 0) {
    chunk_ = shape_.chunk_bytes;
  } else {
    chunk_ = std::clamp(std::bit_floor(chunk_), kLeastChunk, kMostChunk);
    follow_rate();
  }
  if (!adaptive()) dip_ = Dip::none;
  bytes_ = clamped(static_cast<double>(bytes_));
  floor_ = std::clamp(floor_, least_bytes(), ceiling());
}

ChunkMark LaneWindow::hand_over(std::uint64_t bytes, std::uint64_t in_flight, std::int64_t now_ns) {
  if (in_flight == 0 || rate_.has_not_begun(now_ns)) rate_.resume(now_ns);
  peak_ = std::max(peak_, in_flight + bytes);
  return {now_ns, epoch_, true, in_flight == 0};
}

void LaneWindow::sample(const ChunkMark& mark, std::uint64_t bytes, std::int64_t elsewhere_ns,
                        std::int64_t now_ns) {
  // Epochs are compared by their distance, which may wrap.
  if (!mark.measured || static_cast<std::int32_t>(mark.epoch - route_epoch_) < 0) return;
  if (advice_ != 0 && now_ns >= advice_end_ns_) advice_ = 0;
  if (rate_.is_due(now_ns, period_ns())) close_period();
  if (now_ns >= next_look_ns_) look_for_base(now_ns);
  rate_.count(now_ns, bytes);
  const std::uint32_t bin = BaseLatency::bin_of(bytes);
  bin_bytes_[bin] += bytes;
  const std::int64_t took_ns = std::max<std::int64_t>(0, now_ns - mark.handed_over_ns);
  const std::int64_t here_ns = took_ns - std::clamp<std::int64_t>(elsewhere_ns, 0, took_ns);
  const std::int64_t normal_ns = BaseLatency::normal(bin, bytes, here_ns, rate_.highest());
  base_.add(bin, normal_ns, mark.alone);
  if (mark.epoch != epoch_) return;
  if (dip_ != Dip::none) {
    sample_dip(bin, normal_ns, mark.alone, now_ns);
  } else if (bin == dominant_) {
    delay_.add(normal_ns);
  }
}

// A period is over: what it says about rate, chunks, floor and window.
void LaneWindow::close_period() {
  was_limit_ = dip_ == Dip::none && plus_saturating(peak_, chunk_) > bytes_;
  rate_.close(was_limit_);
  choose_dominant();
  if (shape_.chunk_bytes == 0) follow_rate();
  const double busy =
      rate_.highest() * static_cast<double>(base_ns()) + 2 * static_cast<double>(chunk_);
  const bool was_at_floor = bytes_ <= floor_;
  floor_ = clamped(std::max(busy, static_cast<double>(shape_.rules.least_bytes)));
  if (delay_.enough()) {
    if (adaptive() && dip_ == Dip::none) judge(was_at_floor);
    delay_.next_period();
  }
  peak_ = 0;
  if (no_growth_ != 0) no_growth_ -= 1;
  bytes_ = clamped(static_cast<double>(std::max(bytes_, floor_)));
}

// A lane that is always full never has a chunk alone by itself. When less comes back through a
// window that is as small as it should be, while chunks still wait, either the lane has become
// slower, or the path longer, and a floor made with the old base lets it run dry. Only a chunk that
// is alone can tell.
void LaneWindow::look_for_base(std::int64_t now_ns) {
  next_look_ns_ = (now_ns / kLook_ns + 1) * kLook_ns;
  if (dip_ != Dip::none) return;
  if (base_.is_half_over(now_ns)) {
    if (!adaptive() || (!was_limit_ && base_.is_sure(dominant_))) {
      base_.rotate(now_ns);
    } else {
      start_dip(Dip::refresh);
    }
  } else if (at_floor_ >= kStaleUpdates && now_ns >= not_stale_ns_) {
    start_dip(Dip::stale);
  }
}

// The size bin that most bytes were moved in speaks for the lane: small chunks that pass the queue
// of the large ones must not hide it.
void LaneWindow::choose_dominant() {
  const auto most = std::max_element(bin_bytes_.begin(), bin_bytes_.end());
  const auto bin = static_cast<std::uint32_t>(most - bin_bytes_.begin());
  if (bin != dominant_) delay_.clear();
  dominant_ = bin;
  bin_bytes_.fill(0);
}

// S is a power of two near rate × chunk_time; half of it below, twice of it above are left to be,
// so that noise in the rate does not change the size of every chunk.
void LaneWindow::follow_rate() {
  const double wanted = rate_.highest() * static_cast<double>(shape_.rules.chunk_time.count());
  if (wanted <= 0) return;
  while (chunk_ < kMostChunk && wanted >= 2 * static_cast<double>(chunk_)) chunk_ *= 2;
  while (chunk_ > kLeastChunk && wanted < 0.75 * static_cast<double>(chunk_)) chunk_ /= 2;
}

void LaneWindow::judge(bool was_at_floor) {
  const double base = static_cast<double>(base_ns());
  const double excess = std::max(0.0, delay_.mean_ns() - base);
  spread_ns_ += (delay_.spread_ns() - spread_ns_) / 8;
  const double target = target_excess_ns();
  const bool has_slowed = rate_.latest() < 0.9 * rate_.remembered();
  at_floor_ = was_at_floor && has_slowed && excess > target ? at_floor_ + 1 : 0;
  if (excess > target) {
    cut(std::max(0.5, 1 - 0.8 * (excess - target) / (base + excess)), rate_.last_ns());
  } else if (no_growth_ == 0 && peak_ >= bytes_ / 2) {
    // While chunks hardly wait there is much to gain, and nobody to share with.
    const std::uint64_t much = excess < target / 4 ? bytes_ / 8 : 0;
    bytes_ = clamped(static_cast<double>(bytes_) + static_cast<double>(std::max(chunk_, much)));
  }
}

// Chunks that are in flight now say nothing about the smaller window.
void LaneWindow::cut(double factor, std::int64_t now_ns) {
  if (bytes_ <= floor_) return;
  bytes_ = clamped(std::max(static_cast<double>(bytes_) * factor, static_cast<double>(floor_)));
  epoch_ += 1;
  delay_.clear();
  pressed_ns_ = now_ns + period_ns();
}

void LaneWindow::press(PressureKind kind, std::uint64_t recommended_bytes, std::int64_t now_ns) {
  if (!adaptive()) return;
  switch (kind) {
    case PressureKind::saturated: press_cut(0.7, now_ns); return;
    case PressureKind::retry:
    case PressureKind::timeout:
      press_cut(0.5, now_ns);
      no_growth_ = kNoGrowth;
      // What is in flight may have been tried twice: its times are no latencies.
      epoch_ += 1;
      delay_.clear();
      return;
    case PressureKind::recommended:
      if (recommended_bytes == 0) return;
      advice_ = recommended_bytes;
      advice_end_ns_ = now_ns + kAdvice_ns;
      floor_ = clamped(static_cast<double>(floor_));
      bytes_ = clamped(static_cast<double>(bytes_));
      return;
  }
}

// Once per base: what is reported until then met the window as it was.
bool LaneWindow::press_cut(double factor, std::int64_t now_ns) {
  if (now_ns < pressed_ns_) return false;
  pressed_ns_ = now_ns + period_ns();
  cut(factor, now_ns);
  return true;
}

void LaneWindow::start_dip(Dip dip) {
  dip_ = dip;
  dip_samples_ = dip_alone_ = 0;
  dip_least_ns_ = BaseLatency::kUnknown;
  at_floor_ = 0;
  epoch_ += 1;
  delay_.clear();
}

// A chunk that is alone shows the base: not the first one, because when it went others may just
// have begun. Where nothing is wrong there is time for more, which see through jitter. When none
// ever is alone, the least of a few.
void LaneWindow::sample_dip(std::uint32_t bin, std::int64_t normal_ns, bool alone,
                            std::int64_t now_ns) {
  dip_samples_ += 1;
  if (bin == dominant_) {
    dip_least_ns_ = std::min(dip_least_ns_, normal_ns);
    if (alone) dip_alone_ += 1;
  }
  const std::uint32_t enough = dip_ == Dip::stale ? 2 : 8;
  if (dip_alone_ < enough && dip_samples_ < kMostDipSamples) return;
  if (dip_ == Dip::refresh) {
    base_.rotate(now_ns);
  } else if (dip_least_ns_ != BaseLatency::kUnknown) {
    if (dip_least_ns_ < base_ns() + base_ns() / 8) {
      not_stale_ns_ = (now_ns / kLookAgain_ns + 1) * kLookAgain_ns;
    }
    base_.replace(dominant_, dip_least_ns_, now_ns);
  }
  dip_ = Dip::none;
  epoch_ += 1;
}

}  // namespace tentq::core
