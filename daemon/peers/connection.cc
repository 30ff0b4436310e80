// Reading, writing and ending a connection. See connection.h.
#include "daemon/peers/connection.h"

#include <fcntl.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>

#include "proto/check.h"

namespace tentq {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

// For a refusal to be written and read.
constexpr std::chrono::milliseconds kLinger{500};
constexpr std::size_t kMostDropped = 256u << 10;

}  // namespace

PeerConnection::PeerConnection(tcp::socket socket, std::unique_ptr<TlsStream> tls,
                               std::shared_ptr<void> place)
    : socket_(std::move(socket)),
      tls_(std::move(tls)),
      certificate_(tls_ ? tls_->peer_name() : std::string()),
      linger_timer_(socket_.get_executor()),
      place_(std::move(place)) {
  error_code ignored;
  remote_ = socket_.remote_endpoint(ignored);
  local_ = socket_.local_endpoint(ignored);
}

void PeerConnection::resume() {
  reading_ = true;
  take_messages();
}

void PeerConnection::read() {
  if (read_runs_) return;
  read_runs_ = true;
  if (tls_) {
    auto ready = [self = shared_from_this()](error_code error) {
      self->read_runs_ = false;
      if (error) return self->on_read(error, 0);
      self->read_tls();
    };
    if (!tls_->may_hold_input()) return socket_.async_wait(tcp::socket::wait_read, ready);
    return boost::asio::post(socket_.get_executor(), [ready] { ready({}); });
  }
  const auto room = parser_.room();
  socket_.async_read_some(boost::asio::buffer(room.data(), room.size()),
                          [self = shared_from_this()](error_code error, std::size_t size) {
                            self->read_runs_ = false;
                            self->on_read(error, size);
                          });
}

void PeerConnection::read_tls() {
  if (closed_ || refused_) return;
  const auto room = parser_.room();
  const iovec part = {room.data(), room.size()};
  const ssize_t got = tls_->receive({&part, 1});
  const int error = errno;
  // Answers of TLS itself; what the socket does not take goes with the next message.
  if (writing_.empty()) tls_->flush();
  if (got < 0 && error == EAGAIN) return read();
  if (got < 0) return end(tls_->fault().reason, tls_->fault().text);
  if (got == 0) return on_read(boost::asio::error::eof, 0);
  on_read({}, static_cast<std::size_t>(got));
}

void PeerConnection::on_read(error_code error, std::size_t size) {
  if (closed_ || refused_) return;
  if (error) {
    return end(PeerReason::closed, error == boost::asio::error::eof
                                       ? "the other side closed the connection"
                                       : "the connection broke: " + error.message());
  }
  heard_ = true;
  parser_.added(size);
  take_messages();
}

void PeerConnection::take_messages() {
  const auto self = shared_from_this();
  PeerMessage message;
  while (reading_ && !closed_ && !refused_) {
    if (answers_ && queued_.size() + writing_.size() > kMostUnread) {
      behind_ = true;
      return;
    }
    switch (parser_.next(&message)) {
      case PeerParser::Step::more: return read();
      case PeerParser::Step::message:
        if (reader_ != nullptr) reader_->received(message);
        break;
      case PeerParser::Step::broken: {
        const std::string text = "the other side sent " + parser_.why();
        const PeerReason reason =
            parser_.is_tls() ? PeerReason::auth_mismatch : PeerReason::protocol_error;
        Reader* const reader = std::exchange(reader_, nullptr);
        refuse(reason, text);
        if (reader != nullptr) reader->ended(reason, text);
        return;
      }
    }
  }
}

bool PeerConnection::send_bytes(const void* bytes, std::size_t size) {
  if (closed_ || refused_ || overflowed_) return false;
  if (queued_.size() + writing_.size() + size > kMostQueued) {
    // Its end is told later: who sends does not expect to be called.
    overflowed_ = true;
    boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
      self->end(PeerReason::not_reading,
                std::to_string(kMostQueued) + " bytes wait for the other side to read them");
    });
    return false;
  }
  const auto* first = static_cast<const std::byte*>(bytes);
  queued_.insert(queued_.end(), first, first + size);
  if (writing_.empty()) write();
  return true;
}

