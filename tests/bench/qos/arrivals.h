// When a foreground client means to submit: an open loop, fixed before the run, so that a slow
// answer delays no later arrival and every policy sees the same schedule.
#pragma once

#include <cstdint>

#include "tests/bench/statistics.h"

namespace tentq::bench::qos {

enum class Spacing : std::uint32_t { fixed, poisson };

class Arrivals {
 public:
  // One arrival every `mean_gap_ns` on average, > 0. Fixed spacing begins at `phase` (0 … 1) of a
  // gap, so that clients do not arrive together.
  Arrivals(Spacing spacing, double mean_gap_ns, double phase, std::uint64_t seed);

  // Nanoseconds from the start to the next arrival; never less than the one before.
  std::int64_t next();

 private:
  Spacing spacing_;
  double mean_gap_ns_;
  double at_ns_;
  Random random_;
};

}  // namespace tentq::bench::qos
