// The receiving half of a connection: what comes is the peer's word, copied once and checked once;
// what breaks the protocol ends the connection and nothing else.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "proto/check.h"
#include "transports/tcp/connection.h"
#include "transports/tcp/crc32c.h"

namespace tentq {
namespace {

// One connection receives so much before others of its thread have their turn.
constexpr std::size_t kTurnBytes = 1u << 20;
// By one call: a checksum follows while the bytes are still in the cache.
constexpr std::size_t kCallBytes = 256u << 10;

}  // namespace

void Connection::on_readable() {
  // Ended by its own thread between readiness and now: the descriptor may be another's already.
  if (over_) return;
  large_came_ = false;
  Progress progress = Progress::more;
  for (std::size_t calls = 0; calls < kTurnBytes / kCallBytes && progress == Progress::more;
       ++calls) {
    const Received received = receive(kCallBytes);
    const Lock lock(mutex_);
    progress = took(received);
  }
  if (progress == Progress::over) return;
  const Lock lock(mutex_);
  if (progress == Progress::paused) paused_ = true;
  flush_locked();
  if (over_ || paused_) return;
  const bool little = progress == Progress::drained && !in_.midway() && !large_came_;
  if (little && !has_large_chunks()) {
    leave_to_conductor();
  } else {
    wait_readable();
  }
}

// By who receives, without the lock: it may take a while.
Connection::Received Connection::receive(std::size_t most) {
  Inbound::Parts parts;
  msghdr message = {};
  message.msg_iov = parts.data();
  message.msg_iovlen = in_.want(&parts, surroundings_.waste, most);
  std::size_t wanted = 0;
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) wanted += parts[i].iov_len;
  Received received;
  received.bytes = stream_ ? stream_->receive({parts.data(), message.msg_iovlen})
                           : recvmsg(fd_, &message, MSG_DONTWAIT);
  received.error = received.bytes < 0 ? errno : 0;
  if (received.bytes <= 0) return received;
  const auto bytes = static_cast<std::size_t>(received.bytes);
  // A stream gives a record at a time, and says itself when it has no more.
  received.drained = !stream_ && bytes < wanted;
  receiving_.moved();
  const std::span<const std::byte> piece = in_.got(bytes);
  if (!arrival_.checked || piece.empty()) return received;
  const auto sum = guarded_crc32c(arrival_.so_far, piece);
  received.spoiled = !sum;
  if (sum) arrival_.so_far = *sum;
  return received;
}

Connection::Progress Connection::took(const Received& received) {
  if (received.bytes < 0) {
    if (received.error == EAGAIN || received.error == EWOULDBLOCK) return Progress::drained;
    return on_receive_error(received.error) ? Progress::more : Progress::over;
  }
  if (received.bytes == 0) {
    lose(TcpLoss::closed_by_peer);
    return Progress::over;
  }
  if (received.spoiled) spoil_arrival();
  const Progress progress = take_messages();
  if (progress != Progress::more) return progress;
  return received.drained ? Progress::drained : Progress::more;
}

// False: it is over.
bool Connection::on_receive_error(int error) {
  if (error == EINTR) return true;
  // The kernel keeps what it could not put there, so the stream goes on.
  if (error == EFAULT && in_.in_payload() && !in_.wasted()) {
    spoil_arrival();
    return true;
  }
  lose(TcpLoss::socket_error, error);
  return false;
}

// Its memory was taken away: the rest of it goes nowhere.
void Connection::spoil_arrival() {
  in_.waste_rest();
  arrival_.checked = false;
  arrival_.reason = Reason::memory_fault;
  if (arrival_.chunk != nullptr) arrival_.chunk->outcome = ChunkOutcome::memory_fault;
}

Connection::Progress Connection::take_messages() {
  if (in_.in_payload() && !in_.payload_complete()) return Progress::more;
  while (true) {
    if (in_.payload_complete() && !end_payload()) return Progress::over;
    if (in_.head_is_foreign()) {
      break_off("a message that does not belong here");
      return Progress::over;
    }
    if (in_.in_payload() || !in_.head_complete()) break;
    if (!take_head()) return Progress::over;
    in_.end_head();
  }
  return answers_pile_up() ? Progress::paused : Progress::more;
}

bool Connection::take_head() {
  const PeerMessageType type = in_.head_type();
  if (type == PeerMessageType::write) return take_write(copy_head<PeerWrite>(in_.head()));
  if (type == PeerMessageType::read) return take_read(copy_head<PeerRead>(in_.head()));
  if (type == PeerMessageType::done) return take_done(copy_head<PeerDone>(in_.head()));
  return take_data(copy_head<PeerData>(in_.head()));
}

// Always false.
bool Connection::break_off(std::string_view fault) {
  lose(TcpLoss::protocol_error, 0, fault);
  return false;
}

