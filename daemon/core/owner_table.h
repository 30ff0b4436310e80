// The owners of the host: a slab of records, what few of them need beside it, and the index from
// (session, slot) to a live owner. Every operation is O(1). Conductor thread.
#pragma once

#include <bit>
#include <cstdint>

#include "daemon/core/owner.h"
#include "daemon/core/slab.h"

namespace tentq::core {

class OwnerTable {
 public:
  explicit OwnerTable(std::uint32_t capacity)
      : mask_(4 * std::bit_ceil(capacity) - 1),
        records_(capacity),
        extras_(capacity),
        heads_(mask_ + 1u) {
    for (std::uint32_t i = 0; i <= mask_; ++i) heads_[i] = kNone;
  }

  OwnerRecord& operator[](std::uint32_t index) { return records_[index]; }
  const OwnerRecord& operator[](std::uint32_t index) const { return records_[index]; }
  OwnerExtras& extras(std::uint32_t index) { return extras_[index]; }
  const OwnerExtras& extras(std::uint32_t index) const { return extras_[index]; }
  OwnerId id(std::uint32_t index) const { return {index, records_[index].generation}; }
  std::uint32_t left() const { return records_.left(); }
  std::uint32_t taken() const { return records_.taken(); }
  std::uint32_t high_water() const { return records_.high_water(); }
  std::uint32_t next_taken() const { return records_.next_taken(); }

  // A free record; there must be one left. Its generation is new.
  std::uint32_t take() {
    const std::uint32_t index = records_.take();
    TENTQ_CHECK(index != kNone);
    OwnerRecord& record = records_[index];
    record.generation += record.generation == kNone ? 2 : 1;  // never 0
    return index;
  }
  void give(std::uint32_t index) { records_.give(index); }

  // Index of the owner with this id, or kNone when it has ended or never was.
  std::uint32_t find(OwnerId id) const {
    if (id.index >= records_.high_water()) return kNone;
    const OwnerRecord& record = records_[id.index];
    return record.generation == id.generation && is_live(record.state) ? id.index : kNone;
  }
  // The owner has its record: it has not ended, or its end was not told yet.
  bool knows(OwnerId id) const {
    const OwnerRecord& record = records_[id.index];
    return record.generation == id.generation && record.state != OwnerState::free;
  }
  // Index of the live owner of a session's slot, or kNone.
  std::uint32_t find_slot(std::uint32_t session, std::uint32_t slot) const {
    std::uint32_t index = heads_[bucket(session, slot)];
    while (index != kNone) {
      const OwnerRecord& record = records_[index];
      if (record.slot == slot && record.session == session) return index;
      index = record.slot_next;
    }
    return kNone;
  }
  // Both lines of its record will be needed soon.
  void prefetch(std::uint32_t index) const {
    const char* record = reinterpret_cast<const char*>(&records_[index]);
    __builtin_prefetch(record, 1);
    __builtin_prefetch(record + 64, 1);
  }
  // Its place in the index will be needed soon.
  void prefetch_slot(std::uint32_t session, std::uint32_t slot) const {
    __builtin_prefetch(&heads_[bucket(session, slot)], 1);
  }
  void enter_slot(std::uint32_t index) {
    OwnerRecord& record = records_[index];
    std::uint32_t& head = heads_[bucket(record.session, record.slot)];
    record.slot_next = head;
    head = index;
  }
  void leave_slot(std::uint32_t index) {
    const OwnerRecord& record = records_[index];
    std::uint32_t* link = &heads_[bucket(record.session, record.slot)];
    while (*link != index) {
      TENTQ_CHECK(*link != kNone);
      link = &records_[*link].slot_next;
    }
    *link = record.slot_next;
  }

 private:
  // Neighbouring slots of a session lie side by side. There are four times as many places as
  // owners, because a chain that is followed costs a record that is not in the cache.
  std::uint32_t bucket(std::uint32_t session, std::uint32_t slot) const {
    return (session * 0x9e37'79b1u + slot) & mask_;
  }

  std::uint32_t mask_;
  Slab<OwnerRecord> records_;
  Arena<OwnerExtras> extras_;
  Arena<std::uint32_t> heads_;
};

}  // namespace tentq::core
