// The processes of a replay. Each reports when it is ready, then waits for its order.
#pragma once

#include <chrono>

#include "tests/bench/replay/setup.h"
#include "tests/support/role.h"

namespace tentq::bench {

// Holds blocks: exports its memory from offset 0 as store_name(store), then makes no call until it
// is ordered to stop.
test::Role start_store(Replay& replay, std::uint32_t store, std::chrono::seconds limit);

// Carries out every options.engines-th request of the trace, one order. Its totals and samples are
// in `replay`.
test::Role start_engine(Replay& replay, std::uint32_t engine, std::chrono::seconds limit);

// Keeps options.flood bytes outstanding as background, in 16 MiB owners between two ranges of its
// own, until it is ordered to stop; then reports the bytes it moved as `count`.
test::Role start_flood(Replay& replay, std::chrono::seconds limit);

}  // namespace tentq::bench
