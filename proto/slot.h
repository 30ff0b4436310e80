// The 64-byte status slot: how an owner stands. Written by the daemon alone, read by its client.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "proto/status.h"

namespace tentq {

// The slot's one atomic word: generation 32 | state 8 | reason 16 | reserved 8.
struct SlotWord {
  std::uint32_t generation = 0;
  TaskState state = TaskState::pending;
  Reason reason = Reason::none;

  constexpr std::uint64_t pack() const {
    return (std::uint64_t{generation} << 32) |
           (std::uint64_t{static_cast<std::uint8_t>(state)} << 24) |
           (std::uint64_t{static_cast<std::uint16_t>(reason)} << 8);
  }
  static constexpr SlotWord unpack(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> 32),
            static_cast<TaskState>(static_cast<std::uint8_t>(word >> 24)),
            static_cast<Reason>(static_cast<std::uint16_t>(word >> 8))};
  }
};

struct alignas(64) Slot {
  // Partner: the client's acquire load. The daemon stores the other fields first, this word last
  // (release); without that a client could read the times of an older owner.
  std::atomic<std::uint64_t> word;
  std::atomic<std::uint64_t> bytes_done;
  std::atomic<std::int64_t> enqueued_ns;    // daemon's CLOCK_MONOTONIC
  std::atomic<std::int64_t> dispatched_ns;  // first chunk; 0 = never
  std::atomic<std::int64_t> completed_ns;
  std::atomic<std::uint64_t> owner;   // OwnerId::number(), for `tentqctl explain`
  std::atomic<std::uint64_t> detail;  // of a permit: bytes granted; else 0
  std::uint64_t reserved;
};
static_assert(sizeof(Slot) == 64 && offsetof(Slot, word) == 0 && offsetof(Slot, owner) == 40);
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

}  // namespace tentq
