// Arrived notifications. See mailbox.h.
#include "client/mailbox.h"

#include <algorithm>

namespace tentq::lib {

DuplicateFilter::Sender& DuplicateFilter::sender(std::uint64_t id) {
  const auto it = by_id_.find(id);
  if (it != by_id_.end()) {
    order_.splice(order_.begin(), order_, it->second);
    return order_.front();
  }
  if (order_.size() >= most_senders_) {
    by_id_.erase(order_.back().id);
    order_.pop_back();
  }
  order_.emplace_front();
  order_.front().id = id;
  by_id_[id] = order_.begin();
  return order_.front();
}

bool DuplicateFilter::first_time(std::uint64_t id, std::uint64_t serial) {
  Sender& from = sender(id);
  const auto bit_of_serial = [](std::uint64_t n) { return std::uint64_t{1} << (n % 64); };
  const auto word = [&](std::uint64_t n) -> std::uint64_t& { return from.seen[n % kWindow / 64]; };
  if (serial > from.highest) {
    const std::uint64_t steps = std::min(serial - from.highest, kWindow);
    for (std::uint64_t i = 0; i < steps; ++i) word(serial - i) &= ~bit_of_serial(serial - i);
    from.highest = serial;
  } else if (from.highest - serial >= kWindow) {
    return false;  // older than any sender still repeats
  }
  if ((word(serial) & bit_of_serial(serial)) != 0) return false;
  word(serial) |= bit_of_serial(serial);
  return true;
}

bool Mailbox::put(const Notification& message) {
  const std::size_t name = std::min<std::size_t>(message.name_bytes, kMaxNotifyNameBytes);
  const std::size_t text = std::min<std::size_t>(message.message_bytes, kMaxNotifyMessageBytes);
  const std::lock_guard hold(mutex_);
  if (message.lost_before < lost_at_daemon_) lost_at_daemon_before_ += lost_at_daemon_;
  lost_at_daemon_ = message.lost_before;
  if (!filter_.first_time(message.sender_incarnation, message.serial)) return false;
  if (waiting_.size() >= capacity_) {
    ++lost_here_;
    return false;
  }
  ReceivedNotification& received = waiting_.emplace_back();
  received.sender = message.sender.view();
  received.name.assign(message.payload.data(), name);
  received.message.assign(message.payload.data() + name, text);
  return true;
}

NotificationBatch Mailbox::take() {
  const std::lock_guard hold(mutex_);
  NotificationBatch batch;
  batch.notifications.swap(waiting_);
  batch.lost = lost_here_ + lost_at_daemon_ + lost_at_daemon_before_;
  return batch;
}

}  // namespace tentq::lib
