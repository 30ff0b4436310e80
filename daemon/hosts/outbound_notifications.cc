// See outbound_notifications.h.
#include "daemon/hosts/outbound_notifications.h"

#include <algorithm>
#include <cstring>

#include "proto/check.h"

namespace tentq {

std::uint64_t OutboundNotifications::add(const RemoteSegmentPtr& target,
                                         const Notification& message, Time give_up) {
  Entry entry;
  entry.number = next_number_++;
  entry.target = target;
  entry.give_up = give_up;
  entry.message = make_message<PeerNotify>(entry.number);
  entry.message.sender_incarnation = message.sender_incarnation;
  entry.message.serial = message.serial;
  entry.message.sender = message.sender;
  entry.message.name_bytes = message.name_bytes;
  entry.message.message_bytes = message.message_bytes;
  std::memcpy(entry.message.payload.data(), message.payload.data(),
              std::size_t{message.name_bytes} + message.message_bytes);
  const std::uint64_t number = entry.number;
  waiting_.push_back(std::move(entry));
  // Not before those that wait already.
  if (waiting_.size() == 1 && try_send(waiting_.front())) waiting_.clear();
  return number;
}

std::uint32_t OutboundNotifications::count_of(LinkKey link) const {
  const auto it = counts_.find(link);
  return it == counts_.end() ? 0 : it->second;
}

// True: it is in sent_.
bool OutboundNotifications::try_send(const Entry& entry) {
  const RemoteSegment& target = *entry.target;
  if (target.state != RemoteState::open || count_of(target.link) >= kMostOnALink) return false;
  Entry sent = entry;
  sent.message.segment = target.wire;
  if (!send_(target.link, sent.message)) return false;
  ++counts_[target.link];
  sent_.emplace(Sent{target.link, entry.number}, std::move(sent));
  return true;
}

void OutboundNotifications::forget(std::uint64_t number) {
  waiting_.remove_if([number](const Entry& entry) { return entry.number == number; });
  const auto it = std::find_if(sent_.begin(), sent_.end(),
                               [number](const auto& sent) { return sent.first.second == number; });
  if (it == sent_.end()) return;
  --counts_[it->first.first];
  sent_.erase(it);
}

void OutboundNotifications::answered(LinkKey link, const PeerNotified& answer) {
  const auto it = sent_.find({link, answer.header.request});
  // Of one that was forgotten.
  if (it == sent_.end()) return;
  const std::uint64_t number = it->second.number;
  sent_.erase(it);
  --counts_[link];
  const bool completed = answer.state == TaskState::completed;
  const Reason failure = answer.reason == Reason::none ? Reason::peer_lost : answer.reason;
  ended_(number, answer.state, completed ? Reason::none : failure);
}

void OutboundNotifications::link_down(LinkKey link, Time give_up) {
  std::list<Entry> again;
  for (auto it = sent_.lower_bound({link, 0}); it != sent_.end() && it->first.first == link;) {
    it->second.give_up = give_up;
    again.push_back(std::move(it->second));
    it = sent_.erase(it);
  }
  counts_.erase(link);
  // In the order of their numbers, before what was not sent yet.
  waiting_.splice(waiting_.begin(), again);
}

void OutboundNotifications::look(Time now) {
  std::list<Entry> looked_at;
  looked_at.swap(waiting_);
  std::list<std::pair<std::uint64_t, Reason>> over;
  for (const Entry& entry : looked_at) {
    if (try_send(entry)) continue;
    const RemoteSegment& target = *entry.target;
    if (target.state == RemoteState::failed) {
      over.emplace_back(entry.number, target.failure);
    } else if (target.state == RemoteState::away && now >= entry.give_up) {
      over.emplace_back(entry.number, Reason::peer_lost);
    } else {
      waiting_.push_back(entry);
    }
  }
  for (const auto& [number, reason] : over) ended_(number, TaskState::failed, reason);
}

}  // namespace tentq
