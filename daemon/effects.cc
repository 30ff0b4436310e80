// Effects of the core. See effects.h.
#include "daemon/effects.h"

#include "daemon/hosts/hosts.h"
#include "daemon/lanes.h"
#include "daemon/overloaded.h"
#include "proto/check.h"

namespace tentq {

Effects::Effects(core::Core& core, Sessions& sessions, Regions& regions, Inbox& inbox,
                 Outbox& outbox, Executor& executor, Notifications& notifications,
                 Departures& departures, ErrorBook& errors, Latencies& latencies)
    : core_(core),
      sessions_(sessions),
      regions_(regions),
      inbox_(inbox),
      outbox_(outbox),
      executor_(executor),
      notifications_(notifications),
      departures_(departures),
      errors_(errors),
      latencies_(latencies) {
  pending_routes_.reserve(64);
}

bool Effects::carry_out(Time now) {
  bool any = carry_out_asked(now);
  executor_.post_collected(now);
  // Small chunks are copied while they are posted, so that their owners end in the same turn. What
  // that makes room for is posted in the next turn: its copies on this thread are bounded.
  if (executor_.reap(now)) {
    carry_out_asked(now);
    any = true;
  }
  // Whatever has ended by now was never seen to wait.
  while (const auto admission = core_.next_admission()) {
    any = true;
    if (is_of_host(admission->session)) continue;
    outbox_.admitted(session(admission->session), *admission);
  }
  return any;
}

bool Effects::carry_out_asked(Time now) {
  bool any = false;
  while (const auto effect = core_.next_urgent_effect()) {
    any = true;
    carry_out_one(*effect, now);
  }
  return any;
}

Session& Effects::session(SessionId id) {
  Session* found = sessions_.find(id);
  TENTQ_CHECK(found != nullptr);
  return *found;
}

void Effects::carry_out_one(const core::Effect& effect, Time now) {
  std::visit(Overloaded{
                 [&](const core::DispatchChunk& e) { executor_.collect(e); },
                 [&](const core::OwnerEnded& e) { owner_ended(e, now); },
                 [](const core::OwnerAdmitted&) { TENTQ_CHECK(false && "taken apart"); },
                 [&](const core::RaiseCredit& e) {
                   if (is_of_host(e.session)) {
                     hosts_->serving().raise_credit(e, now);
                   } else {
                     outbox_.raise_credit(session(e.session), e);
                   }
                 },
                 [&](const core::ReclaimCredit& e) {
                   core_.handle(is_of_host(e.session)
                                    ? hosts_->serving().reclaim_credit(e)
                                    : outbox_.reclaim_credit(session(e.session), e),
                                now);
                 },
                 [&](const core::CancelChunk& e) {
                   // What was collected but not posted must be the transport's before it can give
                   // it back.
                   executor_.post_collected(now);
                   executor_.cancel(e);
                 },
                 [&](const core::ResolveRoute& e) { resolve(e, now); },
                 [&](const core::SessionQuiet& e) {
                   if (is_of_host(e.session)) {
                     hosts_->serving().quiet(e.session);
                   } else {
                     departures_.quiet(e.session);
                   }
                 },
                 [&](const core::SendDemand&) { TENTQ_CHECK(false && "no lane has a receiver"); },
                 [&](const core::Drained&) { drained_ = true; },
             },
             effect);
}

bool Effects::is_of_host(SessionId id) const {
  return hosts_ != nullptr && hosts_->serving().is_mine(id);
}

void Effects::unpin(RegionIndex region) {
  if (is_elsewhere(region)) {
    hosts_->unpin(region);
  } else if (region.valid()) {
    regions_.unpin(region);
  }
}

void Effects::owner_ended(const core::OwnerEnded& e, Time now) {
  if (is_of_host(e.session)) return hosts_->serving().ended(e, now);
  unpin(e.local_region);
  unpin(e.remote_region);
  Session& owner = session(e.session);
  shm::SlotView view;
  view.word = {e.slot_generation, e.state, e.reason};
  view.bytes_done = e.bytes_done;
  view.enqueued_ns = to_ns(e.enqueued);
  view.dispatched_ns = to_ns(e.dispatched);
  view.completed_ns = to_ns(e.completed);
  view.owner = e.owner.valid() ? e.owner.number() : 0;
  outbox_.ended(owner, e.slot, e.slot_generation, view);
  // What was refused never waited.
  if (e.owner.valid()) latencies_.ended(e.cls, e.enqueued, e.dispatched, e.completed);
  notifications_.owner_ended(owner, e.slot, e.slot_generation, e.state, now);
  if (e.reason == Reason::memory_fault || e.reason == Reason::transport_error) {
    errors_.report(LogLevel::error, std::string("transfer.") + std::string(to_string(e.reason)),
                   "a transfer of client '" + owner.name + "' (pid " +
                       std::to_string(owner.credentials.pid) + ") failed",
                   remedy(e.reason), now);
  }
}

void Effects::resolve(const core::ResolveRoute& effect, Time now) {
  if (!try_route(effect, now)) pending_routes_.push_back(effect);
}

// True: nothing more to try for this owner.
bool Effects::try_route(const core::ResolveRoute& e, Time now) {
  const auto owner = core_.find_owner(e.owner);
  if (!owner || owner->state != core::OwnerState::route_pending) return true;
  LaneId lane;
  const Resolution found = inbox_.resolve_late(session(e.session), e.segment, e.segment_offset,
                                               e.length, e.op, now, &lane);
  switch (found.lookup) {
    case Lookup::pending: return false;
    case Lookup::failed: core_.handle(core::RouteFailed{e.owner, found.reason}, now); return true;
    case Lookup::found:
      inbox_.pin(found.region);
      core_.handle(core::RouteResolved{e.owner, lane, found.region, found.region_offset}, now);
      // It may have ended in this very event, and its end does not name the region then.
      if (const auto routed = core_.find_owner(e.owner); !routed || !routed->lane.valid()) {
        unpin(found.region);
      }
      return true;
  }
  TENTQ_CHECK(false);
  return true;
}

void Effects::retry_routes(Time now) {
  std::erase_if(pending_routes_,
                [&](const core::ResolveRoute& effect) { return try_route(effect, now); });
}

}  // namespace tentq
