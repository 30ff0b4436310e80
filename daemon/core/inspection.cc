// What can be seen from outside: owners, why they wait, totals. Changes nothing.
#include "daemon/core/state.h"

namespace tentq::core {

OwnerView State::view(std::uint32_t index) const {
  const OwnerRecord& owner = owners[index];
  OwnerView view;
  view.id = owners.id(index);
  view.session = SessionId{owner.session};
  view.client = ClientKey{owner.client};
  view.cls = owner.class_id();
  view.lane = LaneId{owner.lane};
  view.state = owner.state;
  view.op = owner.op();
  view.length = owner.length;
  view.dispatched_bytes = owner.handed;
  view.completed_bytes = owner.completed;
  view.chunks_in_flight = owner.in_flight;
  view.slot = owner.slot;
  view.cookie = owner.cookie;
  view.enqueued = time_from_ns(owner.enqueued_ns);
  const OwnerExtras& extras = owners.extras(index);
  if ((owner.flags & kHasReturned) != 0) {
    for (std::uint32_t c = extras.returned; c != kNone; c = chunks_[c].next) {
      view.dispatched_bytes -= chunks_[c].length;
    }
  }
  if ((owner.flags & kHasExpiry) != 0 && extras.deadline_ns != 0) {
    view.deadline = time_from_ns(extras.deadline_ns);
  }
  return view;
}

Explanation State::explain(std::uint32_t index) const {
  const OwnerRecord& owner = owners[index];
  Explanation explanation;
  explanation.owner = view(index);
  explanation.cause = wait_cause(owner, index);
  if (explanation.cause == WaitCause::route) {
    const bool away = owner.lane != LaneId::kInvalid;
    const std::int64_t since = away ? lanes_[owner.lane].away_since_ns : owner.enqueued_ns;
    explanation.not_before = time_from_ns(since) + limits.route_budget;
  }
  if (owner.lane == LaneId::kInvalid) return explanation;
  const Lane& lane = lanes_[owner.lane];
  if (lane.receiver != kNoReceiver) {
    const ReceiverTotals totals =
        receiver_totals(lane.receiver, owner.internal() ? CreditPool::internal : CreditPool::user);
    explanation.receiver = ReceiverId{lane.receiver};
    explanation.receiver_room_bytes = totals.room;
    explanation.receiver_need_bytes = totals.need;
  }
  explanation.lane_in_flight_bytes = lane.in_flight_bytes;
  explanation.lane_window_bytes =
      lane.window_bytes + (owner.cls == kForeground ? lane.foreground_room : 0);
  if (!owner.internal()) {
    const ClassOnLane& share = lane.classes[owner.cls];
    const std::uint64_t client_cap = client_caps_.most(owner.client);
    explanation.class_in_flight_bytes = share.in_flight;
    explanation.class_cap_bytes = share.most == kMost ? 0 : share.most;
    explanation.lane_reserved_bytes = lane.kept_from(owner.cls);
    explanation.client_in_flight_bytes = client_caps_[owner.client].in_flight;
    explanation.client_cap_bytes = client_cap == kMost ? 0 : client_cap;
    explanation.aging_owed_bytes = picker_.aging().owed(owner.lane);
  }
  explanation.lane_others_queued = lane.queued_owners - (is_in_leaf(owner.state) ? 1 : 0);
  if (explanation.cause == WaitCause::backoff) {
    explanation.not_before = time_from_ns(lane.paused_until_ns);
  }
  if (is_in_leaf(owner.state)) {
    for (std::uint32_t i = owner.prev; i != kNone; i = owners[i].prev)
      explanation.owners_ahead += 1;
  }
  return explanation;
}

WaitCause State::wait_cause(const OwnerRecord& owner, std::uint32_t index) const {
  switch (owner.state) {
    case OwnerState::route_pending: return WaitCause::route;
    case OwnerState::draining: return WaitCause::draining;
    case OwnerState::queued:
    case OwnerState::dispatching: break;
    case OwnerState::submitted:
    case OwnerState::free:
    case OwnerState::completed:
    case OwnerState::failed:
    case OwnerState::canceled: return WaitCause::none;
  }
  if (lanes_[owner.lane].away) return WaitCause::route;
  if (lanes_[owner.lane].paused_until_ns != 0) return WaitCause::backoff;
  if (leaves_.leaf(leaves_.key_of(owner)).head != index) return WaitCause::order;
  const WaitCause cause = lane_cause(owner);
  if (cause != WaitCause::window && cause != WaitCause::none) return cause;
  // An old head goes next on its lane as soon as old ones may.
  const bool waits_for_others = lanes_[owner.lane].queued_owners > 1 && picker_.knows_age();
  if (waits_for_others && !owner.internal() && picker_.aging().owed(owner.lane) != 0 &&
      picker_.aging().is_too_old(owner.enqueued_ns, now_ns)) {
    return WaitCause::aging;
  }
  return cause == WaitCause::window ? cause : turn_cause(owner);
}

// Why the head of a leaf would not fit into its lane; none if it would.
WaitCause State::lane_cause(const OwnerRecord& owner) const {
  const Lane& lane = lanes_[owner.lane];
  if (owner.internal() ? lane.internal_dry : lane.dry) return WaitCause::receiver;
  if (lanes_.ignores_windows()) return WaitCause::none;
  if (owner.internal()) {
    const std::uint64_t need = std::max<std::uint64_t>(1, lane.internal_need);
    return lane.has_internal_room(need) ? WaitCause::none : WaitCause::window;
  }
  const std::uint64_t need = std::max<std::uint64_t>(1, lane.classes[owner.cls].need);
  if (!lane.cap_allows(owner.cls, need)) return WaitCause::class_cap;
  if (client_caps_.is_held(owner.client)) return WaitCause::client_cap;
  if (!lane.has_slot(owner.cls)) return WaitCause::window;
  const std::uint64_t room = lane.window_room(owner.cls);
  if (need <= room) return WaitCause::none;
  const bool is_kept = need <= plus_saturating(room, lane.kept_from(owner.cls));
  return is_kept ? WaitCause::reserve : WaitCause::window;
}

// Whose turn it is before that of a head that would fit.
WaitCause State::turn_cause(const OwnerRecord& owner) const {
  if (leaves_.lanes_of(index_of(ClassId::internal)).has(owner.lane) && !owner.internal()) {
    return WaitCause::class_order;
  }
  const std::uint32_t lane = owner.lane;
  const std::uint32_t others = lanes_[lane].wanted & ~(1u << owner.cls);
  if ((others & lanes_[lane].ready) != 0) return WaitCause::class_order;
  if (leaves_.layout() == LeafLayout::by_arrival) return WaitCause::order;
  const std::uint32_t client = leaves_.next_client(owner.cls, owner.client, lane);
  if (client != kNone && client != owner.client) return WaitCause::client_order;
  const std::uint32_t session = leaves_.next_session(owner.cls, owner.client, owner.session, lane);
  if (session != kNone && session != owner.session) return WaitCause::session_order;
  return WaitCause::order;
}

Time State::oldest_enqueued(std::uint32_t cls) const {
  std::int64_t oldest = std::numeric_limits<std::int64_t>::max();
  const auto consider = [this, &oldest](std::uint32_t index) {
    if (index != kNone) oldest = std::min(oldest, owners[index].enqueued_ns);
  };
  consider(unrouted_[cls].head);
  // The heads of the class's leaves: as many as have something queued.
  leaves_.for_each_leaf(cls, [&](const LeafKey& key) { consider(leaves_.leaf(key).head); });
  return oldest == std::numeric_limits<std::int64_t>::max() ? kNever : time_from_ns(oldest);
}

ClassTotals State::class_totals(std::uint32_t cls) const {
  const ClassTally& tally = tallies_[cls];
  ClassTotals totals;
  totals.queued_owners = tally.owners.queued();
  totals.queued_bytes = tally.queued_bytes;
  totals.in_flight_owners = tally.owners.in_flight();
  totals.in_flight_bytes = tally.in_flight_bytes;
  totals.route_pending_owners = tally.owners.in(OwnerState::route_pending);
  totals.draining_owners = tally.owners.in(OwnerState::draining);
  totals.oldest_enqueued = oldest_enqueued(cls);
  return totals;
}

LaneTotals State::lane_totals(std::uint32_t index) const {
  const Lane& lane = lanes_[index];
  const LaneWindow& window = lanes_.window(index);
  return {lane.queued_owners,
          lane.queued_bytes(),
          lane.in_flight_bytes,
          lane.in_flight_chunks,
          lane.window_bytes,
          lane.window_chunks,
          lane.chunk_bytes,
          lane.away,
          ReceiverId{lane.receiver},
          window.adaptive(),
          window.floor_bytes(),
          Duration{window.base_ns()},
          Duration{window.target_ns()},
          static_cast<std::uint64_t>(window.rate_bytes_per_s()),
          static_cast<std::uint64_t>(window.low_rate(now_ns) * 1e9)};
}

ReceiverTotals State::receiver_totals(std::uint32_t index, CreditPool which) const {
  const bool internal = which == CreditPool::internal;
  const Receivers::Pool& pool = receivers_[index].pools[internal ? 1 : 0];
  CreditSender credit = pool.credit;  // time goes on in it when its room is asked for
  ReceiverTotals totals;
  totals.room = credit.room(now_ns);
  totals.state = credit.state();
  totals.limit = credit.limit();
  totals.sent = credit.sent();
  totals.freed = credit.freed();
  totals.uncredited = credit.uncredited();
  totals.window = credit.stale_window();
  totals.wanted = Receivers::sum_of(receivers_.want_of(index, internal, now_ns));
  totals.need = pool.need;
  totals.life = credit.life();
  totals.epoch = credit.receiver_epoch();
  totals.dropped_grants = credit.dropped_grants();
  return totals;
}

SessionTotals State::session_totals(std::uint32_t index) const {
  const Session& session = sessions_[index];
  if (!session.open) return {};
  SessionTotals totals;
  totals.outstanding = credit_.outstanding_of(index);
  totals.granted = accounts_.of_session(index).committed;
  totals.queued_owners = session.owners.queued();
  totals.in_flight_owners = session.owners.in_flight();
  return totals;
}

}  // namespace tentq::core
