// The chunks that a transport owns, and those that it refused. A ChunkId names an entry by its
// place (`ordinal`) and by how often that place was handed over (`attempt`), so that a completion
// that is late, repeated or invented finds nothing. Conductor thread. Offsets within the owner.
#pragma once

#include <cstdint>

#include "daemon/core/credits/sender.h"
#include "daemon/core/event.h"
#include "daemon/core/slab.h"
#include "daemon/core/window.h"

namespace tentq::core {

struct ChunkRecord {
  std::uint32_t owner = kNone;
  std::uint32_t attempt = 0;
  std::uint32_t next = kNone;  // of its list
  std::uint32_t prev = kNone;
  std::uint32_t cancel_next = kNone;  // of those whose cancel was not told yet
  std::uint32_t cancel_prev = kNone;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  ChunkMark mark;  // of its latest handing over
  CreditMark credit;
  bool in_flight = false;
  bool cancel_untold = false;
};

class ChunkTable {
 public:
  explicit ChunkTable(std::uint32_t capacity) : records_(capacity) {}

  ChunkRecord& operator[](std::uint32_t index) { return records_[index]; }
  const ChunkRecord& operator[](std::uint32_t index) const { return records_[index]; }
  bool full() const { return records_.left() == 0; }
  std::uint32_t taken() const { return records_.taken(); }

  // Puts a chunk in flight at the head of a list; there must be room. Its attempt is new.
  std::uint32_t add(std::uint32_t* list, std::uint32_t owner, std::uint64_t offset,
                    std::uint64_t length);
  // The entry in flight that the id names, or kNone. The caller compares the owner's generation.
  std::uint32_t find(const ChunkId& id) const;
  void remove(std::uint32_t* list, std::uint32_t index);
  // A transport refused it: it moves to another list and its id is void.
  void give_back(std::uint32_t* from, std::uint32_t* to, std::uint32_t index);
  // A refused one goes into flight again, whole, under a new attempt.
  void hand_over_again(std::uint32_t* from, std::uint32_t* to, std::uint32_t index);
  ChunkId id(std::uint32_t index, OwnerId owner) const {
    return {owner, records_[index].attempt, index};
  }

  // Cancels to be told, in the order in which they were asked for; kNone when there is none.
  void ask_cancel(std::uint32_t index);
  std::uint32_t next_cancel() const { return cancel_head_; }
  void told_cancel() { forget_cancel(cancel_head_); }

 private:
  void link(std::uint32_t* list, std::uint32_t index);
  void unlink(std::uint32_t* list, std::uint32_t index);
  void forget_cancel(std::uint32_t index);

  Slab<ChunkRecord> records_;
  std::uint32_t cancel_head_ = kNone;
  std::uint32_t cancel_tail_ = kNone;
};

}  // namespace tentq::core
