// The two sleep handshakes of a session, as the four calls that make them up. Each is a seq_cst
// store or exchange followed by a seq_cst load on named words, so that either the sleeper sees the
// work or the waker sees the sleeper. README.md explains both; tests/shm has the litmus tests.
#pragma once

#include <chrono>
#include <cstdint>

#include "proto/session_layout.h"

namespace tentq::shm {

// Client → daemon: `published` (REQ) against `need_wakeup` (STA), doorbell eventfd.
class DoorbellRinger {  // client side; thread-safe
 public:
  DoorbellRinger() = default;
  DoorbellRinger(std::atomic<std::uint64_t>* published, const std::atomic<std::uint32_t>* need_wakeup,
                 int doorbell_fd);
  // After publishing a group or a wish: raises `published`; writes the eventfd only if the daemon
  // parked the session. True if it rang.
  bool published();

 private:
  std::atomic<std::uint64_t>* published_ = nullptr;
  const std::atomic<std::uint32_t>* need_wakeup_ = nullptr;
  int doorbell_fd_ = -1;
};

class DoorbellSleeper {  // daemon side; one thread
 public:
  DoorbellSleeper() = default;
  DoorbellSleeper(const std::atomic<std::uint64_t>* published, std::atomic<std::uint32_t>* need_wakeup);
  // True if `published` changed since the last call: look at the rings and wishes. One load.
  bool changed();
  // Parks the session: asks to be rung, then looks once more. False: something was published
  // meanwhile, the session stays awake.
  bool park();
  // The doorbell rang, or the daemon polls it again.
  void unpark();
  bool parked() const { return parked_; }

 private:
  const std::atomic<std::uint64_t>* published_ = nullptr;
  std::atomic<std::uint32_t>* need_wakeup_ = nullptr;
  std::uint64_t seen_ = 0;
  bool parked_ = false;
};

// Daemon → client: `completions` (STA, futex word) against `waiters` and `completion_fd_armed` (REQ).
class CompletionWaiter {  // client side; thread-safe
 public:
  CompletionWaiter() = default;
  CompletionWaiter(const std::atomic<std::uint32_t>* completions, std::atomic<std::uint32_t>* waiters,
                   std::atomic<std::uint32_t>* completion_fd_armed);
  // The futex word now; pass it to wait() after having found nothing.
  std::uint32_t ticket() const;
  // Sleeps until the word differs from `ticket`, at most `most` (a slice; callers re-check the
  // socket between slices). True if the word changed.
  bool wait(std::uint32_t ticket, std::chrono::nanoseconds most);
  // Asks for the completion eventfd to be written at the next change. False: it changed since
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
  CompletionNotifier(std::atomic<std::uint32_t>* completions, const std::atomic<std::uint32_t>* waiters,
                     std::atomic<std::uint32_t>* completion_fd_armed, int completion_fd);
  // After slots, credit or heads were written: changes the word, wakes sleepers and writes the
  // eventfd if somebody asked. No system call otherwise. True if it made one.
  bool notify();

 private:
  std::atomic<std::uint32_t>* completions_ = nullptr;
  const std::atomic<std::uint32_t>* waiters_ = nullptr;
  std::atomic<std::uint32_t>* armed_ = nullptr;
  int completion_fd_ = -1;
};

}  // namespace tentq::shm
