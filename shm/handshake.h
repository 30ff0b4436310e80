// The two sleep handshakes of a session, as the four calls that make them up. Each is a seq_cst
// store or exchange followed by a seq_cst load on named words, so that either the sleeper sees the
// work or the waker sees the sleeper. README.md explains both; tests/shm has the litmus tests.
#pragma once

#include <chrono>
#include <cstdint>

#include "proto/session_layout.h"
#include "shm/fd.h"

namespace tentq::shm {

// Client → daemon: `published` (REQ) against `need_wakeup` (STA), doorbell eventfd.
class DoorbellRinger {  // client side; thread-safe
 public:
  DoorbellRinger() = default;
  DoorbellRinger(std::atomic<std::uint64_t>* published,
                 const std::atomic<std::uint32_t>* need_wakeup, int doorbell_fd)
      : published_(published), need_wakeup_(need_wakeup), doorbell_fd_(doorbell_fd) {}
  // After publishing a group or a wish: raises `published`; writes the eventfd only if the daemon
  // parked the session. True if it rang.
  bool published() {
    // Partner: DoorbellSleeper::park. Write first, read second, seq_cst on both sides: weaker, the
    // client could read need_wakeup 0 while the daemon reads the old `published`, and sleeps on
    // work.
    published_->fetch_add(1, std::memory_order_seq_cst);
    if (need_wakeup_->load(std::memory_order_seq_cst) == 0) return false;
    ring();
    return true;
  }

 private:
  void ring();

  std::atomic<std::uint64_t>* published_ = nullptr;
  const std::atomic<std::uint32_t>* need_wakeup_ = nullptr;
  int doorbell_fd_ = -1;
};

class DoorbellSleeper {  // daemon side; one thread
 public:
  DoorbellSleeper() = default;
  DoorbellSleeper(const std::atomic<std::uint64_t>* published,
                  std::atomic<std::uint32_t>* need_wakeup)
      : published_(published), need_wakeup_(need_wakeup) {}
  // True if `published` changed since the last call: look at the rings and wishes. One load.
  bool changed() {
    // Partner: DoorbellRinger::published. Acquire: the cells that it announces are visible.
    const std::uint64_t now = published_->load(std::memory_order_acquire);
    if (now == seen_) return false;
    seen_ = now;
    return true;
  }
  // Whether changed() would say so; takes nothing.
  bool pending() const { return published_->load(std::memory_order_relaxed) != seen_; }
  // Parks the session: asks to be rung, then looks once more. False: something was published
  // meanwhile, the session stays awake.
  bool park() {
    // Partner: DoorbellRinger::published; what breaks is said there.
    need_wakeup_->store(1, std::memory_order_seq_cst);
    parked_ = published_->load(std::memory_order_seq_cst) == seen_;
    if (!parked_) need_wakeup_->store(0, std::memory_order_relaxed);
    return parked_;
  }
  // The doorbell rang, or the daemon polls it again.
  void unpark() {
    parked_ = false;
    // Relaxed: seen late it costs the client one needless write to the doorbell.
    need_wakeup_->store(0, std::memory_order_relaxed);
  }
  bool parked() const { return parked_; }

 private:
  const std::atomic<std::uint64_t>* published_ = nullptr;
  std::atomic<std::uint32_t>* need_wakeup_ = nullptr;
  std::uint64_t seen_ = 0;
  bool parked_ = false;
};

// Daemon → client: `completions` (STA, futex word) against `waiters` and `completion_fd_armed`
// (REQ).
class CompletionWaiter {  // client side; thread-safe
 public:
  CompletionWaiter() = default;
  CompletionWaiter(const std::atomic<std::uint32_t>* completions,
                   std::atomic<std::uint32_t>* waiters,
                   std::atomic<std::uint32_t>* completion_fd_armed)
      : completions_(completions), waiters_(waiters), armed_(completion_fd_armed) {}
  // The futex word now; pass it to wait() after having found nothing.
  // Partner: CompletionNotifier::notify. Acquire: a slot that is read after the ticket is at least
  // as new as the ticket, so what the ticket announces is not slept on.
  std::uint32_t ticket() const { return completions_->load(std::memory_order_acquire); }
  // Sleeps until the word differs from `ticket`, at most `most` (a slice; callers re-check the
  // socket between slices). True if the word changed.
  bool wait(std::uint32_t ticket, std::chrono::nanoseconds most);
  // Asks for the completion fd to be written at the next change. False: it changed since
  // `ticket`, look again instead of sleeping.
  bool arm_fd(std::uint32_t ticket);

 private:
  const std::atomic<std::uint32_t>* completions_ = nullptr;
  std::atomic<std::uint32_t>* waiters_ = nullptr;
  std::atomic<std::uint32_t>* armed_ = nullptr;
};

class CompletionNotifier {  // daemon side; one thread
 public:
  CompletionNotifier() = default;
  CompletionNotifier(std::atomic<std::uint32_t>* completions,
                     const std::atomic<std::uint32_t>* waiters,
                     std::atomic<std::uint32_t>* completion_fd_armed, int completion_fd)
      : completions_(completions),
        waiters_(waiters),
        armed_(completion_fd_armed),
        completion_fd_(completion_fd) {}
  // After slots, credit or heads were written: changes the word, wakes sleepers and writes the
  // completion fd if somebody asked. No system call otherwise. True if it made one.
  bool notify() {
    // Partners: CompletionWaiter::wait and arm_fd. Write first, read second, seq_cst on both sides:
    // weaker, the daemon could read no waiter while the client reads the old word, and sleeps on.
    completions_->fetch_add(1, std::memory_order_seq_cst);
    const bool sleepers = waiters_->load(std::memory_order_seq_cst) != 0;
    const bool armed = armed_->load(std::memory_order_seq_cst) != 0;
    if (!sleepers && !armed) return false;
    wake(sleepers, armed);
    return true;
  }

 private:
  void wake(bool sleepers, bool armed);

  std::atomic<std::uint32_t>* completions_ = nullptr;
  const std::atomic<std::uint32_t>* waiters_ = nullptr;
  std::atomic<std::uint32_t>* armed_ = nullptr;
  int completion_fd_ = -1;
};

// Makes the doorbell: an eventfd, non-blocking. errno or 0.
int create_doorbell(Fd* doorbell);
// Takes what the doorbell counted; true if it had rung. Never blocks, also not when the client,
// which shares the fd's flags, made it blocking: that is why plain read() must not be used on it.
bool drain_doorbell(int doorbell_fd);

// Makes the completion fd: a pair of stream sockets, non-blocking, of which the client gets
// `client_end`. Not an eventfd: its owner could fill it, make it blocking and so stop the daemon.
int create_completion_pair(Fd* daemon_end, Fd* client_end);
// Client side: takes what was written, so that the fd is readable again only after a new change.
void drain_completion_fd(int client_end);

}  // namespace tentq::shm
