// `tentq-bench core`: the decisions alone, without rings, copies or processes.
#include "tests/bench/commands.h"
#include "tests/bench/core_bench.h"

namespace tentq::bench {}  // namespace tentq::bench
