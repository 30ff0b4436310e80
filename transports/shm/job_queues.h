// The two queues between the conductor and the copying threads. Lock-free, bounded, allocated once.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>

#include "transports/shm/copy_job.h"

namespace tentq {

// Tickets from the conductor to whichever copying thread is free first, so that a thread that is
// stuck in one copy holds back no other.
class JobRing {
 public:
  explicit JobRing(std::uint32_t least_capacity)
      : mask_(std::bit_ceil(std::max<std::uint64_t>(least_capacity, 2)) - 1),
        cells_(std::make_unique<std::atomic<std::uint64_t>[]>(mask_ + 1)) {}

  // Conductor. False when full.
  bool push(JobTicket ticket) {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) > mask_) return false;
    cells_[tail & mask_].store((std::uint64_t{ticket.generation} << 32) | ticket.slot,
                               std::memory_order_relaxed);
    // Publishes the cell and the job (partner: the acquire load in take()). seq_cst for the sleep
    // handshake of CopyWorkers (partner: empty() on a thread about to sleep).
    tail_.store(tail + 1, std::memory_order_seq_cst);
    return true;
  }

  // Any copying thread. The cell is read before the head is won: it can only be overwritten after
  // the head moved on, and then the exchange fails and the value is thrown away.
  std::optional<JobTicket> take() {
    std::uint64_t head = head_.load(std::memory_order_acquire);
    while (head != tail_.load(std::memory_order_acquire)) {
      const std::uint64_t cell = cells_[head & mask_].load(std::memory_order_relaxed);
      // Release: the conductor's acquire of the head makes the cell free for reuse.
      if (head_.compare_exchange_weak(head, head + 1, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
        return JobTicket{static_cast<std::uint32_t>(cell), static_cast<std::uint32_t>(cell >> 32)};
      }
    }
    return std::nullopt;
  }

  // Any thread.
  bool empty() const {
    return head_.load(std::memory_order_seq_cst) == tail_.load(std::memory_order_seq_cst);
  }

 private:
  // What the copying threads write apart from what the conductor writes; who reads the tail reads
  // the rest of its line too.
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  const std::uint64_t mask_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> cells_;
};

// Slots of ended jobs from one thread to the conductor. Never full: it has room for every job.
class DoneRing {
 public:
  explicit DoneRing(std::uint32_t jobs)
      : mask_(std::bit_ceil(std::max<std::uint64_t>(jobs, 2)) - 1),
        slots_(std::make_unique<std::uint32_t[]>(mask_ + 1)) {}

  // The one producing thread, which no longer touches the job's memory.
  void push(std::uint32_t slot) {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    slots_[tail & mask_] = slot;
    // Publishes the result and the copied bytes (partner: the acquire load in take()). seq_cst for
    // the handshake of WakeupFd (partner: ready() on the conductor about to sleep).
    tail_.store(tail + 1, std::memory_order_seq_cst);
  }

  // Conductor.
  std::optional<std::uint32_t> take() {
    if (head_ == tail_.load(std::memory_order_acquire)) return std::nullopt;
    return slots_[head_++ & mask_];
  }
  bool ready() const { return head_ != tail_.load(std::memory_order_seq_cst); }

 private:
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  const std::uint64_t mask_;
  std::unique_ptr<std::uint32_t[]> slots_;
  alignas(64) std::uint64_t head_ = 0;
};

}  // namespace tentq
