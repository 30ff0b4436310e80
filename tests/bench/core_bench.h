// What an owner costs the core: admit + pick + complete, with a given number of owners queued all
// the time, beside one random access to a 64-byte record among as many, measured in turns.
#pragma once

#include <cstdint>
#include <vector>

struct CoreBenchRow {
  std::uint64_t queued = 0;
  double ns_per_owner = 0;      // median of the rounds
  double random_access_ns = 0;  // median of the rounds
};

// Rows for 1e3, 1e4, 1e5 and 1e6 queued owners, as far as max_owners allows (at least 1,000).
// allocations_after_start: calls of operator new in this process while owners were measured; the
// program that links this file has its operator new counted.
std::vector<CoreBenchRow> run_core_bench(std::uint64_t max_owners,
                                         std::uint64_t* allocations_after_start);
