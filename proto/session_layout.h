// The two memory areas of a session. REQ is written by the client, STA by the daemon alone.
// Offsets follow from SessionSizes, which WELCOME carries; README.md draws both areas.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "proto/cell.h"
#include "proto/classes.h"
#include "proto/slot.h"

namespace tentq {

// Amounts of admission credit or consumption of one class; cumulative since the session began.
struct alignas(64) CreditCounters {
  std::atomic<std::uint64_t> owners;
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> extents;
};
static_assert(sizeof(CreditCounters) == 64);

// What a thread that was refused would need (per class). `serial` is odd while the amounts are
// written and raised last (release), so that the daemon sees a whole wish; a later wish overwrites
// an older one.
struct alignas(64) CreditWish {
  std::atomic<std::uint64_t> serial;
  std::atomic<std::uint64_t> owners;
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> extents;
  std::atomic<std::uint32_t> waiting;  // threads inside submit_wait: the wish is kept until served
};
static_assert(sizeof(CreditWish) == 64);

struct alignas(64) PaddedCounter {
  std::atomic<std::uint64_t> value;
};
static_assert(sizeof(PaddedCounter) == 64);

struct alignas(64) PaddedFlag {
  std::atomic<std::uint32_t> value;
};
static_assert(sizeof(PaddedFlag) == 64);

// First bytes of REQ. The client writes, the daemon reads and believes nothing.
struct ReqHeader {
  // Raised once for every published group and wish (any class). Partner: StaHeader::need_wakeup,
  // seq_cst; without it the daemon could sleep on work.
  PaddedCounter published;
  // Threads about to sleep on StaHeader::completions, its partner, seq_cst; without it a thread
  // could sleep on its completion.
  PaddedFlag waiters;
  // 1: the daemon writes the completion fd at the next change and clears this. Partner and failure
  // as of `waiters`.
  PaddedFlag completion_fd_armed;
  // Positions reserved so far, per class. The CAS makes them one thread's own; the cells' sequence
  // words publish them.
  PaddedCounter tails[kMaxClasses];
  // Partner: StaHeader::granted, seq_cst; without it credit that is taken back could be spent too.
  CreditCounters consumed[kMaxClasses];
  // Partner: the daemon's acquire loads; without the release stores half a wish could be taken.
  CreditWish wanted[kMaxClasses];
};
static_assert(sizeof(ReqHeader) == 64 * (3 + 3 * kMaxClasses));

enum class DaemonState : std::uint32_t {
  starting = 0,
  running = 1,
  draining = 2,
  restarting = 3,
  quarantined = 4
};

// The limit that a wish ran into, when no credit is left to share out below it.
enum class LimitLevel : std::uint8_t {
  none = 0,     // there is room, or credit of others is being asked back
  host = 1,     // all clients together
  cls = 2,      // the class
  client = 3,   // the client, all its sessions: its quota, or the limit of every client
  session = 4,  // the session's slots
};

inline constexpr std::uint64_t kStaMagic = 0x3153'5451'5445'4e54;  // "TNETQTS1"

// First bytes of STA. The daemon writes, the client reads (its mapping is read-only).
struct StaHeader {
  std::uint64_t magic;
  std::uint64_t layout_hash;
  std::uint64_t epoch_counter;
  std::uint64_t epoch_random;
  // DaemonState. Announces nothing but itself: relaxed, and `completions` changes after it.
  std::atomic<std::uint32_t> state;
  std::uint32_t pad0;
  // LimitLevel that the last wish of each class ran into. For texts only: relaxed.
  std::atomic<std::uint8_t> full_levels[kMaxClasses];
  std::uint64_t pad1[2];
  // 1: the session is parked; ring the doorbell after publishing. Partner: ReqHeader::published.
  PaddedFlag need_wakeup;
  // Futex word: changes with every turn that wrote a slot, credit or head. Partners:
  // ReqHeader::waiters and completion_fd_armed.
  PaddedFlag completions;
  // Cells before these positions are consumed. Partner: the producers' acquire load; without the
  // release store a cell could be overwritten while it is copied.
  PaddedCounter heads[kMaxClasses];
  // Cumulative grants. Partner: ReqHeader::consumed.
  CreditCounters granted[kMaxClasses];
};
static_assert(offsetof(StaHeader, need_wakeup) == 64);
static_assert(sizeof(StaHeader) == 64 * (3 + 2 * kMaxClasses));

struct SessionSizes {
  std::uint32_t class_mask = 0;      // classes that have a ring
  std::uint32_t ring_cells = 1024;   // power of two
  std::uint32_t ring_reserved = 64;  // cells kept for cancel, notify and reports
  std::uint32_t slots = 4096;
  std::uint32_t arena_bytes = 0;  // per session, split evenly among its rings
  std::uint32_t reserved = 0;
};
static_assert(sizeof(SessionSizes) == 24);

inline constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t round_up_to_page(std::uint64_t n) {
  return (n + kPage - 1) / kPage * kPage;
}

// Where the parts of the areas lie. Rings lie in class order, one for each bit of class_mask.
class SessionLayout {
 public:
  constexpr explicit SessionLayout(const SessionSizes& sizes) : sizes_(sizes) {}
  constexpr std::uint64_t ring_offset(ClassId cls) const {
    std::uint64_t before = 0;
    for (std::size_t c = 0; c < index_of(cls); ++c) before += (sizes_.class_mask >> c) & 1u;
    return rings_offset() + before * ring_bytes();
  }
  constexpr std::uint64_t ring_bytes() const {
    return std::uint64_t{sizes_.ring_cells} * sizeof(Cell);
  }
  constexpr std::uint32_t ring_count() const {
    std::uint32_t count = 0;
    for (std::size_t c = 0; c < kMaxClasses; ++c) count += (sizes_.class_mask >> c) & 1u;
    return count;
  }
  constexpr std::uint64_t arena_offset() const {
    return rings_offset() + ring_count() * ring_bytes();
  }
  constexpr std::uint64_t req_bytes() const {
    return round_up_to_page(arena_offset() + sizes_.arena_bytes);
  }
  // STA: header, dirty bitmap (one bit a slot, flipped at each terminal status), slots.
  constexpr std::uint64_t dirty_offset() const { return round_up_to_page(sizeof(StaHeader)); }
  constexpr std::uint64_t dirty_words() const { return (std::uint64_t{sizes_.slots} + 63) / 64; }
  constexpr std::uint64_t slots_offset() const {
    return round_up_to_page(dirty_offset() + dirty_words() * 8);
  }
  constexpr std::uint64_t sta_bytes() const {
    return round_up_to_page(slots_offset() + std::uint64_t{sizes_.slots} * sizeof(Slot));
  }
  constexpr const SessionSizes& sizes() const { return sizes_; }

