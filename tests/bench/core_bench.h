// What an owner costs the core: admit + pick + complete, with a given number of owners queued all
// the time, beside one random access to a 64-byte record among as many, measured in turns.
#pragma once

#include <cstdint>
#include <vector>

enum class CoreLoad : std::uint8_t {
  plain,   // 8 clients of 2 sessions, 4 classes, 4 lanes; no deadlines
  leaf,    // 64 clients and 256 lanes, a deadline on every owner; all of one client, class and lane
  spread,  // the same, of all clients, on all lanes, in all classes and internal
};

struct CoreBenchRow {
  std::uint64_t queued = 0;
  double ns_per_owner = 0;      // median of the rounds
  double random_access_ns = 0;  // median of the rounds
  double expired_percent = 0;   // of the owners that ended: by their deadlines
};

struct CoreBenchResult {
  // For 1e3, 1e4, 1e5 and 1e6 queued owners, as far as max_owners allows (at least 1,000).
  std::vector<CoreBenchRow> rows;
  // Calls of operator new in this process while owners were measured; the program that links this
  // has its operator new counted.
  std::uint64_t allocations_after_start = 0;
};

CoreBenchResult run_core_bench(CoreLoad load, std::uint64_t max_owners);
