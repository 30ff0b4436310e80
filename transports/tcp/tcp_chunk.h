// One accepted chunk on its way through the TCP transport. It belongs to the conductor until it is
// handed to a connection, then to that connection (under its lock), and after its end to the
// conductor again; the mailboxes between them order what each has written.
#pragma once

#include <cstdint>

#include "transports/tcp/mailbox.h"
#include "transports/tcp/received_pieces.h"
#include "transports/transport.h"

namespace tentq {

class Connection;
struct LinkedConnection;

// What the conductor tells a thread of the transport.
struct IoCommand : Mail {
  enum class Kind : std::uint8_t { chunk, flush, receive, call };
  explicit IoCommand(Kind kind_of_it) : kind(kind_of_it) {}
  const Kind kind;
};

// What was sent in part from the conductor has to go on.
struct FlushCommand : IoCommand {
  explicit FlushCommand(Connection* of) : IoCommand(Kind::flush), connection(of) {}
  Connection* const connection;
};

// The conductor received from this connection, and no longer does.
struct ReceiveCommand : IoCommand {
  explicit ReceiveCommand(Connection* of) : IoCommand(Kind::receive), connection(of) {}
  Connection* const connection;
};

struct TcpChunk : IoCommand {
  TcpChunk() : IoCommand(Kind::chunk) {}

  bool is_write() const { return chunk.op == Op::write && !chunk.answer; }

  // Set at posting, the same until the end.
  Chunk chunk;
  ChunkId id;                          // chunk.id, for the conductor's table
  std::uint64_t number = 0;            // on the wire, but for answers; never used again
  LinkedConnection* linked = nullptr;  // the conductor's; null: there was none
  Connection* connection = nullptr;
  Time posted{};

  // The connection's.
  bool begun = false;  // some of its bytes may be on their way
  bool sent = false;   // all are
  Time waits_since{};  // a READ: when it was first seen without an answer, or without the next
  ReceivedPieces pieces;
  std::uint64_t received = 0;        // bytes that are where they belong
  std::uint64_t queued_peer_ns = 0;  // the peer's word, of the piece that waited longest

  // How it ended.
  ChunkOutcome outcome = ChunkOutcome::done;
  Reason reason = Reason::none;
  std::uint64_t bytes = 0;
  Duration queued_elsewhere{0};

  TcpChunk* next_by_id = nullptr;      // the conductor's table; its free list
  TcpChunk* next_by_number = nullptr;  // the connection's table
  TcpChunk* before = nullptr;          // in the connection's queue
  TcpChunk* behind = nullptr;
};

// Chunks in a row; any can be taken out.
class ChunkRow {
 public:
  bool empty() const { return first_ == nullptr; }
  TcpChunk* first() const { return first_; }

  void push(TcpChunk* chunk) {
    chunk->before = last_;
    chunk->behind = nullptr;
    (last_ == nullptr ? first_ : last_->behind) = chunk;
    last_ = chunk;
  }
  // `chunk` is in this row.
  void remove(TcpChunk* chunk) {
    (chunk->before == nullptr ? first_ : chunk->before->behind) = chunk->behind;
    (chunk->behind == nullptr ? last_ : chunk->behind->before) = chunk->before;
  }
  TcpChunk* take() {
    TcpChunk* chunk = first_;
    if (chunk != nullptr) remove(chunk);
    return chunk;
  }
  void clear() { first_ = last_ = nullptr; }

 private:
  TcpChunk* first_ = nullptr;
  TcpChunk* last_ = nullptr;
};

}  // namespace tentq
