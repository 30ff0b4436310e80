// What the shell is asked to do, in order: ends and admissions first, then credit, then chunks.
// Nothing is queued beyond what the slabs hold; chunks are chosen when they are asked for.
#include "daemon/core/state.h"

namespace tentq::core {

std::optional<Effect> State::next_effect() {
  if (auto effect = tell_owner()) return effect;
  if (const SessionId quiet = sessions_.take_quiet(); quiet.valid()) return SessionQuiet{quiet};
  credit_.rebalance(now_ns);
  if (auto reclaim = credit_.take_reclaim()) return *reclaim;
  if (auto raise = credit_.take_raise()) return *raise;
  if (auto chunk = dispatch()) return *chunk;
  if (drained_owed_ && owners.taken() == 0) {
    drained_owed_ = false;
    return Drained{};
  }
  return std::nullopt;
}

std::optional<Effect> State::tell_owner() {
  if (!refused_.empty()) return tell_refused();
  while (!announcements_.empty()) {
    if (auto effect = tell_announcement()) return effect;
  }
  if (auto effect = tell_cancel()) return effect;
  return tell_ended();
}

OwnerEnded State::tell_refused() {
  const Refused refused = refused_.front();
  refused_.pop();
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
  ended.enqueued = ended.completed = time_from_ns(refused.when_ns);
  return ended;
}

// The oldest announcement: its admission, then the question for its route.
std::optional<Effect> State::tell_announcement() {
  const std::uint32_t index = announcements_.front();
  OwnerRecord& owner = owners[index];
  if ((owner.flags & kUntold) != 0) {
    owner.flags &= static_cast<std::uint8_t>(~kUntold);
    if ((owner.flags & kRouteUnasked) == 0) announcements_.pop();
    return OwnerAdmitted{SessionId{owner.session}, owners.id(index), owner.slot,
                         owner.slot_generation};
  }
  announcements_.pop();
  const bool unasked = (owner.flags & kRouteUnasked) != 0;
  owner.flags &= static_cast<std::uint8_t>(~kRouteUnasked);
  if (!unasked || owner.state != OwnerState::route_pending) return std::nullopt;
  return ResolveRoute{owners.id(index),
                      SessionId{owner.session},
                      SegmentHandle{owners.extras(index).segment},
                      owner.remote_offset,
                      owner.length,
                      owner.op()};
}

std::optional<Effect> State::tell_cancel() {
  const std::uint32_t chunk = chunks_.take_cancel();
  if (chunk == kNone) return std::nullopt;
  const std::uint32_t index = chunks_[chunk].owner;
  return CancelChunk{chunks_.id(chunk, owners.id(index)), LaneId{owners[index].lane}};
}

// An owner's end; its record is free afterwards.
std::optional<Effect> State::tell_ended() {
  const std::uint32_t index = ended_.head;
  if (index == kNone) return std::nullopt;
  leave_list(&ended_, index);
  const OwnerRecord& owner = owners[index];
  OwnerEnded ended;
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
  move(index, OwnerAction::retire);
  owners.give(index);
  sessions_[session].live -= 1;
  sessions_.retire_if_quiet(session);
  return ended;
}

}  // namespace tentq::core
