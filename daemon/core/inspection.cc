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
    explanation.not_before = time_from_ns(owner.enqueued_ns) + limits.route_budget;
  }
  if (owner.lane == LaneId::kInvalid) return explanation;
  const Lane& lane = lanes_[owner.lane];
  explanation.lane_in_flight_bytes = lane.in_flight_bytes;
  explanation.lane_window_bytes = lane.window_bytes;
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
  if (lanes_[owner.lane].paused_until_ns != 0) return WaitCause::backoff;
  if (leaves_.leaf(leaves_.key_of(owner)).head != index) return WaitCause::order;
  const Lane& lane = lanes_[owner.lane];
  const std::uint64_t need =
      std::max<std::uint64_t>(1, owner.internal() ? lane.internal_need : lane.need);
  if (!lanes_.fits(owner.lane, need, owner.internal())) return WaitCause::window;
  // A head whose lane is ready: others of its class have their turn, or other classes.
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    if (c != owner.cls && leaves_.lanes_of(c).meets(lanes_.ready())) return WaitCause::class_order;
  }
  return WaitCause::order;
}

Time State::oldest_enqueued(std::uint32_t cls) const {
  std::int64_t oldest = std::numeric_limits<std::int64_t>::max();
  const auto consider = [this, &oldest](std::uint32_t index) {
    if (index != kNone) oldest = std::min(oldest, owners[index].enqueued_ns);
  };
  consider(unrouted_[cls].head);
  // The heads of the class's leaves: as many as it has clients and lanes with something queued.
  const LaneSet& lanes = leaves_.lanes_of(cls);
  std::uint32_t client = maxima.clients - 1;
  std::uint32_t last = 0;
  for (bool first = true; !lanes.empty(); first = false) {
    client = leaves_.next_client(cls, client, lanes);
    if (client == kNone || (!first && client <= last)) break;
    last = client;
    leaves_.lanes_of(cls, client).for_each([&](std::uint32_t lane) {
      consider(leaves_.leaf({cls, client, lane}).head);
    });
  }
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
          lane.queued_bytes,
          lane.in_flight_bytes,
          lane.in_flight_chunks,
          lane.window_bytes,
          lane.window_chunks,
          lane.chunk_bytes,
          window.adaptive(),
          window.floor_bytes(),
          Duration{window.base_ns()},
          Duration{window.target_ns()},
          static_cast<std::uint64_t>(window.rate_bytes_per_s())};
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
