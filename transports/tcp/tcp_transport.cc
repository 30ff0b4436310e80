// See tcp_transport.h.
#include "transports/tcp/tcp_transport.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "proto/check.h"

namespace tentq {
namespace {

// What sending from the conductor costs at least, in bytes of its allowance: the call itself.
constexpr std::uint64_t kInlineCost = 16u << 10;
// Between looks at the sockets while something may come at any time, and otherwise.
constexpr Duration kLivelyLooks = std::chrono::microseconds{2};
constexpr Duration kQuietLooks = std::chrono::microseconds{50};
// So long something may.
constexpr Duration kLively = std::chrono::microseconds{100};
// Sockets in one look.
constexpr std::size_t kMostReadable = 16;
// A READ's number has so much room for that of its connection.
constexpr std::uint32_t kMostSerial = (1u << (64 - kReadSerialShift)) - 1;

TcpOptions checked(const TcpOptions& options) {
  const auto within = [](auto value, auto least, auto most, const char* text) {
    if (value < least || value > most) throw std::invalid_argument(text);
  };
  within(options.threads, 1u, 64u, "tcp: threads must be 1 to 64");
  within(options.queue_chunks, 1u, 1u << 20, "tcp: queue_chunks must be 1 to 1,048,576");
  within(options.reads_per_connection, 1u, kMostReadsAsked,
         "tcp: reads_per_connection must be 1 to 256");
  if (options.most_length == 0) throw std::invalid_argument("tcp: most_length must be at least 1");
  within(options.inline_bytes, 0u, kMostInlineBytes, "tcp: inline_bytes must be 0 to 65,536");
  if (options.stall_limit < std::chrono::milliseconds{1} ||
      options.read_limit < std::chrono::milliseconds{1}) {
    throw std::invalid_argument("tcp: stall_limit and read_limit must be at least 1 ms");
  }
  return options;
}

}  // namespace

std::string_view to_string(TcpLoss loss) {
  switch (loss) {
    case TcpLoss::none: return "none";
    case TcpLoss::closed_by_peer: return "closed by the peer";
    case TcpLoss::socket_error: return "socket error";
    case TcpLoss::protocol_error: return "protocol error";
    case TcpLoss::checksum_mismatch: return "checksum mismatch";
    case TcpLoss::stalled: return "stalled";
    case TcpLoss::memory_fault: return "memory was taken away while it was sent";
    case TcpLoss::unanswered: return "a READ was not answered for too long";
    case TcpLoss::closed_here: return "closed here";
  }
  return "unknown";
}

TcpTransport::TcpTransport(PeerMemory* memory, const TcpOptions& options)
    : options_(checked(options)),
      memory_(memory),
      book_(options_.queue_chunks),
      inline_left_(options_.inline_turn_bytes),
      serials_(kMostSerial) {
  if (options_.conductor_receives) sockets_.emplace(wakeup_.fd());
  for (std::uint32_t i = 0; i < options_.threads; ++i) {
    threads_.push_back(
        std::make_unique<IoThread>(&options_, memory_, &wakeup_, sockets_ ? &*sockets_ : nullptr));
  }
  told_.reserve(threads_.size());
}

TcpTransport::~TcpTransport() = default;

PostOutcome TcpTransport::post(std::span<const Chunk> chunks) {
  PostOutcome outcome;
  if (chunks.empty()) return outcome;
  const Time now = tcp_now();
  for (const Chunk& chunk : chunks) {
    if (!accept(chunk, now)) {
      outcome.refusal = PostRefusal::saturated;
      break;
    }
    ++outcome.accepted;
  }
  wake_told();
  return outcome;
}

bool TcpTransport::accept(const Chunk& chunk, Time now) {
  TENTQ_CHECK(chunk.length > 0 && chunk.local.mapped != nullptr);
  TENTQ_CHECK(!chunk.answer || chunk.op == Op::write);
  TcpChunk* entry = book_.open(chunk, now);
  if (entry == nullptr) return false;
  LinkedConnection* linked =
      chunk.answer ? links_.of_read(chunk.peer_handle) : links_.pick(chunk.lane);
  if (linked == nullptr) {
    entry->outcome = ChunkOutcome::lost;
    ended_here_.push(entry);
    wakeup_.ring();
    return true;
  }
  entry->linked = linked;
  entry->connection = linked->connection.get();
  linked->outstanding_bytes += chunk.length;
  ++linked->outstanding_chunks;
  if (offer(entry)) return true;
  entry->connection->comes();
  tell(linked->thread, entry);
  return true;
}

void TcpTransport::tell(IoThread* thread, IoCommand* command) {
  thread->tell(command);
  if (std::find(told_.begin(), told_.end(), thread) == told_.end()) told_.push_back(thread);
}

// True: the connection has it.
bool TcpTransport::offer(TcpChunk* entry) {
  const std::uint64_t payload = entry->chunk.op == Op::write ? entry->chunk.length : 0;
  const std::uint64_t cost = std::max(payload, kInlineCost);
  if (payload > options_.inline_bytes || cost > inline_left_) return false;
  Connection* connection = entry->connection;
  IoThread* thread = entry->linked->thread;
  switch (connection->offer(entry)) {
    case Connection::Offer::declined: return false;
    case Connection::Offer::taken: break;
    case Connection::Offer::rest_waits:
      if (IoCommand* flush = connection->ask_for_flush()) tell(thread, flush);
      break;
  }
  inline_left_ -= cost;
  lively_until_ = entry->posted + kLively;
  next_look_ = std::min(next_look_, entry->posted + kLivelyLooks);
  return true;
}

void TcpTransport::wake_told() {
  for (IoThread* thread : told_) thread->wake();
  told_.clear();
}

// The conductor's work is bounded: what is left stays readable.
// True if something was there.
bool TcpTransport::receive_ready(Time now) {
  slept_ = false;
  std::array<std::uint32_t, kMostReadable> serials;
  const std::size_t count = sockets_->readable(serials);
  std::uint64_t left = options_.inline_turn_bytes;
  for (std::size_t i = 0; i < count && left != 0; ++i) {
    const LinkedConnection* linked = links_.of_serial(serials[i]);
    if (linked == nullptr) continue;
    if (IoCommand* command = linked->connection->receive_here(&left)) tell(linked->thread, command);
  }
  wake_told();
  if (count != 0) lively_until_ = now + kLively;
  next_look_ = now + (now < lively_until_ ? kLivelyLooks : kQuietLooks);
  return count != 0;
}

TcpChunk* TcpTransport::take_ended() {
  if (TcpChunk* entry = ended_here_.take()) return entry;
  for (const auto& thread : threads_) {
    if (TcpChunk* entry = thread->reports().take_ended()) return entry;
  }
  return nullptr;
}

std::size_t TcpTransport::poll(std::span<Completion> completions) {
  wakeup_.disarm();
  inline_left_ = options_.inline_turn_bytes;
  if (sockets_) look(tcp_now());
  std::size_t count = 0;
  while (count < completions.size()) {
    TcpChunk* entry = take_ended();
    if (entry == nullptr) break;
    completions[count++] = {entry->id, entry->bytes, entry->outcome, entry->reason,
                            entry->queued_elsewhere};
    if (LinkedConnection* linked = entry->linked) {
      linked->outstanding_bytes -= entry->chunk.length;
      --linked->outstanding_chunks;
      close_if_quiet(linked);
    }
    book_.close(entry);
  }
  return count;
}

std::size_t TcpTransport::poll_events(std::span<TcpEvent> events) {
  std::size_t count = 0;
  while (count < events.size() && !events_here_.empty()) {
    events[count++] = events_here_.front();
    events_here_.pop_front();
  }
  for (const auto& thread : threads_) {
    while (count < events.size() && thread->reports().take_event(&events[count])) {
      const TcpEvent& event = events[count++];
      if (event.kind == TcpEventKind::read_asked) continue;
      LinkedConnection* linked = links_.find(event.link, event.connection);
      if (linked == nullptr) continue;
      linked->over = true;
      close_if_quiet(linked);
    }
  }
  return count;
}

// Nothing of it is in flight or to be told: no command names it any more.
void TcpTransport::close_if_quiet(LinkedConnection* linked) {
  if (!linked->over || linked->outstanding_chunks != 0) return;
  linked->thread->let_go(linked->connection);
  links_.remove(linked);
  --connections_;
}

void TcpTransport::cancel(ChunkId id) {
  const TcpChunk* entry = book_.find(id);
  if (entry == nullptr || entry->linked == nullptr) return;
  const LinkedConnection* linked = entry->linked;
  linked->thread->call([connection = linked->connection.get(), number = entry->number] {
    connection->cancel(number);
  });
}

bool TcpTransport::arm_wakeup() {
  if (sockets_ && receive_ready(tcp_now())) return false;
  wakeup_.arm();
  bool ready = !ended_here_.empty() || !events_here_.empty();
  for (const auto& thread : threads_) ready = ready || thread->reports().ready();
  slept_ = true;
  if (!ready) return true;
  wakeup_.disarm();
  return false;
}

void TcpTransport::add_connection(LinkKey link, TcpSide side, std::uint64_t connection, int fd,
                                  std::unique_ptr<ByteStream> stream) {
  TENTQ_CHECK(link.valid());
  TENTQ_CHECK(links_.find(link, connection) == nullptr);
  const std::uint32_t serial =
      serials_.next([this](std::uint32_t number) { return links_.has_serial(number); });
  IoThread* thread = threads_[serial % threads_.size()].get();
  links_.add(thread->add({link, connection, side, serial}, fd, std::move(stream)), thread);
  ++connections_;
}

void TcpTransport::bind_lane(LaneId lane, LinkKey link) {
  TENTQ_CHECK(lane.valid());
  links_.bind(lane, link);
}

void TcpTransport::drop_link(LinkKey link) {
  links_.unbind(link);
  for (const LinkedConnection* linked : links_.of(link)) {
    linked->thread->call([connection = linked->connection] { connection->close(false); });
  }
}

void TcpTransport::close_connection(LinkKey link, std::uint64_t connection) {
  if (const LinkedConnection* linked = links_.find(link, connection)) {
    linked->thread->call([closed = linked->connection] { closed->close(true); });
    return;
  }
  TcpEvent event;
  event.kind = TcpEventKind::connection_closed;
  event.link = link;
  event.connection = connection;
  event.why = TcpLoss::closed_here;
  events_here_.push_back(event);
  wakeup_.ring();
}

void TcpTransport::settle(LinkKey link, std::uint64_t connection, bool fenced) {
  const LinkedConnection* linked = links_.find(link, connection);
  if (linked == nullptr) return;
  linked->thread->call([settled = linked->connection, fenced] { settled->settle(fenced); });
}

void TcpTransport::refuse_read(std::uint64_t read, Reason reason) {
  TENTQ_CHECK(reason != Reason::none);
  const LinkedConnection* linked = links_.of_read(read);
  if (linked == nullptr) return;
  linked->thread->call(
      [connection = linked->connection, read, reason] { connection->refuse_read(read, reason); });
}

}  // namespace tentq
