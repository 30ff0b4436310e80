// What the shell is asked to do, in order: ends and admissions first, then credit, then chunks.
// Nothing is queued beyond what the slabs hold; chunks are chosen when they are asked for.
#include "daemon/core/state.h"

namespace tentq::core {

std::optional<Effect> State::next_effect() {
  if (!refused_.empty()) return tell_refused();
  if (!announcements_.empty()) {
    if (auto effect = tell_announcement()) return effect;
  }
  if (chunks_.next_cancel() != kNone) return tell_cancel(chunks_.next_cancel());
  if (ended_.head != kNone) return tell_ended();
  if (sessions_.any_quiet()) return SessionQuiet{sessions_.take_quiet()};
  credit_.rebalance(now_ns);
  if (credit_.has_news()) {
    if (auto effect = tell_credit()) return effect;
  }
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

// The oldest announcement: its admission, then the question for its route.
std::optional<Effect> State::tell_announcement() {
  while (!announcements_.empty()) {
    const std::uint32_t index = announcements_.front();
    OwnerRecord& owner = owners[index];
    const bool unasked = (owner.flags & kRouteUnasked) != 0;
    if ((owner.flags & kUntold) != 0) {
      owner.flags &= static_cast<std::uint8_t>(~kUntold);
      if (!unasked) announcements_.pop();
      return OwnerAdmitted{SessionId{owner.session}, owners.id(index), owner.slot,
                           owner.slot_generation};
    }
    announcements_.pop();
    owner.flags &= static_cast<std::uint8_t>(~kRouteUnasked);
    // It may have ended, or found its route, since it was admitted.
    if (!unasked || owner.state != OwnerState::route_pending) continue;
    return ResolveRoute{owners.id(index),
                        SessionId{owner.session},
                        SegmentHandle{owners.extras(index).segment},
                        owner.remote_offset,
                        owner.length,
                        owner.op()};
  }
  return std::nullopt;
}

std::optional<Effect> State::tell_cancel(std::uint32_t chunk) {
  const std::uint32_t index = chunks_[chunk].owner;
  chunks_.told_cancel();
  return CancelChunk{chunks_.id(chunk, owners.id(index)), LaneId{owners[index].lane}};
}

// An owner's end; its record is free afterwards.
std::optional<Effect> State::tell_ended() {
  const std::uint32_t index = ended_.head;
  OwnerRecord& owner = owners[index];
  ended_.head = owner.next;
  if (owner.next == kNone) ended_.tail = kNone;
  const std::uint32_t session = owner.session;
  move<OwnerAction::retire>(owner);
  owners.give(index);
  sessions_[session].live -= 1;
  sessions_.retire_if_quiet(session);
  return OwnerEnded{SessionId{session},
                    owners.id(index),
                    owner.slot,
                    owner.slot_generation,
                    owner.class_id(),
                    owner.outcome,
                    static_cast<Reason>(owner.reason),
                    owner.op(),
                    RegionIndex{owner.local_region},
                    RegionIndex{owner.remote_region},
                    owner.length,
                    owner.completed,
                    time_from_ns(owner.enqueued_ns),
                    time_from_ns(owner.dispatched_ns),
                    time_from_ns(static_cast<std::int64_t>(owner.order))};
}

std::optional<Effect> State::tell_credit() {
  if (const auto reclaim = credit_.take_reclaim()) return *reclaim;
  if (const auto raise = credit_.take_raise()) return *raise;
  return std::nullopt;
}

}  // namespace tentq::core
