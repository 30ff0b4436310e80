// The 128-byte request cell of a ring: what a client asks for. Written by the client, so the daemon
// copies each cell once and checks only the copy. Byte by byte in README.md; little-endian.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tentq {

enum class CellKind : std::uint8_t { transfer = 1, notify = 2, cancel = 3, permit_report = 4 };
enum class Op : std::uint8_t { read = 0, write = 1 };

// Bits of Cell::flags; all others must be zero.
inline constexpr std::uint16_t kCellReplayed = 1u << 0;    // repeated after a re-attach
inline constexpr std::uint16_t kCellPermit = 1u << 1;      // the owner is a permit on `lane`
inline constexpr std::uint16_t kCellExtents = 1u << 2;     // the arena range holds Extents
inline constexpr std::uint16_t kCellNoResubmit = 1u << 3;  // never repeated after a daemon's death
inline constexpr std::uint16_t kCellDowngraded = 1u
                                                 << 4;  // asked for a more urgent class; shown only
inline constexpr std::uint16_t kCellFlagMask = 0x001f;

// Everything of a cell but its sequence word.
struct CellBody {
  CellKind kind{};
  Op op{};
  std::uint16_t flags = 0;
  std::uint16_t group_size = 0;   // cells of the call, 1 for control cells
  std::uint16_t group_index = 0;  // 0 … group_size − 1
  std::uint32_t slot = 0;
  std::uint32_t slot_generation = 0;
  std::uint32_t local_region = 0;       // RegionId of this session
  std::uint32_t remote_segment = 0;     // SegmentHandle of this session
  std::uint64_t local_offset = 0;       // from the region's start, bytes
  std::uint64_t remote_offset = 0;      // in the segment's address space, bytes
  std::uint64_t length = 0;             // bytes; of a permit: bytes to move
  std::uint64_t deadline_ns = 0;        // duration from enqueue; 0 = none
  std::uint64_t max_queue_wait_ns = 0;  // duration from enqueue; 0 = none
  std::uint32_t arena_offset = 0;  // of extents or a notification, in the session's arena, bytes
  std::uint32_t arena_length = 0;  // bytes; 0 = none
  std::uint64_t cookie = 0;        // returned in listings; meaningless to the daemon
  std::uint32_t lane = 0;          // of a permit
  std::uint32_t reserved0 = 0;
  std::uint64_t reserved[4] = {};
};
static_assert(sizeof(CellBody) == 120);

struct alignas(128) Cell {
  // Position + 1 once published. Partner: the daemon's acquire load; without the release store the
  // daemon could read a body that is not written yet.
  std::atomic<std::uint64_t> seq;
  CellBody body;
};
static_assert(sizeof(Cell) == 128 && offsetof(Cell, body) == 8);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(offsetof(CellBody, slot) == 8 && offsetof(CellBody, local_region) == 16);
static_assert(offsetof(CellBody, local_offset) == 24 && offsetof(CellBody, length) == 40);
static_assert(offsetof(CellBody, deadline_ns) == 48 && offsetof(CellBody, arena_offset) == 64);
static_assert(offsetof(CellBody, cookie) == 72 && offsetof(CellBody, lane) == 80);
static_assert(offsetof(CellBody, reserved) == 88);

// One piece of an owner's list, in the arena.
struct Extent {
  std::uint64_t local_offset;
  std::uint64_t remote_offset;
  std::uint64_t length;
};
static_assert(sizeof(Extent) == 24);

// Head of a notification in the arena, followed by `after_count` SlotRefs, the name, the message.
struct NotifyHead {
  std::uint64_t serial;       // the sender's, rising; repeats are dropped by the receiver
  std::uint32_t after_count;  // owners that must be COMPLETED first
  std::uint16_t name_bytes;
  std::uint16_t message_bytes;
};
static_assert(sizeof(NotifyHead) == 16);
struct SlotRef {
  std::uint32_t slot;
  std::uint32_t generation;
};
static_assert(sizeof(SlotRef) == 8);

inline constexpr std::uint32_t kMaxNotifyNameBytes = 64;
inline constexpr std::uint32_t kMaxNotifyMessageBytes = 4096;
inline constexpr std::uint32_t kMaxNotifyAfter = 1024;

}  // namespace tentq
