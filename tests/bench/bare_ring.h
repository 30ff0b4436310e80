// The request ring alone, between two processes, with nothing behind it: the limit of `submit`.
#pragma once

#include <cstdint>
#include <memory>

#include "shm/ring.h"
#include "tests/support/role.h"

namespace tentq::bench {

// Ring memory that later children share; both ends may be taken again and again, by one process
// each.
class BareRing {
 public:
  static constexpr std::uint32_t kCells = 1024;  // as a session has by default
  static constexpr std::uint32_t kReserved = 64;

  BareRing();

  // In the producing process: publishes `owners` cells in groups of `batch`. Spins while it is
  // full.
  void produce(std::uint64_t owners, std::uint32_t batch);
  // In the consuming process: takes that many. Throws std::runtime_error on a fault of the ring or
  // a wrong cell. Returns when the last one was taken, CLOCK_MONOTONIC.
  std::int64_t consume(std::uint64_t owners);

 private:
  struct alignas(64) Words {
    std::atomic<std::uint64_t> value;
  };

  test::SharedArray<Cell> cells_;
  test::SharedArray<Words> words_;  // tail, head
  shm::RingProducer producer_;
  shm::RingConsumer consumer_;
  std::uint64_t produced_ = 0;  // of this process
  std::uint64_t consumed_ = 0;
};

}  // namespace tentq::bench
