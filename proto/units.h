// Units shared by every part: bytes, durations and points in time.
// Time is the host's monotonic clock (CLOCK_MONOTONIC) in nanoseconds; nothing here reads a clock.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace tentq {

using Duration = std::chrono::nanoseconds;

// A clock type without now(): who needs the time is given it.
struct MonotonicTime {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<MonotonicTime, Duration>;
  static constexpr bool is_steady = true;
};
using Time = MonotonicTime::time_point;

constexpr Time time_from_ns(std::int64_t ns) {
  return Time{Duration{ns}};
}
constexpr std::int64_t to_ns(Time time) {
  return time.time_since_epoch().count();
}
// "Never": later than every deadline.
inline constexpr Time kNever = Time::max();

// A number of bytes. Sums are the caller's to bound; comparisons and differences are exact.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::uint64_t count) : count_(count) {}
  constexpr std::uint64_t count() const { return count_; }
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) {
    count_ += other.count_;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes other) {
    count_ -= other.count_;
    return *this;
  }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return a += b; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return a -= b; }

 private:
  std::uint64_t count_ = 0;
};

namespace literals {
constexpr Bytes operator""_B(unsigned long long n) {
  return Bytes{n};
}
constexpr Bytes operator""_KiB(unsigned long long n) {
  return Bytes{n << 10};
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return Bytes{n << 20};
}
constexpr Bytes operator""_GiB(unsigned long long n) {
  return Bytes{n << 30};
}
}  // namespace literals

}  // namespace tentq
