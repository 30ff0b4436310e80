// See host.h.
#include "tests/sim/host.h"

#include <cmath>
#include <utility>

#include "proto/check.h"
#include "tests/sim/broken_invariant.h"

namespace tentq::sim {
namespace {

// The core's clock when the run begins: zero means "never" to it.
constexpr std::int64_t kStartNs = 1'000'000;

Time core_time(std::int64_t now_ns) {
  return time_from_ns(now_ns + kStartNs);
}

double bytes_per_ns(std::uint64_t bytes_per_s) {
  return static_cast<double>(bytes_per_s) / 1e9;
}

}  // namespace

Host::Host(const HostShape& shape, Record* record)
    : shape_(shape),
      record_(record),
      audit_(&record->violations),
      core_(std::make_unique<core::Core>(shape.limits, shape.maxima, shape.policy, shape.seed,
                                         shape.credits)),
      lanes_(shape.maxima.lanes) {}

void Host::open_lane(std::uint32_t lane, const core::LinkShape& link,
                     const core::LaneOpened& window) {
  lanes_[lane].shape = link;
  lanes_[lane].link = std::make_unique<core::LinkModel>(link);
  handle(window);
}

SessionId Host::open_session(const SessionShape& shape, Party* party) {
  Session session;
  session.shape = shape;
  session.party = party;
  for (std::uint32_t slot = shape.slots; slot-- > 0;) session.free_slots.push_back(slot);
  session.generations.resize(shape.slots);
  session.pending.resize(shape.slots);
  session.foreground_bytes.resize(lanes_.size());
  const SessionId id{static_cast<std::uint32_t>(sessions_.size())};
  sessions_.push_back(std::move(session));
  reopen_session(id.value());
  return id;
}

// With what is outstanding, which is to be handed in again.
void Host::reopen_session(std::uint32_t index) {
  Session& session = sessions_[index];
  core::SessionOpened event;
  event.session = SessionId{index};
  event.client = session.shape.key;
  event.weight = record_->clients[session.shape.client].weight;
  event.in_flight_bytes = session.shape.in_flight_bytes;
  event.slots = session.shape.slots;
  event.limit = core_->limits().client;
  for (const Pending& each : session.pending) {
    if (!each.open) continue;
    core::Amounts& amounts = event.replayed[index_of(each.cls)];
    amounts.owners += 1;
    amounts.bytes += each.length;
    amounts.extents += 1;
  }
  for (std::size_t c = 0; c < kMaxClasses; ++c) session.consumed[c] = event.replayed[c];
  session.granted = {};
  handle(event);
}

// A failed check inside of the core leaves it in between; one of check_invariants() does not.
void Host::handle(const core::Event& event) {
  if (broken_) return;
  record_->events += 1;
  try {
    core_->handle(event, core_time(now_ns_));
  } catch (const BrokenInvariant& error) {
    record_->violations.add(now_ns_, error.what());
    broken_ = true;
  }
  check();
}

void Host::check() {
  if (broken_ || shape_.check_every == 0 || ++since_check_ < shape_.check_every) return;
  since_check_ = 0;
  record_->checks += 1;
  try {
    core_->check_invariants();
  } catch (const BrokenInvariant& error) {
    record_->violations.add(now_ns_, error.what());
  }
}

bool Host::submit(SessionId id, ClassId cls, std::uint32_t lane_index, std::uint64_t length,
                  std::int64_t intended_ns, RegionIndex remote) {
  Session& session = sessions_[id.value()];
  const core::Amounts& granted = session.granted[index_of(cls)];
  core::Amounts& consumed = session.consumed[index_of(cls)];
  const bool covered = consumed.owners < granted.owners &&
                       consumed.bytes + length <= granted.bytes &&
                       consumed.extents < granted.extents;
  if (broken_ || !covered || session.free_slots.empty()) return false;
  const std::uint32_t slot = session.free_slots.back();
  session.free_slots.pop_back();
  consumed.owners += 1;
  consumed.bytes += length;
  consumed.extents += 1;

  Pending& pending = session.pending[slot];
  pending = Pending{};
  pending.open = true;
  pending.cls = cls;
  pending.remote = remote;
  pending.length = length;
  pending.intended_ns = intended_ns;
  pending.admitted_ns = now_ns_;
  pending.lane = lane_index;
  pending.changes = lanes_[lane_index].changes;
  if (cls == ClassId::foreground) note_ahead(lane_index, &session, &pending);
  audit_.submitted(id, slot, length);
  hand_in(id, slot, false);
  return true;
}

void Host::hand_in(SessionId id, std::uint32_t slot, bool again) {
  Session& session = sessions_[id.value()];
  const Pending& pending = session.pending[slot];
  note_queued(lanes_[pending.lane], pending.length);
  core::OwnerSpec spec;
  spec.slot = slot;
  spec.slot_generation = ++session.generations[slot];
  spec.op = lanes_[pending.lane].op;
  spec.lane = LaneId{static_cast<std::uint16_t>(pending.lane)};
  spec.local_region = RegionIndex{1};
  spec.remote_region = pending.remote;
  spec.length = pending.length;
  core::Submitted call;
  call.session = id;
  call.cls = pending.cls;
  call.replayed = again;
  call.owners = {&spec, 1};
  handle(call);
}

void Host::wish(SessionId id, ClassId cls, std::uint64_t length, bool waiting) {
  const Session& session = sessions_[id.value()];
  record_->clients[session.shape.client].refused += 1;
  handle(core::CreditWanted{id, cls, {1, length, 1}, session.consumed[index_of(cls)], waiting});
}

// P8: what others have in flight, one chunk, and all foreground that is outstanding.
void Host::note_ahead(std::uint32_t index, Session* session, Pending* pending) {
  HostLane& lane = lanes_[index];
  const LaneId id{static_cast<std::uint16_t>(index)};
  lane.foreground_outstanding += pending->length;
  lane.foreground_bytes += pending->length;
  session->foreground_bytes[index] += pending->length;
  pending->ahead = lane.in_flight - lane.in_flight_of[index_of(ClassId::foreground)] +
                   core_->lane_totals(id).chunk_bytes + lane.foreground_outstanding;
  pending->others = lane.foreground_bytes - session->foreground_bytes[index];
}

// Foreground of other sessions that came since shares the lane with it; what its own session
// submitted later is behind it.
std::int64_t Host::bound_ns(const Session& session, const Pending& pending) const {
  const HostLane& lane = lanes_[pending.lane];
  const std::uint64_t others = lane.foreground_bytes - session.foreground_bytes[pending.lane];
  const auto bytes = static_cast<double>(pending.ahead + others - pending.others);
  return static_cast<std::int64_t>(std::ceil(bytes / lane.shape.bytes_per_ns)) +
         lane.shape.delay_ns + lane.shape.jitter_ns;
}

// Whether P8 has to hold to the byte: nothing may go before foreground but what it says, and the
// window is no shorter than the way.
bool Host::foreground_is_first(const HostLane& lane, LaneId id) const {
  const core::Limits& limits = core_->limits();
  const core::ClassLimits& own = limits.classes[index_of(ClassId::foreground)];
  const bool strict = core_->policy() == core::Policy::strict ||
                      (core_->policy() == core::Policy::wdrr && own.strict);
  if (!strict || limits.age_max != Duration{0} || own.in_flight_bytes != 0 ||
      limits.client_in_flight_bytes != 0) {
    return false;
  }
  for (const core::ClassLimits& each : limits.classes) {
    if (each.reserve_bytes != 0 || (&each != &own && each.strict)) return false;
  }
  const core::LaneTotals totals = core_->lane_totals(id);
  const double way =
      lane.shape.bytes_per_ns * static_cast<double>(lane.shape.delay_ns + lane.shape.jitter_ns);
  return !totals.adaptive && static_cast<double>(totals.window_bytes) >=
                                 way + 2 * static_cast<double>(totals.chunk_bytes);
}

void Host::set_rate(std::uint32_t index, std::uint64_t bytes_per_s) {
  HostLane& lane = lanes_[index];
  lane.shape.bytes_per_ns = bytes_per_ns(bytes_per_s);
  lane.link->set_rate(lane.shape.bytes_per_ns);
  lane.changes += 1;
  lane_record(index).rates.push_back({now_ns_, bytes_per_s});
}

void Host::set_delay(std::uint32_t index, std::int64_t delay_ns) {
  lanes_[index].shape.delay_ns = delay_ns;
  lanes_[index].link->set_delay(delay_ns);
  lanes_[index].changes += 1;
}

void Host::jam(std::uint32_t index, std::int64_t for_ns) {
  lanes_[index].link->jam_until(now_ns_ + for_ns);
  lanes_[index].changes += 1;
}

// What was submitted before is not judged by the new policy.
void Host::set_policy(core::Policy policy) {
  if (broken_) return;
  TENTQ_CHECK(core_->set_policy(policy) == StatusCode::ok);
  for (HostLane& lane : lanes_) lane.changes += 1;
}

void Host::set_class_weight(ClassId cls, std::uint32_t weight) {
  if (broken_) return;
  core::Limits limits = core_->limits();
  limits.classes[index_of(cls)].weight = weight;
  TENTQ_CHECK(core_->set_limits(limits, nullptr) == StatusCode::ok);
}

std::int64_t Host::next_ns() {
  if (broken_) return kNeverNs;
  std::int64_t next = kNeverNs;
  for (std::size_t i = 0; i < lanes_.size() && !is_far(); ++i) {
    const HostLane& lane = lanes_[i];
    if (const auto at = lane.link->next_ns()) next = std::min(next, *at);
  }
  if (const auto deadline = core_->next_deadline()) {
    next = std::min(next, std::max(now_ns_, to_ns(*deadline) - kStartNs));
  }
  return next;
}

void Host::step() {
  for (std::size_t i = 0; i < lanes_.size() && !is_far(); ++i) {
    const HostLane& lane = lanes_[i];
    for (auto at = lane.link->next_ns(); at && *at <= now_ns_; at = lane.link->next_ns()) {
      returned(static_cast<std::uint32_t>(lane.link->take()));
    }
  }
  handle(core::Tick{});
}

void Host::settle() {
  while (take_effects() || tell_parties()) {
  }
  // A way to another host may wait for more than its window.
  if (broken_ || is_far()) return;
  const bool client_caps = core_->limits().client_in_flight_bytes != 0;
  for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
    const LaneId id{static_cast<std::uint16_t>(i)};
    audit_.settled(id, core_->lane_totals(id), client_caps, now_ns_);
  }
}

