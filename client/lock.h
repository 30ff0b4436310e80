// The library's one short lock. What it guards (slots, credit, one group of cells) takes well under
// a microsecond, so who finds it taken polls for a while, and then sleeps for a bounded time,
// because its holder may have been preempted. Giving it back is one store: nobody is ever woken by
// it.
#pragma once

#include <atomic>
#include <cstdint>

namespace tentq::lib {

class Lock {
 public:
  Lock() = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  // Partner: unlock(). Acquire: what the last holder wrote is visible.
  void lock() {
    if (word_.exchange(1, std::memory_order_acquire) != 0) lock_contended();
  }
  // Partner: lock(). Release: without it the next holder could miss what this one wrote.
  void unlock() { word_.store(0, std::memory_order_release); }

 private:
  void lock_contended();

  alignas(64) std::atomic<std::uint32_t> word_{0};
};

}  // namespace tentq::lib