 private:
  static constexpr std::uint64_t rings_offset() { return round_up_to_page(sizeof(ReqHeader)); }
  SessionSizes sizes_;
};

namespace detail {
constexpr std::uint64_t fnv(std::uint64_t hash, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) {
    hash = (hash ^ ((value >> (8 * i)) & 0xff)) * 0x100000001b3ull;
  }
  return hash;
}
constexpr std::uint64_t fnv_all(std::initializer_list<std::uint64_t> values) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (std::uint64_t value : values) hash = fnv(hash, value);
  return hash;
}
}  // namespace detail

// FNV-1a over every size and offset that both sides must agree on; compared in the handshake.
inline constexpr std::uint64_t kLayoutHash = detail::fnv_all({sizeof(Cell),
                                                              offsetof(Cell, body),
                                                              offsetof(CellBody, slot),
                                                              offsetof(CellBody, local_region),
                                                              offsetof(CellBody, local_offset),
                                                              offsetof(CellBody, length),
                                                              offsetof(CellBody, deadline_ns),
                                                              offsetof(CellBody, arena_offset),
                                                              offsetof(CellBody, cookie),
                                                              offsetof(CellBody, lane),
                                                              sizeof(Slot),
                                                              offsetof(Slot, bytes_done),
                                                              offsetof(Slot, owner),
                                                              offsetof(Slot, detail),
                                                              sizeof(ReqHeader),
                                                              offsetof(ReqHeader, tails),
                                                              offsetof(ReqHeader, consumed),
                                                              offsetof(ReqHeader, wanted),
                                                              sizeof(StaHeader),
                                                              offsetof(StaHeader, need_wakeup),
                                                              offsetof(StaHeader, completions),
                                                              offsetof(StaHeader, heads),
                                                              offsetof(StaHeader, granted),
                                                              sizeof(Extent),
                                                              sizeof(NotifyHead),
                                                              kMaxClasses});

}  // namespace tentq