bool Host::take_effects() {
  bool any = false;
  try {
    while (!broken_) {
      const std::optional<core::Effect> effect = core_->next_effect();
      if (!effect) break;
      any = true;
      carry_out(*effect);
    }
  } catch (const BrokenInvariant& error) {
    record_->violations.add(now_ns_, error.what());
    broken_ = true;
  }
  if (any) note_peaks();
  if (any) check();
  return any;
}

void Host::carry_out(const core::Effect& effect) {
  if (const auto* chunk = std::get_if<core::DispatchChunk>(&effect)) {
    dispatch(*chunk);
  } else if (const auto* end = std::get_if<core::OwnerEnded>(&effect)) {
    note_end(*end);
  } else if (const auto* admission = std::get_if<core::OwnerAdmitted>(&effect)) {
    audit_.admitted(*admission, now_ns_);
  } else if (const auto* raise = std::get_if<core::RaiseCredit>(&effect)) {
    note_raise(*raise);
  } else if (const auto* reclaim = std::get_if<core::ReclaimCredit>(&effect)) {
    Session& session = sessions_[reclaim->session.value()];
    session.granted[index_of(reclaim->cls)] = reclaim->granted;
    handle(core::CreditConsumed{reclaim->session, reclaim->cls,
                                session.consumed[index_of(reclaim->cls)]});
  } else if (const auto* demand = std::get_if<core::SendDemand>(&effect)) {
    shape_.carrier->demand(demand->receiver, demand->demand);
  }
  // The rest is for cancels, routes and ends of sessions, which no scenario has.
}

