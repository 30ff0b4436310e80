// How fast a lane moves bytes: measured in periods, the highest of ten, and the low end of many. A
// period ends where a chunk ended, so that bursts of completions do not look like speed. Conductor
// thread. Bytes, nanoseconds.
#pragma once

#include <array>
#include <cstdint>

namespace tentq::core {

class LaneRate {
 public:
  static constexpr std::int64_t kLeastPeriod_ns = 1'000'000;
  static constexpr std::uint32_t kLeastSamples = 8;
  static constexpr std::size_t kPeriods = 10;
  static constexpr std::int64_t kRemembered_ns = 1'000'000'000;
  static constexpr std::size_t kLongPeriods = 64;

  // Nothing is known any more.
  void reset(std::int64_t now_ns);
  // Something goes to an empty lane. After a long idle time the period starts anew.
  void resume(std::int64_t now_ns) {
    if (now_ns - last_ns_ > kLeastPeriod_ns) restart(now_ns);
  }
  // Nothing has ended in this period for long: nobody has measured until now.
  bool has_not_begun(std::int64_t now_ns) const {
    return samples_ == 0 && now_ns - last_ns_ > kRemembered_ns;
  }
  // Whether the period that ended with the last chunk is complete; chunks that end at the same
  // `now` are in the same period.
  bool is_due(std::int64_t now_ns, std::int64_t least_ns) const {
    return now_ns > last_ns_ && samples_ >= kLeastSamples && last_ns_ - start_ns_ >= least_ns;
  }
  // A chunk ended.
  void count(std::int64_t now_ns, std::uint64_t bytes) {
    bytes_ += bytes;
    samples_ += 1;
    last_ns_ = now_ns;
  }
  // Ends the period. Where the window was the limit, it counts as one of the last ten. Where demand
  // was, the lane could have done more: it counts only if it is the fastest.
  void close(bool window_was_limit);
  // When the last chunk ended.
  std::int64_t last_ns() const { return last_ns_; }

  // Bytes a nanosecond: the highest of ten periods, none older than 1 s; 0 = not known.
  double highest() const { return highest_; }
  // The latest period, and the highest of a half to one second in which the window was the limit.
  double latest() const { return latest_; }
  // The 10th percentile of the last 64 periods in which the window was the limit; 0 = not known:
  // demand alone says nothing of what the lane could do.
  double low() const { return low_; }
  double remembered() const { return halves_[0] > halves_[1] ? halves_[0] : halves_[1]; }

  std::uint64_t hash(std::uint64_t seed) const;

 private:
  struct Period {
    double rate = 0;
    std::int64_t ended_ns = 0;
  };
  void restart(std::int64_t now_ns);
  void add_long(double rate);

  std::array<Period, kPeriods> periods_{};
  std::uint32_t next_ = 0;                   // place of the next period
  std::array<double, kLongPeriods> long_{};  // 0 = none yet
  std::uint32_t next_long_ = 0;
  double low_ = 0;
  double highest_ = 0;
  double latest_ = 0;
  std::array<double, 2> halves_{};  // the running half second, the one before
  std::int64_t half_ns_ = 0;        // when the running one began
  std::int64_t start_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint32_t samples_ = 0;
};

}  // namespace tentq::core
