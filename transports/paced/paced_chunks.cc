// See paced_chunks.h.
#include "transports/paced/paced_chunks.h"

#include <bit>

namespace tentq {

PacedChunks::PacedChunks(std::uint32_t entries)
    : entries_(entries), buckets_(std::bit_ceil(std::size_t{entries}), kNone) {
  lanes_.reserve(64);
  for (std::uint32_t slot = entries; slot-- > 0;) {
    entries_[slot].next_ = free_;
    free_ = slot;
  }
}

bool PacedChunks::append(const Chunk& chunk, Time posted) {
  if (free_ == kNone) return false;
  const std::uint32_t slot = free_;
  PacedChunk& entry = entries_[slot];
  free_ = entry.next_;
  ++used_;
  entry.chunk = chunk;
  entry.posted = posted;
  entry.state = PacedState::waiting;

  if (chunk.lane.value() >= lanes_.size()) lanes_.resize(std::size_t{chunk.lane.value()} + 1);
  PacedLane& lane = lanes_[chunk.lane.value()];
  entry.previous_ = lane.last;
  entry.next_ = kNone;
  (lane.last == kNone ? lane.first : entries_[lane.last].next_) = slot;
  lane.last = slot;
  if (lane.first_waiting == kNone) lane.first_waiting = slot;

  std::uint32_t& bucket = bucket_of(chunk.id);
  entry.chained_ = bucket;
  bucket = slot;
  return true;
}

void PacedChunks::remove(std::uint32_t slot) {
  PacedChunk& entry = entries_[slot];
  PacedLane& lane = lanes_[entry.chunk.lane.value()];
  if (lane.first_waiting == slot) lane.first_waiting = entry.next_;
  (entry.previous_ == kNone ? lane.first : entries_[entry.previous_].next_) = entry.next_;
  (entry.next_ == kNone ? lane.last : entries_[entry.next_].previous_) = entry.previous_;

  std::uint32_t* link = &bucket_of(entry.chunk.id);
  while (*link != slot) {
    TENTQ_CHECK(*link != kNone);
    link = &entries_[*link].chained_;
  }
  *link = entry.chained_;

  entry.next_ = free_;
  free_ = slot;
  --used_;
}

void PacedChunks::begin(PacedLane& lane, Time due) {
  PacedChunk& entry = entries_[lane.first_waiting];
  entry.state = PacedState::moving;
  entry.due = due;
  lane.first_waiting = entry.next_;
}

std::optional<std::uint32_t> PacedChunks::find(const ChunkId& id) const {
  std::uint32_t slot = buckets_[bucket_number(id)];
  while (slot != kNone && entries_[slot].chunk.id != id) slot = entries_[slot].chained_;
  if (slot == kNone) return std::nullopt;
  return slot;
}

std::uint32_t& PacedChunks::bucket_of(const ChunkId& id) {
  return buckets_[bucket_number(id)];
}

std::size_t PacedChunks::bucket_number(const ChunkId& id) const {
  std::uint64_t hash = id.owner.number() * 0x9e37'79b9'7f4a'7c15u;
  hash = (hash ^ (std::uint64_t{id.attempt} << 32 | id.ordinal)) * 0xff51'afd7'ed55'8ccdu;
  return (hash >> 32) & (buckets_.size() - 1);
}

}  // namespace tentq
