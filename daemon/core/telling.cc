// What the shell is asked to do, in order: admissions and ends first, then credit, then chunks.
// Nothing is queued beyond what the slabs hold; chunks are chosen when they are asked for.
#include "daemon/core/state.h"

namespace tentq::core {

std::optional<Effect> State::next_effect() {
  if (auto admission = next_admission()) return *admission;
  return next_urgent_effect();
}

std::optional<Effect> State::next_urgent_effect() {
  if (!refused_.empty()) return tell_refused();
  if (has_unasked()) return tell_unasked();
  if (chunks_.next_cancel() != kNone) return tell_cancel(chunks_.next_cancel());
  if (ended_.head != kNone) return tell_ended();
  if (sessions_.any_quiet()) return SessionQuiet{sessions_.take_quiet()};
  credit_.rebalance(now_ns);
  if (credit_.has_reclaim()) return credit_.take_reclaim();
  if (credit_.has_raise()) return credit_.take_raise();
  if (!drained_owed_ || owners.taken() != 0) return dispatch();
  drained_owed_ = false;
  return Drained{};
}

std::optional<Effect> State::tell_refused() {
  const Refused& refused = refused_.front();
  OwnerEnded ended;
  ended.session = refused.session;
  ended.slot = refused.slot;
  ended.slot_generation = refused.slot_generation;
  ended.cls = refused.cls;
  ended.state = TaskState::failed;
  ended.reason = refused.reason;
  ended.op = refused.op;
  ended.local_region = refused.local_region;
  ended.remote_region = refused.remote_region;
  ended.length = refused.length;
  ended.enqueued = ended.completed = time_from_ns(now_ns);
  refused_.pop();
  return ended;
}

// Who takes urgent effects only leaves admissions behind. Those of owners that are gone make way;
// what stays is no more than there are owners.
void State::announce(std::uint32_t index) {
  if (untold_.left() == 0) {
    untold_.keep_if([this](const OwnerId& id) { return owners.knows(id); });
  }
  untold_.push(owners.id(index));
}

std::optional<OwnerAdmitted> State::next_admission() {
  std::optional<OwnerAdmitted> admitted;
  while (!untold_.empty()) {
    const OwnerId id = untold_.front();
    untold_.pop();
    if (!owners.knows(id)) continue;
    const OwnerRecord& owner = owners[id.index];
    admitted.emplace();
    admitted->session = SessionId{owner.session};
    admitted->owner = id;
    admitted->slot = owner.slot;
    admitted->slot_generation = owner.slot_generation;
    admitted->enqueued = time_from_ns(owner.enqueued_ns);
    break;
  }
  return admitted;
}

// An owner may have ended, or found its route, since it was admitted.
bool State::has_unasked() {
  while (!unasked_.empty()) {
    const OwnerId& id = unasked_.front();
    if (owners.knows(id) && owners[id.index].state == OwnerState::route_pending) return true;
    unasked_.pop();
  }
  return false;
}

std::optional<Effect> State::tell_unasked() {
  const OwnerId id = unasked_.front();
  const OwnerRecord& owner = owners[id.index];
  unasked_.pop();
  return ResolveRoute{id,
                      SessionId{owner.session},
                      SegmentHandle{owners.extras(id.index).segment},
                      owner.remote_offset,
                      owner.length,
                      owner.op()};
}

std::optional<Effect> State::tell_cancel(std::uint32_t chunk) {
  const std::uint32_t index = chunks_[chunk].owner;
  chunks_.told_cancel();
  return CancelChunk{chunks_.id(chunk, owners.id(index)), LaneId{owners[index].lane}};
}

// A receiver is told when nothing more can go: then it is known what lacks room.
std::optional<Effect> State::tell_demand() {
  std::uint32_t receiver = 0;
  bool internal = false;
  if (!receivers_.next_due(now_ns, &receiver, &internal)) return std::nullopt;
  const auto oldest_ns = static_cast<std::uint64_t>(now_ns - oldest_to(receiver, internal));
  std::optional<Effect> effect;
  SendDemand& told = make_effect<SendDemand>(effect);
  told.receiver = ReceiverId{static_cast<std::uint16_t>(receiver)};
  told.demand = receivers_.take_demand(receiver, internal, oldest_ns, now_ns);
  return effect;
}

// When the oldest head came that waits for the receiver's pool; now, if none does.
std::int64_t State::oldest_to(std::uint32_t receiver, bool internal) const {
  std::int64_t oldest_ns = now_ns;
  receivers_[receiver].lanes.for_each([&](std::uint32_t lane) {
    if (lanes_[lane].away || lanes_[lane].queued_owners == 0) return;
    for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
      if ((c == index_of(ClassId::internal)) != internal) continue;
      leaves_.for_each_leaf(c, lane, [&](const LeafKey& key) {
        oldest_ns = std::min(oldest_ns, owners[leaves_.leaf(key).head].enqueued_ns);
      });
    }
  });
  return oldest_ns;
}

// An owner's end; its record is free afterwards.
std::optional<Effect> State::tell_ended() {
  const std::uint32_t index = ended_.head;
  OwnerRecord& owner = owners[index];
  ended_.head = owner.next;
  if (owner.next == kNone) ended_.tail = kNone;
  std::optional<Effect> effect;
  OwnerEnded& ended = make_effect<OwnerEnded>(effect);
  ended.session = SessionId{owner.session};
  ended.owner = owners.id(index);
  ended.slot = owner.slot;
  ended.slot_generation = owner.slot_generation;
  ended.cls = owner.class_id();
  ended.state = owner.outcome;
  ended.reason = static_cast<Reason>(owner.reason);
  ended.op = owner.op();
  ended.local_region = RegionIndex{owner.local_region};
  ended.remote_region = RegionIndex{owner.remote_region};
  ended.length = owner.length;
  ended.bytes_done = owner.completed;
  ended.enqueued = time_from_ns(owner.enqueued_ns);
  ended.dispatched = time_from_ns(owner.dispatched_ns);
  ended.completed = time_from_ns(static_cast<std::int64_t>(owner.order));
  const std::uint32_t session = owner.session;
  move<OwnerAction::retire>(owner);
  owners.give(index);
  sessions_[session].live -= 1;
  sessions_.retire_if_quiet(session);
  return effect;
}

}  // namespace tentq::core
