// Gaps of one length, or exponential ones.
#include "tests/bench/qos/arrivals.h"

#include <cmath>

#include "proto/check.h"

namespace tentq::bench::qos {

Arrivals::Arrivals(Spacing spacing, double mean_gap_ns, double phase, std::uint64_t seed)
    : spacing_(spacing),
      mean_gap_ns_(mean_gap_ns),
      at_ns_(spacing == Spacing::fixed ? (phase - 1) * mean_gap_ns : 0),
      random_(seed) {
  TENTQ_CHECK(mean_gap_ns > 0 && phase >= 0 && phase <= 1);
}

std::int64_t Arrivals::next() {
  if (spacing_ == Spacing::fixed) {
    at_ns_ += mean_gap_ns_;
  } else {
    const double uniform = static_cast<double>(random_.next() >> 11) * 0x1p-53;  // [0, 1)
    at_ns_ -= std::log1p(-uniform) * mean_gap_ns_;
  }
  return static_cast<std::int64_t>(at_ns_);
}

}  // namespace tentq::bench::qos
