// Windows, holds and pauses of lanes.
#include "daemon/core/lanes.h"

#include "daemon/core/wheel.h"

namespace tentq::core {

Lanes::Lanes(std::uint32_t count, const Limits* limits, std::uint64_t seed,
             std::uint64_t credit_chunk_bytes)
    : limits_(limits),
      lanes_(count),
      windows_(count),
      credit_chunk_bytes_(credit_chunk_bytes),
      random_(seed) {
  away_.reserve(count);
}

void Lanes::open(LaneId id, const WindowShape& shape, std::uint32_t window_chunks,
                 std::int64_t now_ns) {
  TENTQ_CHECK(id.value() < lanes_.size());
  lanes_[id.value()].open = true;
  come_back(id.value());
  windows_[id.value()].start(shape, now_ns);
  reshape(id, shape, window_chunks);
}

void Lanes::reshape(LaneId id, const WindowShape& shape, std::uint32_t window_chunks) {
  TENTQ_CHECK(window_chunks != 0);
  lanes_[id.value()].window_chunks = window_chunks;
  windows_[id.value()].reshape(shape);
  follow_window(id.value());
}

void Lanes::name_receiver(std::uint32_t index, std::uint16_t receiver) {
  Lane& lane = lanes_[index];
  if (lane.receiver == receiver) return;
  TENTQ_CHECK(lane.in_flight_chunks == 0);
  touch_receiver(index);
  lane.receiver = receiver;
  lane.dry = lane.internal_dry = false;
  touch_receiver(index);
}

void Lanes::press(LaneId id, PressureKind kind, std::uint64_t recommended_bytes,
                  std::int64_t now_ns) {
  windows_[id.value()].press(kind, recommended_bytes, now_ns);
  follow_window(id.value());
}

void Lanes::follow_window(std::uint32_t index) {
  Lane& lane = lanes_[index];
  const LaneWindow& window = windows_[index];
  lane.window_bytes = window.bytes();
  lane.chunk_bytes = window.chunk_bytes();
  lane.largest_chunk = std::min({lane.chunk_bytes, lane.window_bytes, std::uint64_t{1} << 40});
  // A receiver is only sure to have room for one of that length.
  if (lane.receiver != kNoReceiver) {
    lane.largest_chunk = std::min(lane.largest_chunk, credit_chunk_bytes_);
  }
  follow_learning(index);
  share_window(index);
}

void Lanes::share_window(std::uint32_t index) {
  Lane& lane = lanes_[index];
  const LaneWindow& window = windows_[index];
  const std::uint64_t half_floor = window.adaptive() ? window.floor_bytes() / 2 : 0;
  lane.foreground_room = classes_count_ ? std::max(2 * lane.largest_chunk, half_floor) : 0;
  lane.foreground_room_chunks = classes_count_ ? std::max(2u, lane.window_chunks / 4) : 0;
  lane.capped = false;
  lane.reserved = 0;
  // Whatever is reserved, every class can send one chunk.
  std::uint64_t left = lane.window_bytes - lane.largest_chunk;
  for (std::uint32_t c = 1; c < kMaxClasses; ++c) {
    const ClassLimits& limits = limits_->classes[c];
    ClassOnLane& each = lane.classes[c];
    const bool has_cap = classes_count_ && limits.in_flight_bytes != 0;
    each.most = has_cap ? limits.in_flight_bytes : kMost;
    each.reserve = classes_count_ ? std::min(limits.reserve_bytes, left) : 0;
    left -= each.reserve;
    lane.reserved += each.reserve;
    lane.capped = lane.capped || has_cap;
  }
  lanes_[index].drop_holds();
  refresh(index);
}

void Lanes::set_policy(Policy policy) {
  ignore_windows_ = policy == Policy::direct;
  classes_count_ = policy == Policy::strict || policy == Policy::wdrr;
  follow_limits();
}

void Lanes::measure_all(bool measured) {
  measures_all_ = measured;
  for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].open) follow_learning(i);
  }
}

void Lanes::follow_limits() {
  for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].open) share_window(i);
  }
}

LaneSet Lanes::ready_for_internal(const LaneSet& lanes) const {
  LaneSet ready;
  lanes.for_each([this, &ready](std::uint32_t index) {
    const Lane& lane = lanes_[index];
    const std::uint64_t need = std::max<std::uint64_t>(1, lane.internal_need);
    const bool closed = !lane.open || lane.away || lane.internal_dry;
    if (!closed && lane.paused_until_ns == 0 && fits(index, need, kInternalClass)) ready.add(index);
  });
  return ready;
}

void Lanes::hold_for(std::uint32_t index, std::uint64_t bytes, std::uint32_t cls) {
  if (cls == kInternalClass) {
    lanes_[index].internal_need = bytes;
  } else {
    lanes_[index].hold(cls, bytes);
  }
  refresh(index);
  TENTQ_CHECK(!fits(index, bytes, cls));
}

bool Lanes::leave(std::uint32_t index, std::int64_t now_ns) {
  Lane& lane = lanes_[index];
  if (lane.away) return false;
  lane.away = true;
  lane.away_since_ns = now_ns;
  away_.push_back(index);
  refresh(index);
  return true;
}

bool Lanes::come_back(std::uint32_t index) {
  Lane& lane = lanes_[index];
  if (!lane.away) return false;
  lane.away = lane.given_up = false;
  std::erase(away_, index);
  refresh(index);
  return true;
}

void Lanes::give_up(std::uint32_t index) {
  lanes_[index].given_up = true;
  std::erase(away_, index);
}

// Those that left first are first.
std::int64_t Lanes::next_give_up_ns() const {
  if (away_.empty()) return 0;
  return later(lanes_[away_.front()].away_since_ns, limits_->route_budget.count());
}

bool Lanes::pause(std::uint32_t index, std::int64_t now_ns) {
  Lane& lane = lanes_[index];
  if (lane.paused_until_ns != 0) return false;
  lane.paused_until_ns = now_ns + pause_ns(lane.pauses);
  lane.pauses += 1;
  if (next_resume_ns_ == 0 || lane.paused_until_ns < next_resume_ns_) {
    next_resume_ns_ = lane.paused_until_ns;
  }
  refresh(index);
  return true;
}

void Lanes::end_pauses(std::int64_t now_ns) {
  next_resume_ns_ = 0;
  for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    if (lane.paused_until_ns == 0) continue;
    if (lane.paused_until_ns <= now_ns) {
      lane.paused_until_ns = 0;
      refresh(i);
    } else if (next_resume_ns_ == 0 || lane.paused_until_ns < next_resume_ns_) {
      next_resume_ns_ = lane.paused_until_ns;
    }
  }
}

// Doubled each time, within the limits' bounds, and up to a quarter off by chance, so that lanes
// and hosts that were refused together do not come back together.
std::int64_t Lanes::pause_ns(std::uint32_t pauses) {
  const std::uint64_t least = static_cast<std::uint64_t>(limits_->retry_backoff_min.count());
  const std::uint64_t most = static_cast<std::uint64_t>(limits_->retry_backoff_max.count());
  const std::uint32_t doublings = std::min(pauses, 30u);
  const std::uint64_t base = least > (most >> doublings) ? most : least << doublings;
  random_ = random_ * 6364136223846793005ull + 1442695040888963407ull;
  const std::uint64_t extra = base / 4 == 0 ? 0 : (random_ >> 33) % (base / 4);
  const std::uint64_t pause = base + extra <= most ? base + extra : base - extra;
  return static_cast<std::int64_t>(std::max(least, pause));
}

}  // namespace tentq::core
