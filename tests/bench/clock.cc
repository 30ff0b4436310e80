// Reads the host's monotonic clock.
#include "tests/bench/clock.h"

#include <time.h>

namespace tentq::bench {

std::int64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace tentq::bench
