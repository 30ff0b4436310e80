// Notifications that have arrived and were not taken yet. Bounded; what does not fit is counted.
// What a sender repeats after a daemon's restart is dropped. Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "proto/control.h"
#include "tentq/types.hpp"

namespace tentq::lib {

// Senders keep at most this many serials between their oldest unfinished notification and the next
// one, so a repeat is never further back than that.
inline constexpr std::uint64_t kSerialsOpen = 4096;

// Which serials of each sender have been seen: a bitmap that slides with the highest. Bounded by
// the number of senders remembered; the one not heard from for longest is forgotten first.
class DuplicateFilter {
 public:
  explicit DuplicateFilter(std::size_t senders) : most_senders_(senders) {}
  // True the first time.
  bool first_time(std::uint64_t sender, std::uint64_t serial);
  std::size_t senders() const { return order_.size(); }

 private:
  static constexpr std::uint64_t kWindow = 2 * kSerialsOpen;
  struct Sender {
    std::uint64_t id = 0;
    std::uint64_t highest = 0;
    std::vector<std::uint64_t> seen = std::vector<std::uint64_t>(kWindow / 64, 0);
  };
  Sender& sender(std::uint64_t id);

  std::size_t most_senders_;
  std::list<Sender> order_;  // heard from last first
  std::unordered_map<std::uint64_t, std::list<Sender>::iterator> by_id_;
};

class Mailbox {
 public:
  explicit Mailbox(std::size_t capacity) : capacity_(capacity), filter_(256) {}
  // False: a repeat, or no room (then it is counted as lost).
  bool put(const Notification& message);
  NotificationBatch take();

 private:
  std::mutex mutex_;
  std::size_t capacity_;
  DuplicateFilter filter_;
  std::vector<ReceivedNotification> waiting_;
  std::uint64_t lost_here_ = 0;
  std::uint64_t lost_at_daemon_ = 0;         // of this session
  std::uint64_t lost_at_daemon_before_ = 0;  // of earlier sessions
};

}  // namespace tentq::lib
