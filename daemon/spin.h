// How long the conductor polls for more work before it sleeps. Polling saves the wakeup when more
// comes soon, and takes a processor from the transports' threads when it does not.
#pragma once

#include <algorithm>

#include "proto/units.h"

namespace tentq {

class Spin {
 public:
  // After the last work; `most` if that pays.
  Duration length(Duration most) const { return score_ >= kPays ? most : least(most); }
  // Work came that long after the work before it.
  void came_after(Duration gap, Duration most) {
    if (gap <= least(most)) return;  // found in any case
    score_ = gap <= most ? std::min(score_ + 1, kBest) : std::max(score_ - 1, 0);
  }

 private:
  static constexpr int kBest = 8;
  static constexpr int kPays = 4;

  static Duration least(Duration most) { return most / 8; }

  int score_ = kBest;
};

}  // namespace tentq
