// What an exact LRU cache of a given size would serve of a trace: the yardstick of the replay.
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>

#include "tests/bench/replay/trace.h"

namespace tentq::bench {

class LruModel {
 public:
  explicit LruModel(std::uint64_t capacity_blocks) : capacity_(capacity_blocks) {}
  // True if the block was there. It is now, as the most recently used; the least recent one left if
  // there was no room. A capacity of 0 holds nothing.
  bool access(std::uint64_t block);

 private:
  std::uint64_t capacity_;
  std::list<std::uint64_t> order_;  // most recent first
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> where_;
};

struct LruTotals {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
};
// All requests in order, the blocks of each in order.
LruTotals exact_lru(std::span<const TraceRequest> trace, std::uint64_t capacity_blocks);

}  // namespace tentq::bench
