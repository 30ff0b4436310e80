// What tests of racing threads share.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace tentq::shm {

// Something to do that takes a little and varying time, so that two sides meet at every point.
inline void dawdle(std::uint32_t round) {
  for (std::uint32_t i = round * 2654435761u >> 25; i != 0; --i) asm volatile("");
}

// Lets two threads do one step each at the same moment, again and again: start(), the step,
// finish(); what both did is visible to both after finish().
class Race {
 public:
  // `side` is 0 or 1. Returns when both sides are here.
  void start(int side) { meet(arrived_[side], arrived_[1 - side]); }
  // Returns when both sides are done; side 1 may then prepare the next round, side 0 waits in
  // start().
  void finish(int side) { meet(done_[side], done_[1 - side]); }

 private:
  static void meet(std::atomic<unsigned>& mine, const std::atomic<unsigned>& other) {
    const unsigned round = mine.fetch_add(1) + 1;
    for (int spins = 0; other.load() < round; ++spins) {
      if (spins % 64 == 63) std::this_thread::yield();
    }
  }

  alignas(64) std::atomic<unsigned> arrived_[2] = {};
  alignas(64) std::atomic<unsigned> done_[2] = {};
};

}  // namespace tentq::shm
