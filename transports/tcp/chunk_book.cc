// See chunk_book.h.
#include "transports/tcp/chunk_book.h"

namespace tentq {

ChunkBook::ChunkBook(std::uint32_t entries)
    : entries_(std::make_unique<TcpChunk[]>(entries)), by_id_(entries) {
  for (std::uint32_t i = entries; i-- > 0;) {
    entries_[i].next_by_id = free_;
    free_ = &entries_[i];
  }
}

TcpChunk* ChunkBook::open(const Chunk& chunk, Time now) {
  if (free_ == nullptr) return nullptr;
  TcpChunk* entry = free_;
  free_ = entry->next_by_id;
  entry->chunk = chunk;
  entry->id = chunk.id;
  entry->number = ++last_number_;
  entry->linked = nullptr;
  entry->connection = nullptr;
  entry->posted = now;
  entry->begun = false;
  entry->sent = false;
  entry->pieces.clear();
  entry->received = 0;
  entry->queued_peer_ns = 0;
  entry->outcome = ChunkOutcome::done;
  entry->reason = Reason::none;
  entry->bytes = 0;
  entry->queued_elsewhere = Duration{0};
  by_id_.insert(entry);
  return entry;
}

void ChunkBook::close(TcpChunk* entry) {
  by_id_.remove(entry);
  entry->next_by_id = free_;
  free_ = entry;
}

}  // namespace tentq
