// Entries of chunks, and the queue of cancels to be told.
#include "daemon/core/chunk_table.h"

namespace tentq::core {

std::uint32_t ChunkTable::add(std::uint32_t* list, std::uint32_t owner, std::uint64_t offset,
                              std::uint64_t length) {
  const std::uint32_t index = records_.take();
  TENTQ_CHECK(index != kNone);
  ChunkRecord& record = records_[index];
  record.owner = owner;
  record.attempt += 1;
  record.offset = offset;
  record.length = length;
  record.in_flight = true;
  link(list, index);
  return index;
}

std::uint32_t ChunkTable::find(const ChunkId& id) const {
  if (id.ordinal >= records_.high_water()) return kNone;
  const ChunkRecord& record = records_[id.ordinal];
  const bool same =
      record.in_flight && record.attempt == id.attempt && record.owner == id.owner.index;
  return same ? id.ordinal : kNone;
}

void ChunkTable::remove(std::uint32_t* list, std::uint32_t index) {
  unlink(list, index);
  forget_cancel(index);
  records_[index].in_flight = false;
  records_.give(index);
}

void ChunkTable::give_back(std::uint32_t* from, std::uint32_t* to, std::uint32_t index) {
  unlink(from, index);
  forget_cancel(index);
  records_[index].in_flight = false;
  link(to, index);
}

void ChunkTable::hand_over_again(std::uint32_t* from, std::uint32_t* to, std::uint32_t index) {
  unlink(from, index);
  records_[index].in_flight = true;
  records_[index].attempt += 1;
  link(to, index);
}

void ChunkTable::ask_cancel(std::uint32_t index) {
  ChunkRecord& record = records_[index];
  if (record.cancel_untold) return;
  record.cancel_untold = true;
  record.cancel_next = kNone;
  record.cancel_prev = cancel_tail_;
  (cancel_tail_ == kNone ? cancel_head_ : records_[cancel_tail_].cancel_next) = index;
  cancel_tail_ = index;
}

void ChunkTable::forget_cancel(std::uint32_t index) {
  ChunkRecord& record = records_[index];
  if (!record.cancel_untold) return;
  record.cancel_untold = false;
  const std::uint32_t next = record.cancel_next;
  const std::uint32_t prev = record.cancel_prev;
  (prev == kNone ? cancel_head_ : records_[prev].cancel_next) = next;
  (next == kNone ? cancel_tail_ : records_[next].cancel_prev) = prev;
}

void ChunkTable::link(std::uint32_t* list, std::uint32_t index) {
  ChunkRecord& record = records_[index];
  record.prev = kNone;
  record.next = *list;
  if (*list != kNone) records_[*list].prev = index;
  *list = index;
}

void ChunkTable::unlink(std::uint32_t* list, std::uint32_t index) {
  const ChunkRecord& record = records_[index];
  (record.prev == kNone ? *list : records_[record.prev].next) = record.next;
  if (record.next != kNone) records_[record.next].prev = record.prev;
}

}  // namespace tentq::core
