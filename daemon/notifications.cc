// Ordering and delivery of notifications. See notifications.h.
#include "daemon/notifications.h"

#include <cstring>

#include "proto/check.h"

namespace tentq {

bool Notifications::parse(Session& sender, const CellBody& cell, Waiting* out,
                          std::vector<SlotRef>* after) {
  const std::uint64_t arena = sender.memory.view.layout().sizes().arena_bytes;
  constexpr std::size_t kMost = sizeof(NotifyHead) + kMaxNotifyAfter * sizeof(SlotRef) +
                                kMaxNotifyNameBytes + kMaxNotifyMessageBytes;
  if (cell.arena_offset > arena || cell.arena_length > arena - cell.arena_offset ||
      cell.arena_length < sizeof(NotifyHead) || cell.arena_length > kMost) {
    return false;
  }
  // The one copy; the client may go on writing into the arena meanwhile.
  std::vector<std::byte> copy(cell.arena_length);
  std::memcpy(copy.data(), sender.memory.view.arena() + cell.arena_offset, copy.size());
  NotifyHead head;
  std::memcpy(&head, copy.data(), sizeof head);
  if (head.after_count > kMaxNotifyAfter || head.name_bytes > kMaxNotifyNameBytes ||
      head.message_bytes > kMaxNotifyMessageBytes) {
    return false;
  }
  const std::size_t refs = head.after_count * sizeof(SlotRef);
  const std::size_t text = std::size_t{head.name_bytes} + head.message_bytes;
  if (copy.size() != sizeof head + refs + text) return false;
  after->resize(head.after_count);
  if (refs > 0) std::memcpy(after->data(), copy.data() + sizeof head, refs);
  Notification& message = out->message;
  message = make_message<Notification>();
  message.sender_incarnation = sender.incarnation;
  message.serial = head.serial;
  message.sender.assign(sender.name);
  message.name_bytes = head.name_bytes;
  message.message_bytes = head.message_bytes;
  std::memcpy(message.payload.data(), copy.data() + sizeof head + refs, text);
  return true;
}

void Notifications::accept(Session& sender, const CellBody& cell, Time now) {
  const auto refuse = [&](Reason reason) {
    host_.notification_ended(sender, cell.slot, cell.slot_generation, TaskState::failed, reason);
  };
  std::vector<SlotRef> after;
  Waiting waiting;
  if (!parse(sender, cell, &waiting, &after)) {
    host_.violation(sender, Violation::bad_arena);
    refuse(Reason::invalid_cell);
    return;
  }
  const auto handle = sender.segments.find(cell.remote_segment);
  if (handle == sender.segments.end()) {
    host_.violation(sender, Violation::unknown_segment);
    refuse(Reason::unknown_segment);
    return;
  }
  if (sender.notifications >= mailbox_limit_) return refuse(Reason::mailbox_full);
  ++sender.notifications;
  waiting.sender = sender.id;
  waiting.slot = cell.slot;
  waiting.generation = cell.slot_generation;
  waiting.target = handle->second.segment;
  waiting.remote = handle->second.remote;
  waiting.give_up = now + route_budget_;
  if (waiting.remote != nullptr) elsewhere_->hold(waiting.remote);
  waiting_.push_back(std::move(waiting));
  const Place place = std::prev(waiting_.end());
  link(sender, place, after);
  if (place->pending == 0) ready(place, now);
}

void Notifications::accept_from(LinkKey link, const SegmentPtr& target, const Notification& message,
                                Answer answer, Time now) {
  std::uint32_t& count = from_links_[link];
  if (count >= mailbox_limit_) return answer(TaskState::failed, Reason::mailbox_full);
  ++count;
  Waiting waiting;
  waiting.from = link;
  waiting.answer = std::move(answer);
  waiting.target = target;
  waiting.give_up = now + route_budget_;
  waiting.message = message;
  waiting_.push_back(std::move(waiting));
  ready(std::prev(waiting_.end()), now);
}

void Notifications::ended_elsewhere(std::uint64_t number, TaskState state, Reason reason) {
  const auto it = elsewhere_by_number_.find(number);
  TENTQ_CHECK(it != elsewhere_by_number_.end());
  finish(it->second, state, reason);
}

void Notifications::link_down(LinkKey link) {
  for (auto& [receiver, mailbox] : mailboxes_) {
    std::erase_if(mailbox, [link](Place place) { return place->from == link; });
  }
  waiting_.remove_if([link](const Waiting& waiting) { return waiting.from == link; });
  from_links_.erase(link);
}

void Notifications::link(Session& sender, Place place, const std::vector<SlotRef>& after) {
  for (const SlotRef& ref : after) {
    if (ref.slot >= sender.slots.size()) {
      host_.violation(sender, Violation::bad_slot);
      place->failed = true;
      continue;
    }
    const SlotEntry& entry = sender.slots[ref.slot];
    if (entry.generation == ref.generation && !entry.busy) {
      place->failed |= entry.last != TaskState::completed;
      continue;
    }
    // A generation to come was published in another ring and is not drained yet; an older one ended
    // unseen, so that nobody can say how.
    const bool to_come = ref.generation == entry.generation + 1;
    if (entry.generation != ref.generation && !to_come) {
      place->failed = true;
      continue;
    }
    after_.emplace(Key{sender.id.value(), ref.slot, ref.generation}, place);
    ++place->pending;
  }
}

void Notifications::owner_ended(Session& session, std::uint32_t slot, std::uint32_t generation,
                                TaskState state, Time now) {
  if (after_.empty()) return;
  const auto [begin, end] = after_.equal_range(Key{session.id.value(), slot, generation});
  if (begin == end) return;
  std::vector<Place> complete;
  for (auto it = begin; it != end; ++it) {
    const Place place = it->second;
    place->failed |= state != TaskState::completed;
    TENTQ_CHECK(place->pending > 0);
    if (--place->pending == 0) complete.push_back(place);
  }
  after_.erase(begin, end);
  for (const Place place : complete) ready(place, now);
}

void Notifications::ready(Place place, Time now) {
  place->expecting = false;
  if (place->failed) return finish(place, TaskState::failed, Reason::predecessor_failed);
  if (place->remote != nullptr) {
    place->elsewhere = elsewhere_->notify(place->remote, place->message, now + route_budget_);
    elsewhere_by_number_.emplace(place->elsewhere, place);
    return;
  }
  const Segment& target = *place->target;
  if (target.expected && now < place->give_up) {
    place->expecting = true;
    return;
  }
  Session* receiver = target.exporter.valid() ? host_.session(target.exporter) : nullptr;
  if (receiver == nullptr || receiver->leaving) {
    return finish(place, TaskState::failed, Reason::peer_lost);
  }
  const auto mailbox = mailboxes_.find(receiver->id.value());
  const std::size_t queued = mailbox == mailboxes_.end() ? 0 : mailbox->second.size();
  if (queued == 0) {
    switch (host_.deliver(*receiver, place->message)) {
      case Delivery::sent: return finish(place, TaskState::completed, Reason::none);
      case Delivery::gone: return finish(place, TaskState::failed, Reason::peer_lost);
      case Delivery::socket_full: break;
    }
  }
  if (queued >= mailbox_limit_) {
    ++receiver->mailbox_lost;
    return finish(place, TaskState::failed, Reason::mailbox_full);
  }
  mailboxes_[receiver->id.value()].push_back(place);
}

void Notifications::flush(Session& receiver) {
  const auto it = mailboxes_.find(receiver.id.value());
  if (it == mailboxes_.end()) return;
  std::deque<Place>& mailbox = it->second;
  while (!mailbox.empty()) {
    const Place place = mailbox.front();
    place->message.lost_before = receiver.mailbox_lost;
    const Delivery delivery = host_.deliver(receiver, place->message);
    if (delivery == Delivery::socket_full) return;
    mailbox.pop_front();
    const bool sent = delivery == Delivery::sent;
    finish(place, sent ? TaskState::completed : TaskState::failed,
           sent ? Reason::none : Reason::peer_lost);
  }
  mailboxes_.erase(receiver.id.value());
}

void Notifications::retry_expected(Time now) {
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const Place place = it++;
    if (place->expecting) ready(place, now);
  }
}

