// The request ring of one class: bounded, producers are the threads of one client, the consumer is
// the daemon. A group is visible whole or not at all: one CAS on the tail reserves its cells, the
// first cell is published last. Cells lie in REQ (client writes), the head in STA (daemon writes).
// Positions count cells since the session began and never wrap in practice (64 bits).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "proto/check.h"
#include "proto/session_layout.h"
#include "shm/cancellation_hold.h"

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
               std::atomic<std::uint64_t>* tail, const std::atomic<std::uint64_t>* head)
      : cells_(cells), mask_(ring_cells - 1), reserved_(reserved), tail_(tail), head_(head) {
    TENTQ_CHECK(ring_cells != 0 && (ring_cells & mask_) == 0 && reserved < ring_cells);
  }

  // Publishes the bodies as one group (fills in group_size and group_index). False: no room,
  // nothing was published. Never blocks; thread cancellation is held off meanwhile. bodies: 1 …
  // ring_cells; more than ring_cells − reserved bodies of `work` never find room. On success
  // *position (if not null) is the ring position of the first cell.
  bool publish(std::span<const CellBody> bodies, RingUse use, std::uint64_t* position = nullptr);
  // Asks for the lines that the next group of one will write; a hint. The daemon has read them
  // since they were written last, and the stores would have to wait for them.
  void prefetch() const {
    const Cell& next = cells_[tail_->load(std::memory_order_relaxed) & mask_];
    __builtin_prefetch(&next, 1);
    __builtin_prefetch(reinterpret_cast<const std::byte*>(&next) + 64, 1);
  }
  // Free cells for `use`, at this moment.
  std::uint32_t room(RingUse use) const;
  // Cells before this position are consumed.
  // Partner: RingConsumer::publish_head. Acquire: without it a store into a reused cell could be
  // performed before the daemon's last read of that cell.
  std::uint64_t head() const { return head_->load(std::memory_order_acquire); }

 private:
  // Reserves `count` cells; false when there is no room.
  bool reserve(std::uint32_t count, RingUse use, std::uint64_t* first);
  void fill(std::uint64_t position, const CellBody& body, std::uint32_t size, std::uint32_t index);
  // Another thread's look serves as well: release and acquire pass on what head() acquired.
  std::uint64_t seen_head() const {
    return std::atomic_ref(seen_head_).load(std::memory_order_acquire);
  }
  std::uint64_t look_at_head() const {
    const std::uint64_t now = head();
    std::atomic_ref(seen_head_).store(now, std::memory_order_release);
    return now;
  }
  std::uint32_t capacity(RingUse use) const {
    return mask_ + 1 - (use == RingUse::work ? reserved_ : 0);
  }

  Cell* cells_ = nullptr;
  std::uint32_t mask_ = 0;
  std::uint32_t reserved_ = 0;
  std::atomic<std::uint64_t>* tail_ = nullptr;
  const std::atomic<std::uint64_t>* head_ = nullptr;
  mutable std::uint64_t seen_head_ = 0;  // a value that the head had
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
               std::atomic<std::uint64_t>* published_head)
      : cells_(cells), mask_(ring_cells - 1), tail_(tail), published_head_(published_head) {
    TENTQ_CHECK(ring_cells != 0 && (ring_cells & mask_) == 0);
  }

  // True if the cell at the head is published (one acquire load, no copy).
  bool ready() const { return sequence(head_) == head_ + 1; }
  // Asks for the lines that take_group will read; a hint.
  void prefetch() const {
    __builtin_prefetch(&cells_[head_ & mask_].seq);
    __builtin_prefetch(reinterpret_cast<const std::byte*>(&cells_[head_ & mask_]) + 64);
  }
  // Copies the next whole group into `group` (at least ring_cells long) and moves the private head
  // past it. Returns its cells; 0 if nothing is published. On a fault returns 0, sets *fault and
  // the ring must not be used again.
  std::uint32_t take_group(std::span<CellBody> group, RingFault* fault);
  // False if the tail is impossible: it moved back, runs more than the ring ahead, or cells were
  // published that nobody reserved. For the daemon nothing hangs on the tail, so this is asked now
  // and then: a look at every group would take its line away from the producers each time.
  bool check_tail();
  // Makes the consumed cells reusable for the producers (at most one release store). Once a turn.
  // Partner: RingProducer::head. Release: without it a producer could overwrite a cell that is
  // still being copied.
  void publish_head() {
    if (head_ == shown_head_) return;
    shown_head_ = head_;
    published_head_->store(head_, std::memory_order_release);
  }
  // Cells reserved (tail) but not published at the head: true for long means a stalled producer.
  // Partner of the tail: the CAS in RingProducer::reserve. Relaxed: only a hint.
  bool stalled() const { return tail_->load(std::memory_order_relaxed) != head_ && !ready(); }
  std::uint64_t head() const { return head_; }

 private:
  // Partner: the release store in RingProducer::fill. Acquire: without it the body could be read
  // before it was written.
  std::uint64_t sequence(std::uint64_t position) const {
    return cells_[position & mask_].seq.load(std::memory_order_acquire);
  }
  void copy_once(std::uint64_t position, CellBody* body) const;

  const Cell* cells_ = nullptr;
  std::uint32_t mask_ = 0;
  const std::atomic<std::uint64_t>* tail_ = nullptr;
  std::atomic<std::uint64_t>* published_head_ = nullptr;
  std::uint64_t head_ = 0;
  std::uint64_t shown_head_ = 0;  // last value of *published_head_
  std::uint64_t seen_tail_ = 0;   // last value of *tail_ that was in range
};