bool Connection::take_write(const PeerWrite& head) {
  const auto fault = fault_of(head, surroundings_.options->most_length);
  if (!fault.empty()) return break_off(fault);
  arrival_ = {};
  large_came_ = large_came_ || is_large(head.length);
  arrival_.number = head.header.request;
  arrival_.length = head.length;
  arrival_.range = surroundings_.memory->pin(name_.link, head.segment, head.offset, head.length);
  arrival_.reason = arrival_.range.reason;
  TENTQ_CHECK((arrival_.range.mapped == nullptr) == (arrival_.reason != Reason::none));
  arrival_.checked = (head.flags & kPayloadChecksum) != 0 && arrival_.range.mapped != nullptr;
  arrival_.checksum = head.checksum;
  in_.start_payload(arrival_.range.mapped, head.length);
  return true;
}

bool Connection::take_read(const PeerRead& head) {
  const auto fault = fault_of(head, surroundings_.options->most_length);
  if (!fault.empty()) return break_off(fault);
  const AskedRead* read = reads_.open(head.header.request, head.length, tcp_now());
  if (read == nullptr) return break_off("more READs than may be asked");
  TcpEvent event;
  event.kind = TcpEventKind::read_asked;
  event.link = name_.link;
  event.connection = name_.connection;
  event.read = read->read;
  event.segment = head.segment;
  event.offset = head.offset;
  event.length = head.length;
  event.cls = head.cls;
  surroundings_.reports->report(event);
  return true;
}

bool Connection::take_done(const PeerDone& head) {
  const auto fault = fault_of(head);
  if (!fault.empty()) return break_off(fault);
  TcpChunk* chunk = chunks_.find(head.header.request);
  if (chunk == nullptr || !chunk->is_write() || !chunk->sent) {
    return break_off("a DONE of no WRITE");
  }
  sending_.moved();
  --unanswered_;
  const bool done = head.reason == Reason::none;
  finish(chunk, done ? ChunkOutcome::done : ChunkOutcome::refused, known_reason(head.reason));
  return true;
}

bool Connection::take_data(const PeerData& head) {
  const auto fault = fault_of(head);
  if (!fault.empty()) return break_off(fault);
  TcpChunk* chunk = chunks_.find(head.header.request);
  if (chunk == nullptr || chunk->chunk.op != Op::read || !chunk->sent) {
    return break_off("a DATA of no READ");
  }
  chunk->waits_since = Time{};
  chunk->queued_peer_ns = std::max(chunk->queued_peer_ns, head.queued_ns);
  const bool faulted = chunk->outcome == ChunkOutcome::memory_fault;
  if (head.reason != Reason::none) {
    end_read(chunk, faulted ? ChunkOutcome::memory_fault : ChunkOutcome::refused,
             faulted ? Reason::none : known_reason(head.reason));
    return true;
  }
  if (!chunk->pieces.add(head.offset, head.length, chunk->chunk.length)) {
    return break_off("a DATA outside of its READ, or twice");
  }
  arrival_ = {};
  large_came_ = large_came_ || is_large(head.length);
  arrival_.chunk = chunk;
  arrival_.length = head.length;
  arrival_.checked = (head.flags & kPayloadChecksum) != 0 && !faulted;
  arrival_.checksum = head.checksum;
  in_.start_payload(faulted ? nullptr : chunk->chunk.local.mapped + head.offset, head.length);
  return true;
}

// False: it is over.
bool Connection::end_payload() {
  in_.end_payload();
  if (arrival_.checked && arrival_.so_far != arrival_.checksum) {
    lose(TcpLoss::checksum_mismatch);
    return false;
  }
  if (TcpChunk* chunk = arrival_.chunk; chunk != nullptr) {
    chunk->received += arrival_.length;
    if (chunk->received == chunk->chunk.length) end_read(chunk, chunk->outcome, Reason::none);
  } else {
    // Before the peer learns of it: then the memory may go.
    release_range();
    PeerDone done = new_head<PeerDone>(arrival_.number);
    done.reason = arrival_.reason;
    out_.push(done);
  }
  arrival_ = {};
  return true;
}

void Connection::end_read(TcpChunk* chunk, ChunkOutcome outcome, Reason reason) {
  // The peer's word counts for no more than the time that really went by.
  const auto most = std::numeric_limits<Duration::rep>::max();
  const auto queued = std::min<std::uint64_t>(chunk->queued_peer_ns, most);
  chunk->queued_elsewhere = std::min(Duration{static_cast<Duration::rep>(queued)},
                                     std::max(tcp_now() - chunk->posted, Duration::zero()));
  --reads_out_;
  finish(chunk, outcome, reason);
}

void Connection::release_range() {
  if (arrival_.range.mapped == nullptr) return;
  surroundings_.memory->unpin(name_.link, arrival_.range);
  arrival_.range.mapped = nullptr;
}

}  // namespace tentq
