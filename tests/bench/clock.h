// The one clock of all processes of a benchmark.
#pragma once

#include <cstdint>

namespace tentq::bench {

// CLOCK_MONOTONIC, nanoseconds.
std::int64_t now_ns();

}  // namespace tentq::bench
