// The sending half of a connection: which chunk is next, its head, and what the socket takes.
// EFAULT from the socket is memory that a client took away.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "proto/check.h"
#include "transports/tcp/connection.h"
#include "transports/tcp/crc32c.h"

namespace tentq {
namespace {

// One connection sends so much before others of its thread have their turn.
constexpr std::size_t kTurnBytes = 1u << 20;

}  // namespace

void Connection::take_over(TcpChunk* chunk) {
  const Lock lock(mutex_);
  coming_.fetch_sub(1, std::memory_order_relaxed);
  if (over_) {
    chunk->outcome = ChunkOutcome::lost;
    surroundings_.reports->end(chunk);
    return;
  }
  admit(chunk);
}

// False: it has ended.
bool Connection::admit(TcpChunk* chunk) {
  chunks_.insert(chunk);
  if (is_large(chunk->chunk.length)) ++large_chunks_;
  if (chunk->chunk.answer) return admit_answer(chunk);
  if (chunk->chunk.op == Op::read) {
    held_.push(chunk);
  } else {
    queue_.push(chunk);
  }
  return true;
}

bool Connection::admit_answer(TcpChunk* chunk) {
  AskedRead* read = reads_.find(chunk->chunk.peer_handle);
  const std::uint64_t offset = chunk->chunk.remote.offset;
  const std::uint64_t length = chunk->chunk.length;
  const bool open = read != nullptr && read->refused == Reason::none;
  if (!open || length > read->unposted || offset > read->length - length) {
    finish(chunk, ChunkOutcome::failed);
    return false;
  }
  read->unposted -= length;
  queue_.push(chunk);
  return true;
}

// What an answer stood for may be posted again.
void Connection::return_to_read(const TcpChunk* chunk) {
  if (!chunk->chunk.answer) return;
  AskedRead* read = reads_.find(chunk->chunk.peer_handle);
  TENTQ_CHECK(read != nullptr);
  read->unposted += chunk->chunk.length;
}

void Connection::ask_held_reads() {
  while (!held_.empty() && reads_out_ < surroundings_.options->reads_per_connection) {
    TcpChunk* chunk = held_.take();
    PeerRead head = new_head<PeerRead>(chunk->number);
    head.segment = chunk->chunk.peer_handle;
    head.offset = chunk->chunk.remote.offset;
    head.length = chunk->chunk.length;
    head.cls = chunk->chunk.cls;
    out_.push(head);
    chunk->begun = chunk->sent = true;
    ++reads_out_;
  }
}

void Connection::begin_next() {
  while (out_.current() == nullptr && !queue_.empty()) {
    TcpChunk* chunk = queue_.take();
    if (begin(chunk)) return;
    return_to_read(chunk);
    finish(chunk, ChunkOutcome::memory_fault);
  }
}

// False: its memory cannot be read.
bool Connection::begin(TcpChunk* chunk) {
  std::uint32_t flags = 0;
  std::uint32_t checksum = 0;
  if (surroundings_.options->checksum) {
    const auto sum = guarded_crc32c(0, {chunk->chunk.local.mapped, chunk->chunk.length});
    if (!sum) return false;
    flags = kPayloadChecksum;
    checksum = *sum;
  }
  if (chunk->chunk.answer) return begin_answer(chunk, flags, checksum);
  PeerWrite head = new_head<PeerWrite>(chunk->number);
  head.segment = chunk->chunk.peer_handle;
  head.offset = chunk->chunk.remote.offset;
  head.length = chunk->chunk.length;
  head.flags = flags;
  head.checksum = checksum;
  out_.begin(chunk, head);
  return true;
}

bool Connection::begin_answer(TcpChunk* chunk, std::uint32_t flags, std::uint32_t checksum) {
  const AskedRead* read = reads_.find(chunk->chunk.peer_handle);
  TENTQ_CHECK(read != nullptr);
  PeerData head = new_head<PeerData>(read->number);
  head.offset = chunk->chunk.remote.offset;
  head.length = chunk->chunk.length;
  head.queued_ns =
      static_cast<std::uint64_t>(std::max(chunk->posted - read->asked, Duration::zero()).count());
  head.flags = flags;
  head.checksum = checksum;
  out_.begin(chunk, head);
  return true;
}

// What sendmsg answers; errno is its. 0: what a stream held is sent.
ssize_t Connection::send_some(std::size_t most) {
  Outbound::Parts parts;
  msghdr message = {};
  message.msg_iov = parts.data();
  message.msg_iovlen = out_.gather(&parts, most);
  const ssize_t sent = stream_ ? stream_->send({parts.data(), message.msg_iovlen})
                               : sendmsg(fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent <= 0) return sent;
  sending_.moved();
  if (TcpChunk* chunk = out_.advance(static_cast<std::size_t>(sent))) on_sent(chunk);
  return sent;
}

void Connection::on_sent(TcpChunk* chunk) {
  chunk->sent = true;
  if (!chunk->chunk.answer) {
    ++unanswered_;
    return;
  }
  AskedRead* read = reads_.find(chunk->chunk.peer_handle);
  TENTQ_CHECK(read != nullptr);
  read->unsent -= chunk->chunk.length;
  if (read->unsent == 0) {
    reads_.close(read);
  } else if (read->refused != Reason::none) {
    send_refusal(read, read->refused);
  }
  finish(chunk, ChunkOutcome::done);
}

void Connection::send_refusal(AskedRead* read, Reason reason) {
  PeerData head = new_head<PeerData>(read->number);
  head.reason = reason;
  out_.push(head);
  reads_.close(read);
}

void Connection::flush() {
  const Lock lock(mutex_);
  flush_locked();
}

void Connection::flush_locked() {
  if (conductor_receives_ && has_large_chunks() && !over_) claim();
  for (std::size_t left = kTurnBytes; !over_;) {
    ask_held_reads();
    begin_next();
    if (out_.idle() && !holds_output()) break;
    const ssize_t sent = send_some(left);
    if (sent < 0) {
      on_send_error(errno);
      if (waits_writable_) break;
      continue;
    }
    left -= std::min(left, static_cast<std::size_t>(sent));
    if (left == 0) {
      if (!out_.idle() || !queue_.empty() || holds_output()) wait_writable();
      break;
    }
  }
  if (paused_ && !over_ && !answers_pile_up()) {
    paused_ = false;
    wait_readable();
  }
  stop_watching();
}

void Connection::on_send_error(int error) {
  TcpChunk* current = out_.current();
  if (error == EINTR) return;
  if (error == EAGAIN || error == EWOULDBLOCK) {
    wait_writable();
  } else if (error == EFAULT && current != nullptr && !current->begun) {
    out_.drop_current();
    return_to_read(current);
    finish(current, ChunkOutcome::memory_fault);
  } else if (error == EFAULT && current != nullptr) {
    // Its head is gone and the rest does not exist: the stream cannot go on.
    if (current->chunk.answer) {
      finish(current, ChunkOutcome::memory_fault);
    } else {
      current->outcome = ChunkOutcome::memory_fault;
    }
    lose(TcpLoss::memory_fault);
  } else {
    lose(TcpLoss::socket_error, error);
  }
}

void Connection::cancel(std::uint64_t chunk_number) {
  const Lock lock(mutex_);
  TcpChunk* chunk = over_ ? nullptr : chunks_.find(chunk_number);
  if (chunk == nullptr || chunk->begun) return;
  if (chunk == out_.current()) {
    out_.drop_current();
  } else if (chunk->chunk.op == Op::read) {
    held_.remove(chunk);
  } else {
    queue_.remove(chunk);
  }
  return_to_read(chunk);
  finish(chunk, ChunkOutcome::canceled);
}

// Its pieces that have not begun end as canceled; one that has goes out before the refusal.
void Connection::refuse_read(std::uint64_t number, Reason reason) {
  const Lock lock(mutex_);
  AskedRead* read = over_ ? nullptr : reads_.find(number);
  if (read == nullptr) return;
  for (TcpChunk* chunk = queue_.first(); chunk != nullptr;) {
    TcpChunk* behind = chunk->behind;
    if (chunk->chunk.answer && chunk->chunk.peer_handle == number) {
      queue_.remove(chunk);
      finish(chunk, ChunkOutcome::canceled);
    }
    chunk = behind;
  }
  TcpChunk* current = out_.current();
  if (current != nullptr && current->chunk.answer && current->chunk.peer_handle == number) {
    if (current->begun) {
      read->refused = reason;
      return;
    }
    out_.drop_current();
    finish(current, ChunkOutcome::canceled);
  }
  send_refusal(read, reason);
  flush_locked();
}

}  // namespace tentq
