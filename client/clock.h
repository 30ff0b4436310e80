// The library's one look at the clock: CLOCK_MONOTONIC, the same that the daemon stamps slots with.
#pragma once

#include <chrono>

#include "proto/units.h"

namespace tentq::lib {

using Clock = std::chrono::steady_clock;

inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

// When a wait of `timeout` that begins now ends; Clock::time_point::max() for one that never does.
inline Clock::time_point deadline_after(Duration timeout) {
  const Clock::time_point now = Clock::now();
  if (timeout >= Clock::time_point::max() - now) return Clock::time_point::max();
  return now + timeout;
}

inline Duration time_left(Clock::time_point deadline) {
  if (deadline == Clock::time_point::max()) return Duration::max();
  return deadline - Clock::now();
}

}  // namespace tentq::lib
