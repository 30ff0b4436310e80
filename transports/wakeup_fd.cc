// See wakeup_fd.h.
#include "transports/wakeup_fd.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "proto/check.h"

namespace tentq {

WakeupFd::WakeupFd() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

WakeupFd::~WakeupFd() {
  close(fd_);
}

void WakeupFd::arm() {
  const bool taken = armed_.exchange(1, std::memory_order_seq_cst) == 0;
  if (asked_ && taken) unread_ = true;  // armed twice, rung in between
  asked_ = true;
}

void WakeupFd::disarm() {
  if (asked_) {
    asked_ = false;
    if (armed_.exchange(0, std::memory_order_seq_cst) == 0) unread_ = true;
  }
  if (!unread_) return;
  // The ringer may be between taking the word and writing; then the next call reads it.
  std::uint64_t count = 0;
  if (read(fd_, &count, sizeof count) == sizeof count) {
    unread_ = false;
  } else {
    TENTQ_CHECK(errno == EAGAIN || errno == EINTR);
  }
}

void WakeupFd::ring() {
  if (armed_.load(std::memory_order_seq_cst) == 0) return;
  if (armed_.exchange(0, std::memory_order_seq_cst) == 0) return;
  const std::uint64_t one = 1;
  TENTQ_CHECK(write(fd_, &one, sizeof one) == sizeof one);
}

}  // namespace tentq
