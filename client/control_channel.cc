// Requests, answers and the one reader. See control_channel.h.
#include "client/control_channel.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace tentq::lib {

namespace {

// How long a leader sleeps before it looks whether it is still needed.
constexpr std::chrono::milliseconds kSlice{500};

template <class Message>
bool parse(std::span<const std::byte> bytes, Message* message) {
  if (bytes.size() != sizeof(Message)) return false;
  std::memcpy(message, bytes.data(), sizeof(Message));
  return true;
}

}  // namespace

Status ControlChannel::gone() {
  return {Code::daemon_gone, "the connection to the daemon was lost"};
}

std::shared_ptr<ControlChannel::Pending> ControlChannel::open(ControlHeader* header,
                                                              OnAnswer on_answer) {
  auto pending = std::make_shared<Pending>();
  pending->on_answer = std::move(on_answer);
  const std::lock_guard hold(mutex_);
  header->request = next_request_++;
  pending_.emplace(header->request, pending);
  return pending;
}

bool ControlChannel::send(std::span<const std::byte> bytes, std::span<const int> fds) {
  for (;;) {
    if (lost()) return false;
    const int error = shm::send_packet(socket_.get(), bytes, fds);
    if (error == 0) return true;
    if (error != EAGAIN && error != ENOBUFS) {
      lose();
      return false;
    }
    pollfd room{socket_.get(), POLLOUT, 0};
    ::poll(&room, 1, static_cast<int>(kSlice.count()));
  }
}

Status ControlChannel::await(std::uint64_t request, Pending& pending, Clock::time_point until,
                             const Progress& progress, Answer* answer) {
  std::unique_lock hold(mutex_);
  for (;;) {
    if (pending.progressed && progress) {
      pending.progressed = false;
      const std::uint64_t done = pending.done_bytes, total = pending.total_bytes;
      hold.unlock();
      progress(done, total);
      hold.lock();
      continue;
    }
    if (pending.answered) {
      *answer = std::move(pending.answer);
      return {};
    }
    if (lost()) return gone();
    const Clock::time_point now = Clock::now();
    if (now >= until) {
      if (!pending.on_answer) pending_.erase(request);
      return {Code::timeout, "the daemon did not answer in time"};
    }
    const auto slice = std::min<Clock::duration>(until - now, kSlice);
    if (led_) {
      changed_.wait_for(hold, slice);
      continue;
    }
    led_ = true;
    hold.unlock();
    shm::wait_readable(socket_.get(), std::chrono::ceil<std::chrono::milliseconds>(slice));
    receive_all();
    hold.lock();
    led_ = false;
    changed_.notify_all();
  }
}

void ControlChannel::pump() {
  {
    const std::lock_guard hold(mutex_);
    if (led_ || lost()) return;
    led_ = true;
  }
  receive_all();
  const std::lock_guard hold(mutex_);
  led_ = false;
  changed_.notify_all();
}

void ControlChannel::serve(int wake_fd, std::chrono::milliseconds most) {
  {
    std::unique_lock hold(mutex_);
    if (led_) changed_.wait_for(hold, std::min(most, kSlice), [&] { return !led_ || lost(); });
    if (led_ || lost()) return;
    led_ = true;
  }
  pollfd fds[2] = {{socket_.get(), POLLIN, 0}, {wake_fd, POLLIN, 0}};
  ::poll(fds, 2, static_cast<int>(most.count()));
  if (fds[0].revents != 0) receive_all();
  const std::lock_guard hold(mutex_);
  led_ = false;
  changed_.notify_all();
}

void ControlChannel::shut() {
  ::shutdown(socket_.get(), SHUT_RDWR);
  lose();
}

void ControlChannel::lose() {
  const std::lock_guard hold(mutex_);
  lost_.store(true, std::memory_order_release);
  pending_.clear();
  changed_.notify_all();
}

void ControlChannel::receive_all() {
  alignas(8) std::array<std::byte, kLargestMessage> buffer;
  for (;;) {
    shm::ReceivedPacket packet;
    const int error = shm::receive_packet(socket_.get(), buffer, &packet);
    if (error == EAGAIN) return;
    if (error == EINTR) continue;
    if (error != 0 || packet.bytes == 0) {
      lose();
      return;
    }
    if (packet.truncated || packet.bytes < sizeof(ControlHeader)) continue;
    dispatch(std::span(buffer).first(packet.bytes), packet);
  }
}

void ControlChannel::dispatch(std::span<const std::byte> bytes, shm::ReceivedPacket& packet) {
  ControlHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.bytes != bytes.size()) return;
  if (header.type == MessageType::notification) {
    Notification message;
    if (parse(bytes, &message)) sink_->on_notification(message);
  } else if (header.type == MessageType::daemon_notice) {
    DaemonNotice notice;
    if (parse(bytes, &notice)) sink_->on_notice(notice);
  } else if (header.request != 0) {
    answered(header.request, bytes, packet);
  }
}

void ControlChannel::answered(std::uint64_t request, std::span<const std::byte> bytes,
                              shm::ReceivedPacket& packet) {
  std::shared_ptr<Pending> pending;
  RegionProgress progress;
  {
    const std::lock_guard hold(mutex_);
    const auto it = pending_.find(request);
    if (it == pending_.end()) return;  // its asker has stopped waiting
    pending = it->second;
    if (parse(bytes, &progress) && progress.header.type == MessageType::region_progress) {
      pending->progressed = true;
      pending->done_bytes = progress.done_bytes;
      pending->total_bytes = progress.total_bytes;
      changed_.notify_all();
      return;
    }
    pending_.erase(it);
  }
  Answer answer;
  answer.bytes.assign(bytes.begin(), bytes.end());
  if (packet.fd_count > 0) answer.fd = std::move(packet.fds[0]);
  if (pending->on_answer) pending->on_answer(answer);
  const std::lock_guard hold(mutex_);
  pending->answer = std::move(answer);
  pending->answered = true;
  changed_.notify_all();
}

}  // namespace tentq::lib
