// See outbound_notifications.h.
#include "daemon/hosts/outbound_notifications.h"

#include <algorithm>
#include <cstring>
#include <vector>

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

// True: it is in sent_, and nothing is left of it here.
bool OutboundNotifications::try_send(Entry& entry) {
  const RemoteSegment& target = *entry.target;
  const LinkKey link = target.link;
  if (target.state != RemoteState::open || count_of(link) >= kMostOnALink) return false;
  entry.message.segment = target.wire;
  if (!send_(link, entry.message)) return false;
  ++counts_[link];
  sent_.emplace(Sent{link, entry.number}, std::move(entry));
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
  std::vector<std::pair<std::uint64_t, Reason>> over;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const auto at = it++;
    if (!try_send(*at)) {
      const RemoteSegment& target = *at->target;
      const bool failed = target.state == RemoteState::failed;
      const bool waits = target.state == RemoteState::open || now < at->give_up;
      if (!failed && waits) continue;
      over.emplace_back(at->number, failed ? target.failure : Reason::peer_lost);
    }
    waiting_.erase(at);
  }
  for (const auto& [number, reason] : over) ended_(number, TaskState::failed, reason);
}

}  // namespace tentq
