// The window of one lane: how much may be in flight. It follows the lane by delay: grows while
// chunks hardly wait, shrinks when they wait longer than the target, and never goes below what
// keeps the lane busy. Pure arithmetic, O(1) a chunk. Conductor thread. Bytes and nanoseconds.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "daemon/core/base_latency.h"
#include "daemon/core/event.h"
#include "daemon/core/lane_rate.h"

namespace tentq::core {

struct WindowShape {
  std::uint64_t window_bytes = 0;  // the window, or its ceiling when it is adaptive; above 0
  std::uint64_t chunk_bytes = 0;   // S; 0: by the rate
  WindowRules rules{};
};

// What is remembered of a chunk while it is in flight.
struct ChunkMark {
  std::int64_t handed_over_ns = 0;
  std::uint32_t epoch = 0;  // of its lane's window
  bool measured = false;    // false: it says nothing about its lane
  bool alone = false;       // nothing else was in flight on the lane
};

// The delay of a period: the mean of the least of each half of it, of eight samples or more. The
// least sees the queue through jitter; the mean does not take one gap for an empty queue.
class DelaySamples {
 public:
  static constexpr std::uint32_t kLeastGroup = 8;

  // The next period; it is expected to have as many samples as this one.
  void next_period() { *this = DelaySamples(std::max(kLeastGroup, samples_ / 2)); }
  void clear() { *this = DelaySamples(group_); }
  void add(std::int64_t latency_ns) {
    if (in_group_ == 0 || latency_ns < least_ns_) least_ns_ = latency_ns;
    samples_ += 1;
    all_ns_ += static_cast<double>(latency_ns);
    if (++in_group_ < group_) return;
    sum_ns_ += static_cast<double>(least_ns_);
    groups_ += 1;
    in_group_ = 0;
  }
  bool enough() const { return groups_ != 0; }
  double mean_ns() const { return sum_ns_ / static_cast<double>(groups_); }
  // How much longer the mean of all is: what jitter or a queue that comes and goes adds.
  double spread_ns() const {
    return std::max(0.0, all_ns_ / static_cast<double>(samples_) - mean_ns());
  }
  std::uint64_t hash(std::uint64_t seed) const;

  DelaySamples() = default;

 private:
  explicit DelaySamples(std::uint32_t group) : group_(group) {}

  double sum_ns_ = 0;  // of the least of each group
  double all_ns_ = 0;
  std::int64_t least_ns_ = 0;
  std::uint32_t group_ = kLeastGroup;
  std::uint32_t in_group_ = 0;
  std::uint32_t groups_ = 0;
  std::uint32_t samples_ = 0;
};

class LaneWindow {
 public:
  static constexpr std::uint64_t kLeastChunk = 64u << 10;
  static constexpr std::uint64_t kMostChunk = 1u << 20;
  static constexpr std::uint32_t kStaleUpdates = 8;
  static constexpr std::uint32_t kNoGrowth = 10;  // periods after a retry or a timeout
  static constexpr std::int64_t kAdvice_ns = 1'000'000'000;
  // All lanes look for their base at multiples of this, so that those which share a path see it
  // without each other's queues; after it was found right, not before a multiple of that.
  static constexpr std::int64_t kLook_ns = 20'000'000;
  static constexpr std::int64_t kLookAgain_ns = 100'000'000;

  // A new route: nothing that was learnt counts, nor does what is in flight.
  void start(const WindowShape& shape, std::int64_t now_ns);
  // Other bounds or rules for the same route.
  void reshape(const WindowShape& shape);

  // A chunk goes; `in_flight` is what was in flight before. Its mark is given back with sample().
  ChunkMark hand_over(std::uint64_t bytes, std::uint64_t in_flight, std::int64_t now_ns);
  // A chunk has moved all its bytes. `elsewhere`: the part of its time that it was queued at the
  // other daemon, which says nothing about the lane; it comes from outside and may be any number.
  void sample(const ChunkMark& mark, std::uint64_t bytes, std::int64_t elsewhere_ns,
              std::int64_t now_ns);
  // The transport said so; `recommended_bytes` belongs to that kind alone.
  void press(PressureKind kind, std::uint64_t recommended_bytes, std::int64_t now_ns);