void Host::note_end(const core::OwnerEnded& end) {
  audit_.ended(end, now_ns_);
  Session& session = sessions_[end.session.value()];
  const Pending pending = session.pending[end.slot];
  session.pending[end.slot].open = false;
  session.free_slots.push_back(end.slot);
  HostLane& lane = lanes_[pending.lane];
  note_handed_over(lane, lane_record(pending.lane), pending.length - pending.handed);
  Sample sample;
  sample.client = session.shape.client;
  sample.intended_ns = pending.intended_ns;
  sample.ended_ns = now_ns_;
  sample.took_admitted_ns = now_ns_ - pending.admitted_ns;
  sample.bytes = end.bytes_done;
  sample.completed = end.state == TaskState::completed;
  if (end.cls == ClassId::foreground) {
    lane.foreground_outstanding -= pending.length;
    // Of another host there is more in the way than its lane.
    if (!is_far() && lane.changes == pending.changes) {
      sample.bound_ns = bound_ns(session, pending);
    }
    if (sample.bound_ns >= 0 && sample.took_admitted_ns > sample.bound_ns &&
        foreground_is_first(lane, LaneId{static_cast<std::uint16_t>(pending.lane)})) {
      record_->violations.add(now_ns_, "a foreground owner took " +
                                           std::to_string(sample.took_admitted_ns) +
                                           " ns, P8 allows " + std::to_string(sample.bound_ns));
    }
  }
  if (session.shape.counted) record_->samples.push_back(sample);
  ends_.push_back({end, pending.intended_ns});
}

void Host::note_raise(const core::RaiseCredit& raise) {
  Session& session = sessions_[raise.session.value()];
  session.granted[index_of(raise.cls)] = raise.granted;
  if (std::exchange(session.raised, true)) return;
  raised_.push_back(raise.session.value());
}

void Host::note_peaks() {
  const core::Amounts outstanding = core_->outstanding();
  record_->peak_outstanding_bytes = std::max(record_->peak_outstanding_bytes, outstanding.bytes);
  record_->peak_outstanding_owners = std::max(record_->peak_outstanding_owners, outstanding.owners);
  const core::Amounts& limit = core_->limits().host;
  if (outstanding.owners > limit.owners || outstanding.bytes > limit.bytes) {
    record_->violations.add(now_ns_, std::to_string(outstanding.bytes) +
                                         " bytes are outstanding, more than the host's limit");
  }
}

bool Host::tell_parties() {
  if (ends_.empty() && raised_.empty()) return false;
  for (const End& each : std::exchange(ends_, {})) {
    sessions_[each.end.session.value()].party->ended(each.end, each.intended_ns);
  }
  for (const std::uint32_t index : std::exchange(raised_, {})) {
    sessions_[index].raised = false;
    sessions_[index].party->credit_raised();
  }
  return true;
}

void Host::finish() {
  if (!broken_) audit_.over(*core_, now_ns_);
}

}  // namespace tentq::sim
