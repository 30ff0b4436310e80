// Notifications to the exporters of opened segments: NOTIFY cells with their text in the arena,
// each with a slot of its own that says how it ended.
#include <cstring>

#include "client/client_state.h"
#include "proto/check.h"

namespace tentq::lib {

namespace {

TaskStatus to_status(const OwnerView& view) {
  const auto time = [](std::int64_t ns) {
    return TaskStatus::TimePoint{std::chrono::nanoseconds{ns}};
  };
  TaskStatus status;
  status.state = static_cast<State>(view.state);
  status.reason = static_cast<TaskReason>(view.reason);
  status.enqueued = time(view.enqueued_ns);
  status.dispatched = time(view.dispatched_ns);
  status.completed = time(view.completed_ns);
  return status;
}

}  // namespace

Result<NotificationId> ClientState::send_notification(const SegmentEntry& segment,
                                                      std::string_view name,
                                                      std::string_view message, BatchState* after) {
  if (Status status = usable(); !status.ok()) return status;
  if (name.size() > kMaxNotifyNameBytes || message.size() > kMaxNotifyMessageBytes) {
    return Status(Code::invalid_argument,
                  "a notification has at most 64 bytes of name and 4096 of message");
  }
  const Guard hold(lock_);
  Session& session = *session_;
  if (!attached_ || session.lost()) return detached();
  if (segment.handle == 0) return Status(Code::stale_handle, segment.refusal);
  if (!outgoing_.may_add() || session.allocator().free() == 0) {
    sweep();
    sweep_notifications();
  }
  if (!outgoing_.may_add() || backlogged() || republish_) {
    return Status(Code::too_many_requests, "too many notifications are on their way");
  }
  const std::uint64_t serial = outgoing_.next_serial();
  SentNotification& sent = outgoing_.add();
  sent.place.segment = segment.id;
  sent.name = name;
  sent.message = message;
  if (after != nullptr) {
    sent.after = after;
    sent.after_owners = after->owner_count.load(std::memory_order_relaxed);
    ++after->pins;
  }
  Status status = publish_notification(session, serial, sent);
  if (!status.ok()) {
    if (after != nullptr) --after->pins;
    outgoing_.undo_add();
    return status;
  }
  return NotificationId{serial};
}

// Owners that it still waits for; *failed when one has ended otherwise than completed.
Status ClientState::collect_after(const SentNotification& sent, std::vector<SlotRef>* refs,
                                  bool* failed) {
  for (std::uint32_t i = 0; i < sent.after_owners; ++i) {
    const Owner& owner = sent.after->owners[i];
    const TaskState state = tables_.state(owner);
    if (tentq::is_terminal(state)) {
      *failed = *failed || state != TaskState::completed;
      continue;
    }
    const OwnerWord word = owner.load();
    refs->push_back({word.slot(), word.generation()});
  }
  if (refs->size() <= kMaxNotifyAfter) return {};
  return {Code::invalid_argument, "a notification can wait for at most " +
                                      std::to_string(kMaxNotifyAfter) + " unfinished owners"};
}

Status ClientState::publish_notification(Session& session, std::uint64_t serial,
                                         SentNotification& sent) {
  std::vector<SlotRef> after;
  bool failed = false;
  if (Status status = collect_after(sent, &after, &failed); !status.ok()) return status;
  if (failed) {
    finish_notification(serial, sent,
                        {.state = TaskState::failed, .reason = Reason::predecessor_failed});
    return {};
  }
  NotifyHead head{};
  head.serial = serial;
  head.after_count = static_cast<std::uint32_t>(after.size());
  head.name_bytes = static_cast<std::uint16_t>(sent.name.size());
  head.message_bytes = static_cast<std::uint16_t>(sent.message.size());
  const std::size_t refs_bytes = after.size() * sizeof(SlotRef);
  const auto length =
      static_cast<std::uint32_t>(sizeof head + refs_bytes + sent.name.size() + sent.message.size());
  ClassRing& ring = session.ring(session.first_class());
  const auto offset = ring.arena.find(length, ring.ring.head());
  SlotRef slot{};
  if (!offset || ring.ring.room(shm::RingUse::control) == 0 ||
      !session.allocator().take(std::span(&slot, 1))) {
    return {Code::too_many_requests, "no room to publish the notification"};
  }
  std::byte* at = session.arena() + *offset;
  const auto put = [&](const void* bytes, std::size_t size) {
    if (size != 0) std::memcpy(at, bytes, size);
    at += size;
  };
  put(&head, sizeof head);
  put(after.data(), refs_bytes);
  put(sent.name.data(), sent.name.size());
  put(sent.message.data(), sent.message.size());
  CellBody cell;
  cell.kind = CellKind::notify;
  cell.slot = slot.slot;
  cell.slot_generation = slot.generation;
  cell.remote_segment = segments_.by_id(sent.place.segment)->handle;
  cell.arena_offset = *offset;
  cell.arena_length = length;
  sent.place.store(OwnerWord::bound(session.ordinal, slot.slot, slot.generation));
  sent.published = true;
  std::uint64_t position = 0;
  TENTQ_CHECK(ring.ring.publish(std::span(&cell, 1), shm::RingUse::control, &position));
  ring.arena.take(*offset, length, position);
  session.doorbell().published();
  return {};
}

// After a restart: those on their way again, under their old serials; receivers drop repeats.
void ClientState::republish_notifications(Session& session) {
  for (auto it = outgoing_.unfinished().begin(); it != outgoing_.unfinished().end();) {
    const std::uint64_t serial = it->first;
    SentNotification& sent = it->second;
    ++it;
    if (sent.published || sent.place.load().is_terminal()) continue;
    const SegmentEntry* segment = segments_.by_id(sent.place.segment);
    if (segment == nullptr || segment->handle == 0) {
      finish_notification(serial, sent, {.state = TaskState::failed, .reason = Reason::peer_lost});
    } else if (!publish_notification(session, serial, sent).ok()) {
      return;  // no room now
    }
  }
  republish_ = false;
}

TaskStatus ClientState::notification_status(NotificationId id) {
  TaskStatus none;
  if (Status status = usable(); !status.ok()) return none;
  const auto serial = static_cast<std::uint64_t>(id);
  const Guard hold(lock_);
  if (SentNotification* sent = outgoing_.find(serial)) {
    const OwnerView view = tables_.view(sent->place);
    if (tentq::is_terminal(view.state)) finish_notification(serial, *sent, view);
    return to_status(view);
  }
  if (const OwnerView* outcome = outgoing_.outcome(serial)) return to_status(*outcome);
  return none;
}

Result<NotificationBatch> ClientState::receive_notifications() {
  if (Status status = usable(); !status.ok()) return status;
  if (options_.name.empty()) {
    return Status(Code::invalid_argument,
                  "an anonymous client exports nothing and is sent nothing");
  }
  if (Status status = exporting_needs_service(); !status.ok()) return status;
  if (!has_thread()) newest_session()->channel().pump();
  return mailbox_.take();
}

}  // namespace tentq::lib