  // Most in flight now.
  std::uint64_t bytes() const { return dip_ == Dip::none ? bytes_ : least_bytes(); }
  std::uint64_t chunk_bytes() const { return chunk_; }  // S
  // What keeps the lane busy: rate × base + 2S, between the bounds.
  std::uint64_t floor_bytes() const { return floor_; }
  bool adaptive() const { return shape_.rules.adaptive; }
  // Whether anything hangs on what chunks show: with a fixed window and fixed chunks nothing does.
  bool learns() const { return adaptive() || shape_.chunk_bytes == 0; }
  // Of the chunk size that most bytes were moved with; 0 = not known.
  std::int64_t base_ns() const { return base_.of(dominant_, rate_.highest()); }
  // Latency above which the window shrinks; 0 = not known.
  std::int64_t target_ns() const;
  double rate_bytes_per_s() const { return rate_.highest() * 1e9; }
  // Bytes a nanosecond that the lane does at least, nine times of ten; 0 = not known. A bad spell
  // is over once nothing has been moved for a while.
  double low_rate(std::int64_t now_ns) const {
    return now_ns - rate_.last_ns() > kLowRateKept_ns ? 0 : rate_.low();
  }

  void check() const;
  std::uint64_t hash(std::uint64_t seed) const;

 private:
  // For a moment one chunk at a time is handed over, so that one is alone and shows the base.
  enum class Dip : std::uint8_t {
    none,
    refresh,  // the base was not seen for long, and may be lower than it seems
    stale,    // the base is too low: the path has become longer
  };
  static constexpr std::uint32_t kMostDipSamples = 32;
  static constexpr std::int64_t kLowRateKept_ns = 10'000'000'000;

  std::uint64_t ceiling() const;
  std::uint64_t least_bytes() const;  // no window is smaller
  std::uint64_t clamped(double bytes) const;
  // How long `chunks` × S occupy the lane; 0 = not known.
  double time_of_chunks_ns(double chunks) const;
  double target_excess_ns() const;
  std::int64_t period_ns() const;
  void close_period();
  void choose_dominant();
  void follow_rate();
  void judge(bool was_at_floor);
  void look_for_base(std::int64_t now_ns);
  void cut(double factor, std::int64_t now_ns);
  bool press_cut(double factor, std::int64_t now_ns);
  void start_dip(Dip dip);
  void sample_dip(std::uint32_t bin, std::int64_t normal_ns, bool alone, std::int64_t now_ns);

  WindowShape shape_;
  BaseLatency base_;
  LaneRate rate_;
  DelaySamples delay_;
  std::uint64_t bytes_ = 0;
  std::uint64_t floor_ = 0;
  std::uint64_t chunk_ = kLeastChunk;
  std::uint64_t peak_ = 0;          // most in flight in this period
  std::uint64_t advice_ = 0;        // recommended by the transport; 0 = nothing
  std::int64_t advice_end_ns_ = 0;  // of that
  std::int64_t pressed_ns_ = 0;     // end of the time in which pressure does not cut again
  std::int64_t dip_least_ns_ = 0;
  std::int64_t next_look_ns_ = 0;
  std::int64_t not_stale_ns_ = 0;  // the base was right: not looked for again until then
  double spread_ns_ = 0;           // of the delays, over about eight periods
  std::uint32_t epoch_ = 0;
  std::uint32_t route_epoch_ = 0;  // first one of this route
  std::uint32_t dominant_ = 0;     // size bin that speaks for the lane
  std::uint32_t no_growth_ = 0;    // periods left
  std::uint32_t at_floor_ = 0;     // updates in a row at the floor, over target and slower
  std::uint32_t dip_samples_ = 0;
  std::uint32_t dip_alone_ = 0;  // of those, alone and of the size that speaks for the lane
  Dip dip_ = Dip::none;
  bool was_limit_ = false;                                     // in the last period
  std::array<std::uint64_t, BaseLatency::kBins> bin_bytes_{};  // moved in this period
};

}  // namespace tentq::core
