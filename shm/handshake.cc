// The parts of the handshakes that make a system call: reached only when the other side sleeps.
#include "shm/handshake.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace tentq::shm {
namespace {

// Shared futexes: the two sides are different processes. FUTEX_WAIT works on a read-only mapping.
void futex_wait(const std::atomic<std::uint32_t>* word, std::uint32_t expected,
                std::chrono::nanoseconds most) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most);
  const timespec timeout{static_cast<time_t>(seconds.count()),
                         static_cast<long>((most - seconds).count())};
  ::syscall(SYS_futex, word, FUTEX_WAIT, expected, &timeout, nullptr, 0);
}

void futex_wake_all(const std::atomic<std::uint32_t>* word) {
  ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

void DoorbellRinger::ring() {
  const std::uint64_t one = 1;
  // A full counter (EAGAIN) has rung already.
  while (::write(doorbell_fd_, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

bool CompletionWaiter::wait(std::uint32_t ticket, std::chrono::nanoseconds most) {
  // Partner: CompletionNotifier::notify; what breaks is said there. The kernel compares the word
  // once more under its own lock, so a change after the load below is not slept on either.
  waiters_->fetch_add(1, std::memory_order_seq_cst);
  if (completions_->load(std::memory_order_seq_cst) == ticket && most.count() > 0) {
    futex_wait(completions_, ticket, most);
  }
  // Relaxed: seen late it costs the daemon one needless wake-up call.
  waiters_->fetch_sub(1, std::memory_order_relaxed);
  return completions_->load(std::memory_order_acquire) != ticket;
}

bool CompletionWaiter::arm_fd(std::uint32_t ticket) {
  // Partner: CompletionNotifier::notify; what breaks is said there.
  armed_->store(1, std::memory_order_seq_cst);
  return completions_->load(std::memory_order_seq_cst) == ticket;
}

void CompletionNotifier::wake(bool sleepers, bool armed) {
  if (sleepers) futex_wake_all(completions_);
  if (!armed) return;
  // Disarmed before the write: a client that arms in between is woken once too often, never too
  // seldom. Partner: arm_fd.
  armed_->store(0, std::memory_order_seq_cst);
  const std::uint64_t one = 1;
  // A full buffer (EAGAIN) is readable already; a closed end (EPIPE) is about to end the session.
  while (::send(completion_fd_, &one, sizeof one, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
         errno == EINTR) {
  }
}

int create_doorbell(Fd* doorbell) {
  doorbell->reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return doorbell->valid() ? 0 : errno;
}

bool drain_doorbell(int doorbell_fd) {
  std::uint64_t count = 0;
  iovec part{&count, sizeof count};
  for (;;) {
    // RWF_NOWAIT and not O_NONBLOCK: the flag belongs to the open file, which the client shares.
    const ssize_t got = ::preadv2(doorbell_fd, &part, 1, -1, RWF_NOWAIT);
    if (got >= 0 || errno != EINTR) return got == static_cast<ssize_t>(sizeof count);
  }
}

int create_completion_pair(Fd* daemon_end, Fd* client_end) {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0) return errno;
  daemon_end->reset(fds[0]);
  client_end->reset(fds[1]);
  return 0;
}

void drain_completion_fd(int client_end) {
  char buffer[256];
  for (;;) {
    const ssize_t got = ::recv(client_end, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EINTR)) return;
  }
}

}  // namespace tentq::shm
