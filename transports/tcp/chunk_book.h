// The entries of all accepted chunks, made at start: their number is the most that are accepted and
// not yet polled. Conductor only.
#pragma once

#include <cstdint>
#include <memory>

#include "transports/tcp/chained_table.h"
#include "transports/tcp/tcp_chunk.h"

namespace tentq {

class ChunkBook {
 public:
  explicit ChunkBook(std::uint32_t entries);

  // An entry for the chunk, with a number of its own; null when all are in use.
  TcpChunk* open(const Chunk& chunk, Time now);
  // After its completion was polled.
  void close(TcpChunk* entry);
  // The open entry of a chunk; null if there is none.
  TcpChunk* find(const ChunkId& id) { return by_id_.find(id); }

  std::size_t used() const { return by_id_.size(); }

 private:
  std::unique_ptr<TcpChunk[]> entries_;
  TcpChunk* free_ = nullptr;
  std::uint64_t last_number_ = 0;
  ChainedTable<TcpChunk, &TcpChunk::id, &TcpChunk::next_by_id> by_id_;
};

}  // namespace tentq