void Notifications::finish(Place place, TaskState state, Reason reason) {
  const Waiting over = std::move(*place);
  waiting_.erase(place);
  if (over.elsewhere != 0) elsewhere_by_number_.erase(over.elsewhere);
  if (over.remote != nullptr) elsewhere_->release(over.remote);
  if (over.answer) {
    --from_links_[over.from];
    return over.answer(state, reason);
  }
  Session* sender = host_.session(over.sender);
  TENTQ_CHECK(sender != nullptr && sender->notifications > 0);
  --sender->notifications;
  host_.notification_ended(*sender, over.slot, over.generation, state, reason);
}

void Notifications::forget(Session& session) {
  if (const auto own = mailboxes_.find(session.id.value()); own != mailboxes_.end()) {
    const std::deque<Place> lost = std::move(own->second);
    mailboxes_.erase(own);
    for (const Place place : lost) finish(place, TaskState::failed, Reason::peer_lost);
  }
  std::erase_if(after_,
                [&](const auto& entry) { return entry.first.session == session.id.value(); });
  for (auto& [receiver, mailbox] : mailboxes_) {
    std::erase_if(mailbox, [&](Place place) { return place->sender == session.id; });
  }
  waiting_.remove_if([&](const Waiting& waiting) {
    if (waiting.sender != session.id) return false;
    leave(waiting);
    return true;
  });
}

// What is on its way to another host: nobody waits for its end.
void Notifications::leave(const Waiting& waiting) {
  if (waiting.elsewhere != 0) {
    elsewhere_->forget_notification(waiting.elsewhere);
    elsewhere_by_number_.erase(waiting.elsewhere);
  }
  if (waiting.remote != nullptr) elsewhere_->release(waiting.remote);
}

}  // namespace tentq
