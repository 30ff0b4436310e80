// What a host has in flight: chunks that go and come back, on its own links or by way of a carrier,
// and what becomes of them when a way breaks or the host starts anew. See host.h.
#include <utility>

#include "proto/check.h"
#include "tests/sim/host.h"

namespace tentq::sim {

void Host::open_far_lane(const core::LaneOpened& window, Op op) {
  HostLane& lane = lanes_[window.lane.value()];
  lane.window = window;
  lane.op = op;
  handle(window);
}

void Host::note_queued(HostLane& lane, std::uint64_t bytes) {
  if (lane.queued == 0) lane.waits_since_ns = now_ns_;
  lane.queued += bytes;
}

// Also what will never go any more.
void Host::note_handed_over(HostLane& lane, LaneRecord& record, std::uint64_t bytes) {
  if (bytes == 0) return;
  lane.queued -= bytes;
  if (!lane.away)
    record.longest_wait_ns = std::max(record.longest_wait_ns, now_ns_ - lane.waits_since_ns);
  lane.waits_since_ns = lane.queued == 0 ? kNeverNs : now_ns_;
}

void Host::dispatch(const core::DispatchChunk& chunk) {
  HostLane& lane = lanes_[chunk.lane.value()];
  std::uint32_t number = static_cast<std::uint32_t>(flights_.size());
  if (free_flights_.empty()) {
    flights_.emplace_back();
  } else {
    number = free_flights_.back();
    free_flights_.pop_back();
  }
  const std::optional<core::OwnerView> owner = core_->find_owner(chunk.chunk.owner);
  TENTQ_CHECK(owner.has_value());
  flights_[number] = {chunk, owner->slot, owner->cls};
  Session& session = sessions_[chunk.session.value()];
  session.pending[owner->slot].handed += chunk.length;
  lane.in_flight += chunk.length;
  lane.in_flight_of[index_of(owner->cls)] += chunk.length;
  audit_.dispatched(chunk, lane.in_flight, core_->lane_totals(chunk.lane), core_->policy(),
                    now_ns_);
  LaneRecord& record = lane_record(chunk.lane.value());
  record.peak_in_flight = std::max(record.peak_in_flight, lane.in_flight);
  note_handed_over(lane, record, chunk.length);
  ClientRecord& client = record_->clients[session.shape.client];
  client.largest_chunk = std::max(client.largest_chunk, chunk.length);
  if (is_far()) {
    shape_.carrier->post(chunk.lane.value(), number, chunk);
  } else {
    lane.link->post(number, chunk.length, now_ns_);
  }
}

Host::Flight Host::land(std::uint32_t number) {
  const Flight flight = flights_[number];
  free_flights_.push_back(number);
  HostLane& lane = lanes_[flight.chunk.lane.value()];
  lane.in_flight -= flight.chunk.length;
  lane.in_flight_of[index_of(flight.cls)] -= flight.chunk.length;
  return flight;
}

void Host::returned(std::uint32_t number) {
  const Flight flight = land(number);
  const SessionShape& session = sessions_[flight.chunk.session.value()].shape;
  if (session.counted) {
    record_->moved.push_back({now_ns_, session.client,
                              shape_.first_lane + flight.chunk.lane.value(), flight.chunk.length});
  }
  audit_.returned(flight.chunk);
  handle(core::ChunkEnded{flight.chunk.chunk, flight.chunk.length, Reason::none});
}

void Host::failed(std::uint32_t number, Reason reason) {
  const Flight flight = land(number);
  handle(core::ChunkEnded{flight.chunk.chunk, 0, reason});
}

void Host::lost(std::uint32_t number) {
  const Flight flight = land(number);
  audit_.lost(flight.chunk);
  sessions_[flight.chunk.session.value()].pending[flight.slot].handed -= flight.chunk.length;
  note_queued(lanes_[flight.chunk.lane.value()], flight.chunk.length);
  handle(core::ChunkLost{flight.chunk.chunk});
}

void Host::set_away(std::uint32_t index, bool away) {
  HostLane& lane = lanes_[index];
  if (lane.away == away) return;
  lane.away = away;
  if (!away && lane.queued != 0) lane.waits_since_ns = now_ns_;
  if (away) {
    handle(core::LaneAway{lane.window.lane});
  } else {
    handle(core::LaneBack{lane.window.lane});
  }
}

void Host::cancel_all(SessionId id) {
  const Session& session = sessions_[id.value()];
  for (std::uint32_t slot = 0; slot < session.pending.size(); ++slot) {
    if (!session.pending[slot].open) continue;
    handle(core::CancelRequested{id, slot, session.generations[slot]});
  }
}

void Host::connect(ReceiverId receiver, std::uint64_t epoch, bool speaks_credits) {
  handle(core::ReceiverConnected{receiver, epoch, speaks_credits});
}

void Host::take_grant(ReceiverId receiver, const PeerGrant& grant) {
  handle(core::GrantReceived{receiver, grant});
}

void Host::restart(std::uint64_t seed, std::uint64_t epoch) {
  shape_.seed = seed;
  shape_.credits.epoch = epoch;
  core_ = std::make_unique<core::Core>(shape_.limits, shape_.maxima, shape_.policy, seed,
                                       shape_.credits);
  audit_.restarted();
  flights_.clear();
  free_flights_.clear();
  ends_.clear();
  raised_.clear();
  for (HostLane& lane : lanes_) {
    lane.in_flight = lane.queued = 0;
    lane.in_flight_of = {};
    lane.waits_since_ns = kNeverNs;
    lane.away = false;
    if (!lane.window.lane.valid()) continue;  // never opened
    handle(lane.window);
    set_away(lane.window.lane.value(), true);
  }
  for (std::uint32_t index = 0; index < sessions_.size(); ++index) restart_session(index);
}

void Host::restart_session(std::uint32_t index) {
  Session& session = sessions_[index];
  session.raised = false;
  for (std::uint32_t slot = 0; slot < session.pending.size(); ++slot) {
    Pending& pending = session.pending[slot];
    pending.handed = 0;
    if (!pending.open || session.shape.counted) continue;
    pending.open = false;
    session.free_slots.push_back(slot);
    audit_.forgotten(SessionId{index}, slot);
  }
  reopen_session(index);
  for (std::uint32_t slot = 0; slot < session.pending.size(); ++slot) {
    if (session.pending[slot].open) hand_in(SessionId{index}, slot, true);
  }
}

}  // namespace tentq::sim
