// One owner: its record of two cache lines, and the only function that changes its state.
// Conductor thread. Bytes and nanoseconds.
#pragma once

#include <cstdint>

#include "daemon/core/core.h"
#include "daemon/core/slab.h"

namespace tentq::core {

// What can happen to an owner. README.md draws the states.
enum class OwnerAction : std::uint8_t {
  admit,           // its lane is known
  admit_unrouted,  // its lane is not known yet
  route,           // its lane has become known
  hand_over,       // a chunk was dispatched, more is left
  hand_over_last,  // a chunk was dispatched, nothing is left
  take_back,       // a chunk was refused; others are in flight or done
  take_back_all,   // a chunk was refused; nothing else was handed over
  drain,           // the outcome is decided, chunks are in flight
  complete,
  fail,  // also timed out
  cancel,
  retire,  // its end was told; the record is free
};

// The state after `action`; aborts when the action is impossible in `from` (our bug).
constexpr OwnerState next_state(OwnerState from, OwnerAction action);

constexpr std::size_t index_of_state(OwnerState state) {
  return static_cast<std::size_t>(state);
}
constexpr bool is_queued(OwnerState state) {
  return state == OwnerState::queued || state == OwnerState::route_pending;
}
constexpr bool is_in_flight(OwnerState state) {
  return state == OwnerState::dispatching || state == OwnerState::submitted ||
         state == OwnerState::draining;
}
static_assert(OwnerState::free < OwnerState::queued &&
              OwnerState::draining < OwnerState::completed);
constexpr bool is_live(OwnerState state) {
  return state >= OwnerState::queued && state <= OwnerState::draining;
}
// Whether it stands in the queue of its leaf.
constexpr bool is_in_leaf(OwnerState state) {
  return state == OwnerState::queued || state == OwnerState::dispatching;
}

enum OwnerFlag : std::uint8_t {
  kWrite = 1u << 0,
  kInternal = 1u << 1,
  kHasExpiry = 1u << 2,    // OwnerExtras holds a deadline or a longest queue wait
  kInWheel = 1u << 3,      // linked into the timing wheel
  kHasReturned = 1u << 4,  // OwnerExtras lists chunks that its transport refused
  kAnyFailed = 1u << 5,    // a chunk of it ended badly: it can no longer complete
  kDated = 1u << 6,        // has a deadline, and OwnerExtras its key
};

struct alignas(64) OwnerRecord {
  // What picking and completing touch.
  std::uint32_t generation = 0;
  std::uint32_t next = kNone;  // in its leaf, among those without a route, or among the ended
  std::uint32_t prev = kNone;
  std::uint32_t chunks = kNone;     // in flight; list in the chunk table
  std::uint32_t slot_next = kNone;  // chain of the slot index
  std::uint32_t extents = 0;
  std::uint16_t session = 0;
  std::uint16_t client = 0;
  std::uint16_t lane = LaneId::kInvalid;
  OwnerState state = OwnerState::free;
  std::uint8_t cls = 0;
  std::uint8_t flags = 0;
  TaskState outcome = TaskState::pending;  // decided, or pending
  std::uint8_t refusals = 0;               // in a row, since a chunk of it was taken
  std::uint8_t reason = 0;                 // Reason of the outcome
  std::uint32_t in_flight = 0;             // chunks
  std::uint64_t length = 0;
  std::uint64_t handed = 0;     // [0, handed) was cut into chunks
  std::uint64_t completed = 0;  // bytes moved
  // What the ends of its life touch.
  std::uint32_t slot = 0;
  std::uint32_t slot_generation = 0;
  std::uint32_t local_region = 0;
  std::uint32_t remote_region = 0;
  std::uint64_t local_offset = 0;
  std::uint64_t remote_offset = 0;
  std::int64_t enqueued_ns = 0;
  std::int64_t dispatched_ns = 0;  // first chunk; 0 = never
  std::uint64_t cookie = 0;
  std::uint64_t order = 0;  // of entering its leaf; of an ended one: when, in ns

  ClassId class_id() const { return static_cast<ClassId>(cls); }
  Op op() const { return (flags & kWrite) != 0 ? Op::write : Op::read; }
  bool internal() const { return (flags & kInternal) != 0; }
  Amounts amounts() const { return {1, length, extents}; }
};
static_assert(sizeof(OwnerRecord) == 128);

// What most owners never need: times, refused chunks, a missing route.
struct OwnerExtras {
  std::int64_t deadline_ns = 0;      // 0 = none
  std::int64_t queue_expiry_ns = 0;  // 0 = none
  std::int64_t due_ns = 0;           // when the wheel gives it back
  std::uint32_t next = kNone;        // in its bucket
  std::uint32_t prev = kNone;
  std::uint32_t bucket = 0;
  std::uint32_t segment = 0;                // while its route is not known
  std::uint32_t returned = kNone;           // chunks that were refused; list in the chunk table
  std::uint32_t due_key = 0;                // DeadlineOrder's of its deadline
  Reason without_route = Reason::no_route;  // why it fails without one
};

namespace detail {
template <class... States>
constexpr OwnerState step(OwnerState from, OwnerState to, States... allowed) {
  const std::uint32_t mask = ((1u << index_of_state(allowed)) | ...);
  TENTQ_CHECK((mask >> index_of_state(from) & 1u) != 0);
  return to;
}
}  // namespace detail

constexpr OwnerState next_state(OwnerState from, OwnerAction action) {
  using enum OwnerState;
  using detail::step;
  switch (action) {
    case OwnerAction::admit: return step(from, queued, free);
    case OwnerAction::admit_unrouted: return step(from, route_pending, free);
    case OwnerAction::route: return step(from, queued, route_pending);
    case OwnerAction::hand_over: return step(from, dispatching, queued, dispatching);
    case OwnerAction::hand_over_last: return step(from, submitted, queued, dispatching);
    case OwnerAction::take_back: return step(from, dispatching, dispatching, submitted);
    case OwnerAction::take_back_all: return step(from, queued, dispatching, submitted);
    case OwnerAction::drain: return step(from, draining, dispatching, submitted);
    case OwnerAction::complete: return step(from, completed, submitted, draining);
    case OwnerAction::fail:
      return step(from, failed, queued, route_pending, dispatching, submitted, draining);
    case OwnerAction::cancel:
      return step(from, canceled, queued, route_pending, dispatching, submitted, draining);
    case OwnerAction::retire: return step(from, free, completed, failed, canceled);
  }
  return from;
}

}  // namespace tentq::core
