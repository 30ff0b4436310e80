// The request ring of one class: bounded, producers are the threads of one client, the consumer is
// the daemon. A group is visible whole or not at all: one CAS on the tail reserves its cells, the
// first cell is published last. Cells lie in REQ (client writes), the head in STA (daemon writes).
#pragma once

#include <cstdint>
#include <span>

#include "proto/session_layout.h"

namespace tentq::shm {

enum class RingUse : std::uint8_t {
  work,     // leaves `reserved` cells free
  control,  // cancel, notify, report: may use them
};

// Client side. Thread-safe between producers of one process. Not async-signal-safe.
class RingProducer {
 public:
  RingProducer() = default;
  // `cells` has ring_cells entries (a power of two); `head` is only read.
  RingProducer(Cell* cells, std::uint32_t ring_cells, std::uint32_t reserved,
               std::atomic<std::uint64_t>* tail, const std::atomic<std::uint64_t>* head);

  // Publishes the bodies as one group (fills in group_size and group_index). False: no room, nothing
  // was published. Never blocks; thread cancellation is held off meanwhile. bodies: 1 … ring_cells.
  // On success *position (if not null) is the ring position of the first cell.
  bool publish(std::span<const CellBody> bodies, RingUse use, std::uint64_t* position = nullptr);
  // Free cells for `use`, at this moment.
  std::uint32_t room(RingUse use) const;
  // Cells before this position are consumed.
  std::uint64_t head() const;

 private:
  Cell* cells_ = nullptr;
  std::uint32_t mask_ = 0;
  std::uint32_t reserved_ = 0;
  std::atomic<std::uint64_t>* tail_ = nullptr;
  const std::atomic<std::uint64_t>* head_ = nullptr;
};

enum class RingFault : std::uint8_t {
  none,
  tail_out_of_range,  // tail moved back, or runs more than the capacity ahead
  bad_sequence,       // a cell inside a published group is not published
  bad_group,          // size or index impossible
};

// Daemon side; one thread. Trusts nothing: the head is private, each cell is copied exactly once.
class RingConsumer {
 public:
  RingConsumer() = default;
  RingConsumer(const Cell* cells, std::uint32_t ring_cells, const std::atomic<std::uint64_t>* tail,
               std::atomic<std::uint64_t>* published_head);

  // True if the cell at the head is published (one acquire load, no copy).
  bool ready() const;
  // Copies the next whole group into `group` (at least ring_cells long) and moves the private head
  // past it. Returns its cells; 0 if nothing is published. On a fault returns 0, sets *fault and
  // the ring must not be used again.
  std::uint32_t take_group(std::span<CellBody> group, RingFault* fault);
  // Makes the consumed cells reusable for the producers (one release store). Once a turn.
  void publish_head();
  // Cells reserved (tail) but not published at the head: > 0 for long means a stalled producer.
  bool stalled() const;
  std::uint64_t head() const { return head_; }

 private:
  const Cell* cells_ = nullptr;
  std::uint32_t mask_ = 0;
  const std::atomic<std::uint64_t>* tail_ = nullptr;
  std::atomic<std::uint64_t>* published_head_ = nullptr;
  std::uint64_t head_ = 0;
  std::uint64_t seen_tail_ = 0;
};

}  // namespace tentq::shm
