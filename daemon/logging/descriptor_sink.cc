// Writing a line without ever waiting: sockets by MSG_DONTWAIT, pipes after poll. Under the sink's
// mutex.
#include "daemon/logging/descriptor_sink.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace tentq {
namespace {

bool is_socket(int fd) {
  struct stat facts {};
  return ::fstat(fd, &facts) == 0 && S_ISSOCK(facts.st_mode);
}

}  // namespace

DescriptorSink::DescriptorSink(int fd, bool own) : fd_(fd), own_(own), socket_(is_socket(fd)) {}

DescriptorSink::~DescriptorSink() {
  if (own_) ::close(fd_);
}

void DescriptorSink::replace(int fd) {
  const std::lock_guard lock(mutex_);
  if (own_) ::close(fd_);
  fd_ = fd;
  own_ = true;
  socket_ = is_socket(fd);
}

void DescriptorSink::sink_it_(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t line;
  if (lost_untold_ != 0) {
    const std::string told = "<" + std::to_string(lost_untold_) + " lines lost> ";
    line.append(told.data(), told.data() + told.size());
  }
  formatter_->format(message, line);
  // A pipe that polls writable takes PIPE_BUF bytes without blocking, so longer lines are cut.
  const std::size_t bytes = std::min<std::size_t>(line.size(), PIPE_BUF);
  if (bytes < line.size()) line[bytes - 1] = '\n';
  if (write(line.data(), bytes)) {
    lost_untold_ = 0;
  } else {
    ++lost_untold_;
    lost_.fetch_add(1, std::memory_order_relaxed);
  }
}

bool DescriptorSink::write(const char* text, std::size_t bytes) {
  for (;;) {
    ssize_t written = 0;
    if (socket_) {
      written = ::send(fd_, text, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
      pollfd writable{fd_, POLLOUT, 0};
      const int ready = ::poll(&writable, 1, 0);
      if (ready < 0 && errno == EINTR) continue;
      if (ready != 1 || (writable.revents & (POLLERR | POLLNVAL)) != 0) return false;
      written = ::write(fd_, text, bytes);
    }
    if (written < 0 && errno == EINTR) continue;
    return written == static_cast<ssize_t>(bytes);
  }
}

}  // namespace tentq
