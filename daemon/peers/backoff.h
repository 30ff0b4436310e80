// Pauses between attempts: doubled from 50 ms to 5 s, each then somewhere in its upper half, so
// that hosts which lost a peer together do not come back together. Pure; seeded.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

#include "proto/units.h"

namespace tentq {

class Backoff {
 public:
  static constexpr Duration kFirst = std::chrono::milliseconds{50};
  static constexpr Duration kMost = std::chrono::seconds{5};

  explicit Backoff(std::uint64_t seed) : random_(seed) {}

  Duration next() {
    const Duration length = next_;
    next_ = std::min(2 * next_, kMost);
    return length / 2 + Duration{static_cast<Duration::rep>(
                            random_() % static_cast<std::uint64_t>(length.count() / 2))};
  }
  // The last attempt succeeded.
  void reset() { next_ = kFirst; }
  // The next attempts will hardly succeed before somebody does something.
  void slow() { next_ = kMost; }

 private:
  std::mt19937_64 random_;
  Duration next_ = kFirst;
};

}  // namespace tentq
