// The fd that an event loop watches: an epoll that holds the session's completion fd, an eventfd
// for what happens inside the library, and, without the library's thread, the control socket and a
// timer. Stays the same over daemon restarts; only what it holds changes. Thread-safe.
#pragma once

#include <chrono>
#include <mutex>

#include "client/session.h"
#include "shm/fd.h"

namespace tentq::lib {

class CompletionFd {
 public:
  // Opens it at the first call. errno or 0.
  int open();
  bool in_use() const { return used_.load(std::memory_order_acquire); }
  int get() const { return epoll_.get(); }

  // Watches this session, and its socket if nobody else reads that.
  void watch(const Session& session, bool with_socket);
  // The session is lost: its ends would be readable for ever.
  void unwatch(const Session& session);
  // Readable until the next clear().
  void raise();
  // Takes what made it readable, but for the socket's packets.
  void clear(const Session& session);
  // Readable once after `after`: the next attempt to re-attach is due.
  void wake_after(std::chrono::nanoseconds after);
  // In a forked child: closes its copies.
  void abandon();

 private:
  void add(int fd);
  void remove(int fd);

  std::mutex mutex_;
  std::atomic<bool> used_{false};
  shm::Fd epoll_, event_, timer_;
};

}  // namespace tentq::lib
