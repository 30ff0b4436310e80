// A list in order of use and a map into it.
#include "tests/bench/replay/lru.h"

namespace tentq::bench {

bool LruModel::access(std::uint64_t block) {
  const auto found = where_.find(block);
  if (found != where_.end()) {
    order_.splice(order_.begin(), order_, found->second);
    return true;
  }
  if (capacity_ == 0) return false;
  if (order_.size() == capacity_) {
    where_.erase(order_.back());
    order_.pop_back();
  }
  order_.push_front(block);
  where_.emplace(block, order_.begin());
  return false;
}

LruTotals exact_lru(std::span<const TraceRequest> trace, std::uint64_t capacity_blocks) {
  LruModel model(capacity_blocks);
  LruTotals totals;
  for (const TraceRequest& request : trace) {
    for (const std::uint64_t block : request.blocks) {
      ++(model.access(block) ? totals.hits : totals.misses);
    }
  }
  return totals;
}

}  // namespace tentq::bench
