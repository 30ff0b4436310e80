// A ring in ordinary memory, with both of its ends: for tests of one process.
#pragma once

#include <memory>
#include <vector>

#include "shm/ring.h"

namespace tentq::shm {

class RingMemory {
 public:
  explicit RingMemory(std::uint32_t ring_cells, std::uint32_t reserved = 0)
      : cells(new Cell[ring_cells]()),
        producer(cells.get(), ring_cells, reserved, &tail, &head),
        consumer(cells.get(), ring_cells, &tail, &head),
        taken(ring_cells) {}

  // The next group's cookies; empty if there is none or the ring is at fault.
  std::vector<std::uint64_t> take() {
    const std::uint32_t count = consumer.take_group(taken, &fault);
    std::vector<std::uint64_t> cookies;
    for (std::uint32_t i = 0; i < count; ++i) cookies.push_back(taken[i].cookie);
    return cookies;
  }

  std::unique_ptr<Cell[]> cells;
  std::atomic<std::uint64_t> tail{0};
  std::atomic<std::uint64_t> head{0};
  RingProducer producer;
  RingConsumer consumer;
  std::vector<CellBody> taken;
  RingFault fault = RingFault::none;
};

// `count` bodies whose cookies count up from `first`.
inline std::vector<CellBody> bodies_from(std::uint64_t first, std::size_t count) {
  std::vector<CellBody> bodies(count);
  for (std::size_t i = 0; i < count; ++i) {
    bodies[i].kind = CellKind::transfer;
    bodies[i].cookie = first + i;
  }
  return bodies;
}

}  // namespace tentq::shm
