// Reading, writing and ending a connection. See connection.h.
#include "daemon/peers/connection.h"

#include <fcntl.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "proto/check.h"

namespace tentq {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

// For a refusal to be written and read.
constexpr std::chrono::milliseconds kLinger{500};
constexpr std::size_t kMostDropped = 256u << 10;

}  // namespace

PeerConnection::PeerConnection(tcp::socket socket, std::shared_ptr<void> place)
    : socket_(std::move(socket)), linger_timer_(socket_.get_executor()), place_(std::move(place)) {
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
  const auto room = parser_.room();
  socket_.async_read_some(boost::asio::buffer(room.data(), room.size()),
                          [self = shared_from_this()](error_code error, std::size_t size) {
                            self->read_runs_ = false;
                            self->on_read(error, size);
                          });
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
        Reader* const reader = std::exchange(reader_, nullptr);
        refuse(PeerReason::protocol_error, text);
        if (reader != nullptr) reader->ended(PeerReason::protocol_error, text);
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
  boost::asio::async_write(
      socket_, boost::asio::buffer(writing_),
      [self = shared_from_this()](error_code error, std::size_t) { self->on_written(error); });
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

shm::Fd PeerConnection::release() {
  TENTQ_CHECK(!closed_ && !read_runs_ && writing_.empty());
  error_code error;
  shm::Fd fd(socket_.release(error));
  TENTQ_CHECK(!error);
  closed_ = true;
  reader_ = nullptr;
  place_.reset();
  linger_timer_.cancel();
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  return fd;
}

}  // namespace tentq
