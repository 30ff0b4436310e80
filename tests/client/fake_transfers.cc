// What the fake daemon does with the rings: slots, transfers, cancels and notifications.
#include <cstring>

#include "proto/check.h"
#include "shm/packet_socket.h"
#include "tests/client/fake_daemon.h"

namespace tentq::testing {

void FakeDaemon::drain(FakeSession& session) {
  for (FakeRing& ring : session.rings) {
    while (ring.consumer.ready()) {
      shm::RingFault fault = shm::RingFault::none;
      const std::uint32_t cells = ring.consumer.take_group(session.group, &fault);
      if (fault != shm::RingFault::none) ++seen_.violations;
      if (cells == 0) break;
      ++seen_.groups;
      for (std::uint32_t i = 0; i < cells; ++i) take(session, ring, session.group[i]);
    }
    ring.consumer.publish_head();
    shm::CreditGrantor::Wish wish;
    if (ring.credit.take_wish(&wish)) {
      ++seen_.wishes;
      if (wish.waiting) ++seen_.waiting_wishes;
    }
  }
}

bool FakeDaemon::take_slot(FakeSession& session, const CellBody& cell) {
  const bool fine = cell.slot < session.generations.size() &&
                    cell.slot_generation == session.generations[cell.slot] + 1;
  if (!fine) {
    ++seen_.violations;
    return false;
  }
  for (const FakeOwner& owner : session.owners) {
    if (owner.cell.slot == cell.slot) ++seen_.violations;  // reused before it was terminal
  }
  session.generations[cell.slot] = cell.slot_generation;
  session.last[cell.slot] = TaskState::pending;
  session.status.open(cell.slot, cell.slot_generation, 1, 1);
  return true;
}

void FakeDaemon::take(FakeSession& session, FakeRing& ring, const CellBody& cell) {
  if (cell.kind == CellKind::cancel) {
    ++seen_.cancels;
    for (auto it = session.owners.begin(); it != session.owners.end(); ++it) {
      const bool meant =
          it->cell.slot == cell.slot && it->cell.slot_generation == cell.slot_generation;
      if (!meant) continue;
      session.finish(*it, TaskState::canceled, Reason::canceled, 0);
      session.owners.erase(it);
      return;
    }
    return;
  }
  if (!take_slot(session, cell)) return;
  FakeOwner owner;
  owner.cls = ring.cls;
  owner.cell = cell;
  if (cell.kind == CellKind::notify) {
    ++seen_.notifies;
    parse_notification(session, &owner);
  } else {
    ++seen_.transfers;
    if ((cell.flags & kCellReplayed) != 0) ++seen_.replayed;
    seen_.cells.push_back(cell);
  }
  session.owners.push_back(std::move(owner));
}

void FakeDaemon::parse_notification(FakeSession& session, FakeOwner* owner) {
  const std::byte* at = session.memory.view.arena() + owner->cell.arena_offset;
  NotifyHead head;
  std::memcpy(&head, at, sizeof head);
  owner->after.resize(head.after_count);
  const std::size_t refs = head.after_count * sizeof(SlotRef);
  if (refs != 0) std::memcpy(owner->after.data(), at + sizeof head, refs);
  owner->message = make_message<Notification>();
  owner->message.sender_incarnation = session.hello.incarnation;
  owner->message.serial = head.serial;
  owner->message.sender.assign(session.name);
  owner->message.name_bytes = head.name_bytes;
  owner->message.message_bytes = head.message_bytes;
  const std::size_t text = std::size_t{head.name_bytes} + head.message_bytes;
  if (owner->cell.arena_length != sizeof head + refs + text) ++seen_.violations;
  std::memcpy(owner->message.payload.data(), at + sizeof head + refs, text);
}

void FakeDaemon::work(FakeSession& session) {
  session.receiver_full = false;
  for (auto it = session.owners.begin(); it != session.owners.end();) {
    const bool held = hold_ && it->cell.kind == CellKind::transfer;
    if (!held && carry_out(session, *it)) {
      it = session.owners.erase(it);
    } else {
      ++it;
    }
  }
}

bool FakeDaemon::carry_out(FakeSession& session, FakeOwner& owner) {
  if (owner.cell.kind == CellKind::notify) return carry_out_notification(session, owner);
  const CellBody& cell = owner.cell;
  const auto fail = [&](Reason reason) {
    session.finish(owner, TaskState::failed, reason, 0);
    return true;
  };
  std::byte* const local = session.at_region(cell.local_region, cell.local_offset, cell.length);
  if (local == nullptr) return fail(Reason::unknown_region);
  const auto segment = session.segments.find(cell.remote_segment);
  if (segment == session.segments.end()) return fail(Reason::unknown_segment);
  FakeSession* const holder = exporter(segment->second);
  // An exporter that is expected back is waited for, and so are its regions.
  const bool expected = segment->second.reattached;
  if (holder == nullptr) return expected ? false : fail(Reason::peer_lost);
  std::byte* const remote = holder->at_offset(cell.remote_offset, cell.length);
  if (remote == nullptr) {
    return expected || holder->hello.reattach != 0 ? false : fail(Reason::out_of_range);
  }
  if (cell.op == Op::read) {
    std::memmove(local, remote, cell.length);
  } else {
    std::memmove(remote, local, cell.length);
  }
  session.finish(owner, TaskState::completed, Reason::none, cell.length);
  return true;
}

bool FakeDaemon::carry_out_notification(FakeSession& session, FakeOwner& owner) {
  bool failed = false;
  for (const SlotRef& ref : owner.after) {
    const bool mine = session.generations[ref.slot] == ref.generation;
    const TaskState state = session.last[ref.slot];
    if (mine && state == TaskState::pending) return false;
    if (!mine || state != TaskState::completed) failed = true;
  }
  const auto segment = session.segments.find(owner.cell.remote_segment);
  FakeSession* const holder =
      segment == session.segments.end() ? nullptr : exporter(segment->second);
  if (failed) {
    session.finish(owner, TaskState::failed, Reason::predecessor_failed, 0);
  } else if (holder == nullptr) {
    session.finish(owner, TaskState::failed, Reason::peer_lost, 0);
  } else if (session.receiver_full || shm::send_message(holder->socket.get(), owner.message) != 0) {
    session.receiver_full = dirty_ = true;  // look again in the next turn
    return false;
  } else {
    session.finish(owner, TaskState::completed, Reason::none, 0);
  }
  return true;
}

}  // namespace tentq::testing
