// One control connection. See control_channel.h.
#include "daemon/control_channel.h"

#include <fcntl.h>

#include <boost/asio/post.hpp>
#include <cerrno>

namespace tentq {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

ControlChannel::ControlChannel(boost::asio::io_context& io, Host& host, shm::Fd socket,
                               shm::PeerCredentials credentials, bool admin)
    : host_(host),
      socket_(io),
      process_(io),
      timer_(io),
      credentials_(std::move(credentials)),
      admin_(admin),
      buffer_(kLargestMessage + 1) {
  error_code error;
  socket_.assign(socket.get(), error);
  if (error) {
    closed_ = true;
  } else {
    socket.release();
  }
}

ControlChannel::~ControlChannel() = default;

void ControlChannel::start(std::chrono::nanoseconds handshake_limit) {
  timer_.expires_after(handshake_limit);
  timer_.async_wait([self = weak_from_this()](error_code error) {
    if (error) return;
    if (auto channel = self.lock()) channel->fail("no complete handshake within the time limit");
  });
  wait_readable();
}

void ControlChannel::established() {
  timer_.cancel();
}

void ControlChannel::watch_process(shm::Fd pidfd) {
  // An fd that cannot be watched is no pidfd; the socket's end alone has to do then.
  error_code unwatchable;
  process_.assign(pidfd.get(), unwatchable);
  if (unwatchable) return;
  pidfd.release();
  process_.async_wait(stream_descriptor::wait_read, [self = weak_from_this()](error_code error) {
    if (error) return;
    if (auto channel = self.lock()) channel->fail("the process ended");
  });
}

void ControlChannel::wait_readable() {
  if (closed_) return;
  socket_.async_wait(stream_descriptor::wait_read, [self = weak_from_this()](error_code error) {
    if (error) return;
    if (auto channel = self.lock()) channel->on_readable();
  });
}

void ControlChannel::on_readable() {
  for (int i = 0; i < kPacketsPerTurn; ++i) {
    if (closed_) return;
    if (!receive_one()) break;
  }
  wait_readable();
}

// False: nothing more is there now, or the channel ended.
bool ControlChannel::receive_one() {
  shm::ReceivedPacket packet;
  const int error = shm::receive_packet(socket_.native_handle(), buffer_, &packet);
  if (error == EAGAIN || error == EINTR) return false;
  if (error != 0) {
    fail("the connection broke");
    return false;
  }
  if (packet.bytes == 0) {
    fail("the other end closed");
    return false;
  }
  if (closing_) return true;
  auto message = packet.truncated
                     ? std::nullopt
                     : parse_message(std::span<const std::byte>(buffer_).first(packet.bytes));
  if (!message) {
    fail("a malformed control message");
    return false;
  }
  shm::Fd fd = packet.fd_count > 0 ? std::move(packet.fds[0]) : shm::Fd{};
  host_.received(*this, std::move(*message), std::move(fd));
  return true;
}

bool ControlChannel::send_bytes(std::span<const std::byte> bytes, std::span<const int> fds) {
  if (closed_ || broken_) return false;
  if (queue_.empty()) {
    const int error = shm::send_packet(socket_.native_handle(), bytes, fds);
    if (error == 0) return true;
    if (error != EAGAIN) {
      break_off("the connection broke");
      return false;
    }
  }
  if (queue_.size() >= kMostQueued) {
    break_off("the client takes no answers");
    return false;
  }
  Queued& queued = queue_.emplace_back();
  queued.bytes.assign(bytes.begin(), bytes.end());
  for (const int fd : fds) queued.fds.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  wait_writable();
  return true;
}

bool ControlChannel::try_send(const Notification& message) {
  if (closed_ || closing_ || broken_) return false;
  int error = EAGAIN;
  if (queue_.empty()) {
    error = shm::send_packet(socket_.native_handle(), std::as_bytes(std::span(&message, 1)));
  }
  if (error == EAGAIN) wait_writable();
  if (error != 0 && error != EAGAIN) break_off("the client takes no answers");
  return error == 0;
}

// Nothing can be sent any more. Its end follows later, because whoever sends now goes on with the
// session; and what the other end had sent before it closed, such as its GOODBYE, still counts.
void ControlChannel::break_off(const char* why) {
  if (broken_) return;
  broken_ = true;
  queue_.clear();
  boost::asio::post(socket_.get_executor(), [self = weak_from_this(), why] {
    auto channel = self.lock();
    if (!channel) return;
    for (int i = 0; i < kPacketsPerTurn; ++i) {
      if (channel->closed_ || !channel->receive_one()) break;
    }
    channel->fail(why);
  });
}

void ControlChannel::wait_writable() {
  if (waiting_writable_ || closed_ || broken_) return;
  waiting_writable_ = true;
  socket_.async_wait(stream_descriptor::wait_write, [self = weak_from_this()](error_code error) {
    auto channel = self.lock();
    if (error || !channel) return;
    channel->waiting_writable_ = false;
    channel->on_writable();
  });
}

void ControlChannel::on_writable() {
  while (!queue_.empty() && !closed_) {
    Queued& front = queue_.front();
    std::vector<int> fds;
    for (const shm::Fd& fd : front.fds) fds.push_back(fd.get());
    const int error = shm::send_packet(socket_.native_handle(), front.bytes, fds);
    if (error == EAGAIN) return wait_writable();
    if (error != 0) return break_off("the connection broke");
    queue_.pop_front();
  }
  if (closed_ || broken_) return;
  if (closing_) return fail("closed by the daemon");
  host_.writable(*this);
}

void ControlChannel::close_after_sending(std::chrono::nanoseconds limit) {
  if (closed_ || closing_) return;
  closing_ = true;
  if (queue_.empty()) return fail("closed by the daemon");
  timer_.expires_after(limit);
  timer_.async_wait([self = weak_from_this()](error_code error) {
    if (error) return;
    if (auto channel = self.lock()) channel->fail("closed by the daemon");
  });
}

void ControlChannel::abandon() {
  if (closed_) return;
  closed_ = true;
  error_code ignored;
  timer_.cancel();
  process_.close(ignored);
  socket_.close(ignored);
  queue_.clear();
}

void ControlChannel::fail(const char* why) {
  if (closed_) return;
  const auto keep_alive = shared_from_this();
  abandon();
  host_.closed(*this, why);
}

}  // namespace tentq
