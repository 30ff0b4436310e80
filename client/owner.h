// An owner as its client keeps it: where its status is found, what it asked for (to repeat it after
// a daemon's death) and, once latched, how it ended.
#pragma once

#include <atomic>
#include <cstdint>

#include "proto/cell.h"
#include "proto/status.h"

namespace tentq::lib {

// Owner::word, one of
//   terminal: latched, `final` is valid and never changes
//   bound:    in `slot` under `generation` of the session with this ordinal (modulo 2^15)
//   unbound:  not published (not yet, or not again after a daemon's death); reads as PENDING
class OwnerWord {
 public:
  constexpr OwnerWord() = default;
  constexpr explicit OwnerWord(std::uint64_t bits) : bits_(bits) {}
  static constexpr OwnerWord bound(std::uint16_t ordinal, std::uint32_t slot,
                                   std::uint32_t generation) {
    return OwnerWord{((std::uint64_t{ordinal} & kOrdinalMask) << 48) |
                     ((std::uint64_t{slot} & 0xffff) << 32) | generation};
  }
  static constexpr OwnerWord terminal(TaskState state, Reason reason) {
    return OwnerWord{kTerminal | (std::uint64_t{static_cast<std::uint8_t>(state)} << 16) |
                     static_cast<std::uint16_t>(reason)};
  }
  constexpr std::uint64_t bits() const { return bits_; }
  constexpr bool is_terminal() const { return (bits_ & kTerminal) != 0; }
  // Generations begin at 1, so a bound word is never 0.
  constexpr bool is_unbound() const { return bits_ == 0; }
  constexpr bool is_bound() const { return !is_terminal() && !is_unbound(); }
  constexpr std::uint16_t ordinal() const {
    return static_cast<std::uint16_t>((bits_ >> 48) & kOrdinalMask);
  }
  constexpr std::uint32_t slot() const { return static_cast<std::uint32_t>(bits_ >> 32) & 0xffff; }
  constexpr std::uint32_t generation() const { return static_cast<std::uint32_t>(bits_); }
  constexpr TaskState state() const {
    return is_terminal() ? static_cast<TaskState>(static_cast<std::uint8_t>(bits_ >> 16))
                         : TaskState::pending;
  }
  constexpr Reason reason() const {
    return is_terminal() ? static_cast<Reason>(static_cast<std::uint16_t>(bits_)) : Reason::none;
  }
  constexpr bool operator==(const OwnerWord&) const = default;

  static constexpr std::uint16_t kOrdinalMask = 0x7fff;

 private:
  static constexpr std::uint64_t kTerminal = std::uint64_t{1} << 63;
  std::uint64_t bits_ = 0;
};
static_assert(OwnerWord::bound(3, 65'535, 7).slot() == 65'535);
static_assert(OwnerWord::bound(0x7fff, 1, 7).ordinal() == 0x7fff);
static_assert(!OwnerWord::bound(0x7fff, 1, 7).is_terminal());
static_assert(OwnerWord::terminal(TaskState::timeout, Reason::deadline).reason() ==
              Reason::deadline);
static_assert(OwnerWord::terminal(TaskState::completed, Reason::none).state() ==
              TaskState::completed);

// How an owner stands, as one copy. Times are nanoseconds of CLOCK_MONOTONIC, 0 = unknown or never.
struct OwnerView {
  TaskState state = TaskState::pending;
  Reason reason = Reason::none;
  std::uint64_t bytes_done = 0;
  std::int64_t enqueued_ns = 0;
  std::int64_t dispatched_ns = 0;
  std::int64_t completed_ns = 0;
};

struct Owner {
  // Written under the client's lock; read by status() without it. Partner: the acquire load in
  // SlotTables::view. Release: without it a reader could find `final` of an earlier owner.
  std::atomic<std::uint64_t> word{0};
  OwnerView final;                  // valid once the word is terminal
  std::uint64_t local_offset = 0;   // from the region's start, bytes
  std::uint64_t remote_offset = 0;  // in the segment's address space, bytes
  std::uint64_t length = 0;         // bytes
  std::uint32_t region = 0;         // Region::id
  std::uint32_t segment = 0;        // SegmentId
  std::uint32_t call = 0;           // index in its batch's calls
  Op op{};
  bool cancel_asked = false;

  OwnerWord load() const { return OwnerWord{word.load(std::memory_order_acquire)}; }
  void store(OwnerWord value) { word.store(value.bits(), std::memory_order_release); }
};

}  // namespace tentq::lib
