// How a sleeping conductor learns of a completion: an eventfd that is written only while somebody
// asked for it, so that a busy conductor costs the others no system call.
// arm/disarm: conductor; ring: any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace tentq {

// The handshake, both sides seq_cst on named words: the conductor stores `armed_`, then looks for
// completions once more; a completing thread publishes its completion (seq_cst), then loads
// `armed_`. At least one of them sees the other; with anything weaker both may miss, and the
// conductor sleeps over a completion. Tested by SleepConformance.ArmedSleeperIsAlwaysWoken.
class WakeupFd {
 public:
  // Throws std::system_error when no eventfd can be made.
  WakeupFd();
  ~WakeupFd();
  WakeupFd(const WakeupFd&) = delete;
  WakeupFd& operator=(const WakeupFd&) = delete;

  int fd() const { return fd_; }
  // The next ring() makes fd() readable. The caller then looks for completions once more and
  // disarms if it finds any.
  void arm();
  // Nobody is to write any more; takes back what was written. Free when not armed.
  void disarm();
  // After a completion was published with a seq_cst store. One load unless armed.
  void ring();

 private:
  int fd_ = -1;
  bool asked_ = false;                   // conductor: armed since the last disarm
  bool unread_ = false;                  // conductor: a ringer took the word, its write is not read
  std::atomic<std::uint32_t> armed_{0};  // partner: ring() of every completing thread
};

}  // namespace tentq
