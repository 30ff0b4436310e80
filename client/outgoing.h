// Notifications that this client has sent: those on their way, to repeat them after a daemon's
// death, and how the last ones ended. Guarded by the client's lock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "client/batch_state.h"
#include "client/mailbox.h"
#include "client/owner.h"

namespace tentq::lib {

struct SentNotification {
  Owner place;  // its slot and its outcome; of the request fields only `segment`
  std::string name;
  std::string message;
  BatchState* after = nullptr;     // pinned; null: nothing
  std::uint32_t after_owners = 0;  // the batch's first ones
  bool published = false;          // in the current session
};

class OutgoingNotifications {
 public:
  static constexpr std::size_t kOutcomes = 1024;

  // False: a receiver could no longer tell a repeat from something new.
  bool may_add() const {
    return unfinished_.empty() || next_serial_ - unfinished_.begin()->first < kSerialsOpen;
  }
  std::uint64_t next_serial() const { return next_serial_; }
  SentNotification& add() { return unfinished_[next_serial_++]; }
  // The latest add() was not sent after all.
  void undo_add() { unfinished_.erase(--next_serial_); }

  std::map<std::uint64_t, SentNotification>& unfinished() { return unfinished_; }
  const std::map<std::uint64_t, SentNotification>& unfinished() const { return unfinished_; }
  // Remembers the outcome and forgets the notification.
  void finish(std::uint64_t serial, const OwnerView& outcome) {
    unfinished_.erase(serial);
    outcomes_.emplace_back(serial, outcome);
    if (outcomes_.size() > kOutcomes) outcomes_.pop_front();
  }
  SentNotification* find(std::uint64_t serial) {
    const auto it = unfinished_.find(serial);
    return it == unfinished_.end() ? nullptr : &it->second;
  }
  const OwnerView* outcome(std::uint64_t serial) const {
    for (auto it = outcomes_.rbegin(); it != outcomes_.rend(); ++it) {
      if (it->first == serial) return &it->second;
    }
    return nullptr;
  }

 private:
  std::uint64_t next_serial_ = 1;
  std::map<std::uint64_t, SentNotification> unfinished_;
  std::deque<std::pair<std::uint64_t, OwnerView>> outcomes_;
};

}  // namespace tentq::lib
