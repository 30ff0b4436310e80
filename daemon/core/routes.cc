// Lanes, the hosts that they lead to, and owners whose lane is not known yet.
#include "daemon/core/state.h"

namespace tentq::core {
namespace {

// Bounds the work of one event; the rest follows with the next one, which is due at once.
constexpr std::uint32_t kMostGivenUp = 1024;

}  // namespace

void State::on(const LaneOpened& event) {
  const WindowShape shape{event.window_bytes, event.chunk_bytes, event.rules};
  TENTQ_CHECK(event.lane.value() < lanes_.count());
  receivers_.name(event.lane.value(), event.receiver);
  lanes_.open(event.lane, shape, event.window_chunks, now_ns);
}

void State::on(const LaneWindowChanged& event) {
  TENTQ_CHECK(lanes_.is_open(event.lane));
  const WindowShape shape{event.window_bytes, event.chunk_bytes, event.rules};
  lanes_.reshape(event.lane, shape, event.window_chunks);
}

void State::on(const LaneAway& event) {
  if (!lanes_.is_open(event.lane)) return;
  // What it waits for is not asked for any more: others of its receiver would wait for ever.
  if (lanes_.leave(event.lane.value(), now_ns)) receivers_.let_go(event.lane.value());
}

void State::on(const LaneBack& event) {
  if (!lanes_.is_open(event.lane)) return;
  lanes_.come_back(event.lane.value());
  lanes_.touch_receiver(event.lane.value());
}

void State::on(const ReceiverConnected& event) {
  receivers_.connect(event.receiver, event.epoch, event.speaks_credits, now_ns);
}

void State::on(const GrantReceived& event) {
  receivers_.take_grant(event.receiver, event.grant, now_ns);
}

// Ends what waits for lanes whose way has been broken for too long. Returns whether more is to end.
bool State::give_up_some() {
  for (std::uint32_t budget = kMostGivenUp; budget != 0; --budget) {
    const std::uint32_t lane = lanes_.next_to_give_up(now_ns);
    if (lane == kNone) return false;
    LeafKey key;
    if (leaves_.any_leaf(lane, &key)) {
      end_early(leaves_.leaf(key).head, TaskState::failed, Reason::peer_lost);
    } else {
      lanes_.give_up(lane);
    }
  }
  return true;
}

void State::on(const LanePressure& event) {
  if (!lanes_.is_open(event.lane)) return;
  lanes_.press(event.lane, event.kind, event.recommended_bytes, now_ns);
}

void State::on(const RouteResolved& event) {
  const std::uint32_t index = owners.find(event.owner);
  if (index == kNone || owners[index].state != OwnerState::route_pending) return;
  if (!lanes_.is_open(event.lane) || lanes_[event.lane.value()].given_up) {
    end_early(index, TaskState::failed, owners.extras(index).without_route);
    return;
  }
  OwnerRecord& owner = owners[index];
  leave_list(&unrouted_[owner.cls], index);
  owner.lane = event.lane.value();
  owner.remote_region = event.remote_region.value();
  owner.remote_offset = event.remote_offset;
  lanes_[owner.lane].classes[owner.cls].queued += owner.length;
  move<OwnerAction::route>(owner);
  enter_leaf(index, false);
}

void State::on(const RouteFailed& event) {
  const std::uint32_t index = owners.find(event.owner);
  if (index == kNone || owners[index].state != OwnerState::route_pending) return;
  const Reason reason = event.reason == Reason::none ? Reason::no_route : event.reason;
  end_early(index, TaskState::failed, reason);
}

}  // namespace tentq::core