void PeerConnection::write() {
  writing_.swap(queued_);
  queued_.clear();
  written_ = 0;
  if (tls_) {
    return boost::asio::post(socket_.get_executor(),
                             [self = shared_from_this()] { self->write_tls(); });
  }
  boost::asio::async_write(
      socket_, boost::asio::buffer(writing_),
      [self = shared_from_this()](error_code error, std::size_t) { self->on_written(error); });
}

void PeerConnection::write_tls() {
  while (!closed_) {
    const iovec part = {writing_.data() + written_, writing_.size() - written_};
    const ssize_t taken = tls_->send({&part, written_ < writing_.size() ? 1u : 0u});
    if (taken < 0 && errno == EAGAIN) {
      return socket_.async_wait(tcp::socket::wait_write,
                                [self = shared_from_this()](error_code error) {
                                  error ? self->on_written(error) : self->write_tls();
                                });
    }
    if (taken < 0) return on_written(error_code(errno, boost::system::system_category()));
    written_ += static_cast<std::size_t>(taken);
    if (written_ == writing_.size() && !tls_->holds_output()) return on_written({});
  }
}

void PeerConnection::on_written(error_code error) {
  writing_.clear();
  if (closed_) return;
  if (error) return end(PeerReason::closed, "the connection broke: " + error.message());
  const auto self = shared_from_this();
  if (!queued_.empty()) write();
  if (behind_ && queued_.size() + writing_.size() <= kMostUnread) {
    behind_ = false;
    take_messages();
  }
  if (closed_ || !writing_.empty()) return;
  if (refused_) return linger();
  if (const auto then = std::exchange(flushed_, nullptr)) then();
}

void PeerConnection::flush(std::function<void()> then) {
  flushed_ = std::move(then);
  if (!writing_.empty() || closed_) return;
  boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (self->closed_ || !self->writing_.empty()) return;
    if (const auto run = std::exchange(self->flushed_, nullptr)) run();
  });
}

void PeerConnection::end(PeerReason reason, const std::string& text) {
  if (closed_) return;
  const auto self = shared_from_this();
  Reader* const reader = std::exchange(reader_, nullptr);
  close();
  if (reader != nullptr) reader->ended(reason, text);
}

void PeerConnection::refuse(PeerReason reason, const std::string& text) {
  reader_ = nullptr;
  flushed_ = nullptr;
  if (closed_ || refused_) return;
  PeerRefused refused;
  refused.status = status_of(reason);
  refused.text.assign(text);
  const bool sent = send(refused);
  refused_ = true;
  if (!sent) return close();
  linger_timer_.expires_after(kLinger);
  linger_timer_.async_wait([weak = weak_from_this()](error_code error) {
    const auto self = weak.lock();
    if (!error && self) self->close();
  });
}

// Bytes that were not read when a socket is closed reset the connection, and with it the refusal
// that the other side has not read yet. So what comes is read until the other side closes, too.
void PeerConnection::linger() {
  error_code error;
  socket_.shutdown(tcp::socket::shutdown_send, error);
  if (error) return close();
  if (!read_runs_) return drop_what_comes();
  // The read that runs ends in on_read(), which does nothing with it.
  socket_.cancel(error);
  boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (!self->closed_) self->drop_what_comes();
  });
}

void PeerConnection::drop_what_comes() {
  writing_.resize(4096);
  socket_.async_read_some(boost::asio::buffer(writing_),
                          [self = shared_from_this()](error_code error, std::size_t size) {
                            if (self->closed_) return;
                            self->dropped_ += size;
                            if (error || self->dropped_ > kMostDropped) return self->close();
                            self->drop_what_comes();
                          });
}

void PeerConnection::close() {
  error_code ignored;
  reader_ = nullptr;
  flushed_ = nullptr;
  closed_ = true;
  place_.reset();
  linger_timer_.cancel();
  socket_.close(ignored);
}

PeerConnection::Released PeerConnection::release() {
  TENTQ_CHECK(!closed_ && !read_runs_ && writing_.empty());
  error_code error;
  shm::Fd fd(socket_.release(error));
  TENTQ_CHECK(!error);
  closed_ = true;
  reader_ = nullptr;
  place_.reset();
  linger_timer_.cancel();
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  return {std::move(fd), std::move(tls_)};
}

}  // namespace tentq
