// The fd of event loops. See completion_fd.h.
#include "client/completion_fd.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>

namespace tentq::lib {

int CompletionFd::open() {
  const std::lock_guard hold(mutex_);
  if (in_use()) return 0;
  shm::Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return errno;
  shm::Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) return errno;
  shm::Fd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer.valid()) return errno;
  epoll_ = std::move(epoll);
  event_ = std::move(event);
  timer_ = std::move(timer);
  add(event_.get());
  add(timer_.get());
  used_.store(true, std::memory_order_release);
  return 0;
}

void CompletionFd::add(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);  // EEXIST: it is watched already
}

void CompletionFd::remove(int fd) {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void CompletionFd::watch(const Session& session, bool with_socket) {
  const std::lock_guard hold(mutex_);
  if (!in_use()) return;
  add(session.completion_fd());
  if (with_socket) add(session.control_socket());
}

void CompletionFd::unwatch(const Session& session) {
  const std::lock_guard hold(mutex_);
  if (!in_use()) return;
  remove(session.completion_fd());
  remove(session.control_socket());
}

void CompletionFd::raise() {
  if (!in_use()) return;
  const std::uint64_t one = 1;
  while (::write(event_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void CompletionFd::clear(const Session& session) {
  if (!in_use()) return;
  std::uint64_t count = 0;
  for (const int fd : {event_.get(), timer_.get()}) {
    while (::read(fd, &count, sizeof count) < 0 && errno == EINTR) {
    }
  }
  shm::drain_completion_fd(session.completion_fd());
}

void CompletionFd::wake_after(std::chrono::nanoseconds after) {
  if (!in_use()) return;
  const auto most = std::max(after, std::chrono::nanoseconds{1});
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most);
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(seconds.count());
  when.it_value.tv_nsec = static_cast<long>((most - seconds).count());
  ::timerfd_settime(timer_.get(), 0, &when, nullptr);
}

void CompletionFd::abandon() {
  used_.store(false, std::memory_order_relaxed);
  epoll_.reset();
  event_.reset();
  timer_.reset();
}

}  // namespace tentq::lib
