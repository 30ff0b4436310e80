// See connection.h.
#include "transports/tcp/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <chrono>

#include "proto/check.h"

namespace tentq {
namespace {

// More chunks on one connection make longer chains, not fewer chunks.
constexpr std::size_t kExpectedChunks = 256;

}  // namespace

Time tcp_now() {
  return Time{std::chrono::steady_clock::now().time_since_epoch()};
}

Connection::Connection(const ConnectionName& name, int fd, std::unique_ptr<ByteStream> stream,
                       const ConnectionSurroundings& surroundings)
    : name_(name),
      fd_(fd),
      surroundings_(surroundings),
      stream_(std::move(stream)),
      descriptor_(*surroundings.io),
      in_(name.side),
      chunks_(kExpectedChunks),
      reads_(kMostReadsAsked, std::uint64_t{name.serial} << kReadSerialShift) {
  // Sockets of other kinds (tests) have no such option.
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // A READ that was asked for waits for as long as its host takes; a path that is dead is noticed
  // by the kernel, which sends probes over a connection that is silent.
  const auto limit_ms = static_cast<unsigned>(
      std::chrono::duration_cast<std::chrono::milliseconds>(surroundings.options->stall_limit)
          .count());
  const int seconds = std::max(1, static_cast<int>(limit_ms / 3000));
  const int probes = 3;
  setsockopt(fd_, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms);
  setsockopt(fd_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd_, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  setsockopt(fd_, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
  setsockopt(fd_, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

Connection::~Connection() {
  if (!over_) end_socket();
}

void Connection::start() {
  const Lock lock(mutex_);
  leave_to_conductor();
}

// False: it is over.
bool Connection::watch() {
  if (over_ || descriptor_.is_open()) return !over_;
  boost::system::error_code error;
  descriptor_.assign(fd_, error);
  if (error) lose(TcpLoss::socket_error, error.value());
  return !over_;
}

// A socket that is watched wakes the thread for everything that comes, also if it waits for
// nothing.
void Connection::stop_watching() {
  const bool waits = waits_readable_ || waits_writable_;
  if (conductor_receives_ && !waits && descriptor_.is_open()) descriptor_.release();
}

void Connection::wait_readable() {
  if (waits_readable_ || !watch()) return;
  waits_readable_ = true;
  auto go_on = [self = shared_from_this()](const boost::system::error_code& error) {
    self->waits_readable_ = false;
    if (!error) self->on_readable();
  };
  if (stream_ && stream_->may_hold_input()) {
    boost::asio::post(*surroundings_.io, [go_on = std::move(go_on)] { go_on({}); });
    return;
  }
  descriptor_.async_wait(boost::asio::posix::descriptor_base::wait_read, std::move(go_on));
}

void Connection::wait_writable() {
  if (waits_writable_ || !watch()) return;
  waits_writable_ = true;
  descriptor_.async_wait(boost::asio::posix::descriptor_base::wait_write,
                         [self = shared_from_this()](const boost::system::error_code& error) {
                           self->waits_writable_ = false;
                           if (!error) self->flush();
                         });
}

// Bytes that are still in the socket's buffer must not arrive after the end was reported here, as
// far as that is in this host's hands: the close is a reset.
void Connection::end_socket() {
  over_ = true;
  gone_.store(true, std::memory_order_relaxed);
  const linger at_once = {1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  if (descriptor_.is_open()) {
    boost::system::error_code ignored;
    descriptor_.close(ignored);
  } else {
    ::close(fd_);
  }
  release_range();
}

// True if some wait for a fence.
bool Connection::end_chunks() {
  bool any_waits = false;
  chunks_.for_each([&](TcpChunk* chunk) {
    if (chunk->is_write() && chunk->begun) {
      any_waits = true;
      return;
    }
    finish(chunk, ChunkOutcome::lost);
  });
  queue_.clear();
  held_.clear();
  reads_.close_all();
  return any_waits;
}

void Connection::lose(TcpLoss why, int error, std::string_view detail) {
  if (over_) return;
  end_socket();
  end_chunks();
  report_end(TcpEventKind::connection_lost, why, error, detail);
}

void Connection::close(bool always) {
  const Lock lock(mutex_);
  if (over_ && !always) return;
  if (!over_) {
    end_socket();
    end_chunks();
  }
  report_end(TcpEventKind::connection_closed, TcpLoss::closed_here, 0, {});
}

void Connection::report_end(TcpEventKind kind, TcpLoss why, int error, std::string_view detail) {
  TcpEvent event;
  event.kind = kind;
  event.link = name_.link;
  event.connection = name_.connection;
  event.why = why;
  event.error = error;
  event.detail = detail;
  event.needs_fence = chunks_.size() != 0;
  surroundings_.reports->report(event);
}

void Connection::settle(bool fenced) {
  const Lock lock(mutex_);
  if (!over_) return;
  chunks_.for_each([&](TcpChunk* chunk) {
    // One whose memory was taken away has its outcome.
    if (chunk->outcome != ChunkOutcome::done) {
      finish(chunk, chunk->outcome);
    } else if (fenced) {
      finish(chunk, ChunkOutcome::lost);
    } else {
      finish(chunk, ChunkOutcome::refused, Reason::peer_lost);
    }
  });
}

void Connection::finish(TcpChunk* chunk, ChunkOutcome outcome, Reason reason) {
  chunks_.remove(chunk);
  if (is_large(chunk->chunk.length)) --large_chunks_;
  chunk->outcome = outcome;
  chunk->reason = reason;
  chunk->bytes = outcome == ChunkOutcome::done ? chunk->chunk.length : 0;
  surroundings_.reports->end(chunk);
}

void Connection::tick(Time now) {
  const Lock lock(mutex_);
  if (over_) return;
  const Duration limit = surroundings_.options->stall_limit;
  const bool must_send = !out_.idle() || !queue_.empty() || unanswered_ != 0 || holds_output();
  const bool must_come = in_.midway() && !paused_;
  const bool sends_nothing = sending_.stalled(must_send, now, limit);
  const bool gets_nothing = receiving_.stalled(must_come, now, limit);
  if (sends_nothing || gets_nothing) {
    lose(TcpLoss::stalled);
  } else if (reads_out_ != 0 && read_is_overdue(now)) {
    lose(TcpLoss::unanswered);
  }
}

// Looked at now and then, so that READs cost no clock.
bool Connection::read_is_overdue(Time now) {
  bool overdue = false;
  chunks_.for_each([&](TcpChunk* chunk) {
    if (chunk->chunk.op != Op::read || !chunk->sent) return;
    if (chunk->waits_since == Time{}) {
      chunk->waits_since = now;
    } else {
      overdue = overdue || now - chunk->waits_since >= surroundings_.options->read_limit;
    }
  });
  return overdue;
}

void Connection::abandon() {
  const Lock lock(mutex_);
  if (!over_) end_socket();
}

}  // namespace tentq
