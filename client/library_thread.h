// The one thread that the library may have: "tentq-lib", with all signals blocked, asleep until its
// socket or its own wake-up fd is readable.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <functional>

#include "shm/fd.h"

namespace tentq::lib {

class LibraryThread {
 public:
  ~LibraryThread();
  // errno or 0. `body` returns soon after it finds its stop condition true and was woken.
  int start(std::function<void()> body);
  bool running() const { return running_.load(std::memory_order_acquire); }
  int wake_fd() const { return wake_.get(); }
  void wake();
  void clear_wake();
  // Sleeps until woken, at most `most`.
  void pause(std::chrono::nanoseconds most);
  // After the stop condition was made true.
  void join();
  // In a forked child, where the thread does not exist.
  void abandon();

 private:
  static void* run(void* self);

  std::function<void()> body_;
  shm::Fd wake_;
  pthread_t thread_{};
  std::atomic<bool> running_{false};
};

}  // namespace tentq::lib