inline bool RingProducer::reserve(std::uint32_t count, RingUse use, std::uint64_t* first) {
  const std::uint64_t limit = capacity(use);
  // Relaxed: the tail carries no data, the cells' sequence words do. The CAS makes a range of
  // positions one thread's own; without its atomicity two threads would write the same cells.
  std::uint64_t tail = tail_->load(std::memory_order_relaxed);
  for (;;) {
    // The daemon writes the head's line with every turn: it is read only when the last look at it
    // does not suffice.
    std::uint64_t used = tail - seen_head();
    if (used > limit || count > limit - used) used = tail - look_at_head();
    if (used > limit || count > limit - used) {
      // `tail` may be older than the head that was just read; only a current one decides.
      const std::uint64_t current = tail_->load(std::memory_order_relaxed);
      if (current == tail) return false;
      tail = current;
      continue;
    }
    if (tail_->compare_exchange_weak(tail, tail + count, std::memory_order_relaxed)) break;
  }
  *first = tail;
  return true;
}

inline void RingProducer::fill(std::uint64_t position, const CellBody& body, std::uint32_t size,
                               std::uint32_t index) {
  Cell& cell = cells_[position & mask_];
  cell.body = body;
  cell.body.group_size = static_cast<std::uint16_t>(size);
  cell.body.group_index = static_cast<std::uint16_t>(index);
  // Partner: RingConsumer::sequence. Release: the body, and of a first cell all others of its
  // group, must be visible before the daemon finds the sequence.
  cell.seq.store(position + 1, std::memory_order_release);
}

inline bool RingProducer::publish(std::span<const CellBody> bodies, RingUse use,
                                  std::uint64_t* position) {
  TENTQ_CHECK(!bodies.empty() && bodies.size() <= mask_ + std::size_t{1});
  const auto count = static_cast<std::uint32_t>(bodies.size());
  const CancellationHold hold;
  std::uint64_t first = 0;
  if (!reserve(count, use, &first)) return false;
  for (std::uint32_t i = 1; i < count; ++i) fill(first + i, bodies[i], count, i);
  fill(first, bodies[0], count, 0);
  if (position != nullptr) *position = first;
  return true;
}

inline std::uint32_t RingProducer::room(RingUse use) const {
  const std::uint64_t tail = tail_->load(std::memory_order_relaxed);
  const std::uint64_t used = tail - head();  // wraps if `tail` was older: then nothing is used
  const std::uint64_t limit = capacity(use);
  if (static_cast<std::int64_t>(used) < 0) return static_cast<std::uint32_t>(limit);
  return used >= limit ? 0 : static_cast<std::uint32_t>(limit - used);
}

// Word by word and atomically: a hostile client that writes at the same time changes which values
// are copied, but every word is read once and only the copy is used afterwards.
inline void RingConsumer::copy_once(std::uint64_t position, CellBody* body) const {
  constexpr std::size_t kWords = sizeof(CellBody) / sizeof(std::uint64_t);
  using Word [[gnu::may_alias]] = std::uint64_t;
  const auto* words = reinterpret_cast<const Word*>(&cells_[position & mask_].body);
  auto* copy = reinterpret_cast<std::byte*>(body);
  const auto copy_words = [ words, copy ]<std::size_t... index>(std::index_sequence<index...>) {
    const auto copy_word = [words, copy](std::size_t i) {
      const std::uint64_t word = __atomic_load_n(words + i, __ATOMIC_RELAXED);
      std::memcpy(copy + i * sizeof word, &word, sizeof word);
    };
    (copy_word(index), ...);
  };
  copy_words(std::make_index_sequence<kWords>{});
}

inline bool RingConsumer::check_tail() {
  // Partner: the CAS in RingProducer::reserve. Relaxed: it precedes the sequences that were
  // acquired before, so what was taken is always inside the tail that is read here.
  const std::uint64_t tail = tail_->load(std::memory_order_relaxed);
  const std::uint64_t least = std::max(seen_tail_, head_);
  if (tail - head_ > mask_ + std::uint64_t{1} || tail < least) return false;
  seen_tail_ = tail;
  return true;
}

inline std::uint32_t RingConsumer::take_group(std::span<CellBody> group, RingFault* fault) {
  TENTQ_CHECK(group.size() > mask_);
  if (!ready()) return 0;
  copy_once(head_, &group[0]);
  const std::uint32_t size = group[0].group_size;
  if (size == 0 || size > mask_ + 1 || group[0].group_index != 0) {
    *fault = RingFault::bad_group;
    return 0;
  }
  for (std::uint32_t i = 1; i < size; ++i) {
    if (sequence(head_ + i) != head_ + i + 1) {
      *fault = RingFault::bad_sequence;
      return 0;
    }
    copy_once(head_ + i, &group[i]);
    if (group[i].group_size != size || group[i].group_index != i) {
      *fault = RingFault::bad_group;
      return 0;
    }
  }
  head_ += size;
  return size;
}

}  // namespace tentq::shm
