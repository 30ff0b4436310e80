// What tests of racing threads share.
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace tentq::shm {

// Something to do that takes a little and varying time, so that two sides meet at every point.
inline void dawdle(std::uint32_t round) {
  for (std::uint32_t i = round * 2654435761u >> 21; i != 0; --i) asm volatile("");
}

// Keeps the calling thread on the `side`-th processor it may use, if there are so many, while this
// lives: two threads that took turns on one processor would never meet. New threads inherit it:
// start them first.
class OnProcessor {
 public:
  explicit OnProcessor(int side) {
    sched_getaffinity(0, sizeof before_, &before_);
    int left = side;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &before_) || left-- != 0) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      sched_setaffinity(0, sizeof one, &one);
    }
  }
  ~OnProcessor() { sched_setaffinity(0, sizeof before_, &before_); }
  OnProcessor(const OnProcessor&) = delete;
  OnProcessor& operator=(const OnProcessor&) = delete;

 private:
  cpu_set_t before_{};
};

// Lets two threads do one step each at the same moment, again and again: while (start(side)) { the
// step; finish(side); }. What both did is visible to both after finish(). Ends after `rounds`
// rounds, or sooner on a machine so busy that they take long.
class Race {
 public:
  explicit Race(std::uint32_t rounds) : rounds_(rounds) {}
  // `side` is 0 or 1. Returns when both sides are here; false when it is over.
  bool start(int side) {
    if (side == 1) over_ = done_[1] == rounds_ || std::chrono::steady_clock::now() >= end_;
    meet(arrived_[side], arrived_[1 - side]);
    return !over_;
  }
  // Returns when both sides are done; side 1 may then prepare the next round, side 0 waits in
  // start().
  void finish(int side) { meet(done_[side], done_[1 - side]); }
  std::uint32_t rounds_done() const { return done_[1]; }

 private:
  static void meet(std::atomic<std::uint32_t>& mine, const std::atomic<std::uint32_t>& other) {
    const std::uint32_t round = mine.fetch_add(1) + 1;
    for (int spins = 0; other.load() < round; ++spins) {
      if (spins % 1024 == 1023) std::this_thread::yield();
    }
  }

  const std::uint32_t rounds_;
  const std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(5);
  std::atomic<bool> over_{false};
  alignas(64) std::atomic<std::uint32_t> arrived_[2] = {};
  alignas(64) std::atomic<std::uint32_t> done_[2] = {};
};

}  // namespace tentq::shm
