// Admission: all owners of a call or none; a refused call changes nothing that decides the future.
#include "daemon/core/state.h"

namespace tentq::core {
namespace {

constexpr std::uint32_t kMostExtents = 4096;  // of one owner

Amounts sum_of(std::span<const OwnerSpec> specs) {
  Amounts total;
  for (const OwnerSpec& spec : specs) {
    total = plus_saturating(total, {1, spec.length, spec.extents});
  }
  return total;
}

}  // namespace

void State::on(const Submitted& call) {
  if (!call.replayed) {
    admit_or_refuse(call, call.owners);
    return;
  }
  // Repeated owners stand each for itself: their calls were admitted by an earlier daemon.
  for (std::size_t i = 0; i < call.owners.size(); ++i) {
    admit_or_refuse(call, call.owners.subspan(i, 1));
  }
}

void State::admit_or_refuse(const Submitted& call, std::span<const OwnerSpec> specs) {
  if (specs.empty()) return;
  const Amounts total = sum_of(specs);
  const Reason reason = judge(call, specs, total);
  if (reason == Reason::none) {
    admit(call, specs, total);
  } else {
    refuse(call, specs, reason, total);
  }
}

Reason State::judge(const Submitted& call, std::span<const OwnerSpec> specs, const Amounts& total) {
  const Reason session = judge_session(call);
  if (session != Reason::none) return session;
  // There will never be room for more than there are owners.
  if (specs.size() > std::min(limits.largest_call_owners, maxima.owners)) return Reason::too_large;
  call_slots_.start();
  for (const OwnerSpec& spec : specs) owners.prefetch_slot(call.session.value(), spec.slot);
  for (const OwnerSpec& spec : specs) {
    const Reason reason = judge_owner(call, spec);
    if (reason != Reason::none) return reason;
  }
  const Reason room = judge_room(call, total);
  const bool timed = limits.deadline_mode != DeadlineMode::off && !is_repeated(call, total);
  return room == Reason::none && timed ? judge_deadlines(call, specs) : room;
}

Reason State::judge_session(const Submitted& call) const {
  if (!sessions_.is_open(call.session)) return Reason::invalid_cell;
  const Session& session = sessions_[call.session.value()];
  if (session.closing) return Reason::canceled;
  if (call.refused != Reason::none) return call.refused;
  const std::size_t cls = index_of(call.cls);
  if (cls >= kMaxClasses || (session.class_mask >> cls & 1u) == 0) return Reason::not_permitted;
  return Reason::none;
}

Reason State::judge_owner(const Submitted& call, const OwnerSpec& spec) {
  if (spec.length == 0 || spec.extents == 0 || spec.extents > kMostExtents) {
    return Reason::invalid_cell;
  }
  if (spec.length > limits.largest_owner_bytes) return Reason::too_large;
  if (spec.internal != is_internal(call.cls)) return Reason::not_permitted;
  if (spec.deadline < Duration{0} || spec.max_queue_wait < Duration{0}) return Reason::invalid_cell;
  if (spec.lane.valid() && !lanes_.is_open(spec.lane)) return Reason::no_route;
  if (spec.lane.valid() && lanes_[spec.lane.value()].given_up) return Reason::peer_lost;
  const std::uint32_t session = call.session.value();
  if (spec.lane.valid()) {
    leaves_.prefetch_tail(leaves_.key_of(static_cast<std::uint32_t>(index_of(call.cls)),
                                         sessions_[session].client, session, spec.lane.value()));
  }
  // A slot has one owner at a time.
  if (spec.slot >= sessions_[session].slots || !call_slots_.add(spec.slot)) {
    return Reason::invalid_cell;
  }
  return owners.find_slot(session, spec.slot) == kNone ? Reason::none : Reason::invalid_cell;
}

// An earlier daemon admitted it. A client may say so of more than was outstanding at its re-attach.
bool State::is_repeated(const Submitted& call, const Amounts& total) const {
  const std::uint32_t session = call.session.value();
  const std::uint32_t cls = static_cast<std::uint32_t>(index_of(call.cls));
  return call.replayed && fits(total, credit_.of(session, cls).replay_left);
}

Reason State::judge_room(const Submitted& call, const Amounts& total) {
  if (shutting_down_) return Reason::shutdown;
  if (draining && !is_repeated(call, total)) return Reason::draining;
  const Reason reason = judge_limits(call, total);
  if (reason != Reason::none) return reason;
  return total.owners <= owners.left() ? Reason::none : Reason::over_limit;
}

// Larger than a limit can never be admitted; over what is left of it may be, later.
Reason State::judge_limits(const Submitted& call, const Amounts& total) {
  const std::uint32_t session = call.session.value();
  const std::uint32_t cls = static_cast<std::uint32_t>(index_of(call.cls));
  if (is_internal(call.cls)) {
    if (!fits(total, least(limits.host, limits.classes[cls].outstanding))) return Reason::too_large;
    if (fits(total, accounts_.internal_room())) return Reason::none;
    counters.internal_reserve_exhausted += 1;
    return Reason::over_limit;
  }
  const LevelPath levels = accounts_.path(session, sessions_[session].client, cls);
  const Amounts users = minus_saturating(limits.host, limits.internal_reserve);
  if (!fits(total, users)) return Reason::too_large;
  for (std::size_t l = 1; l < kLevels; ++l) {
    if (!fits(total, levels[l]->limit)) return Reason::too_large;
  }
  if (!credit_.covers(session, cls, total)) return Reason::over_credit;
  // Credit is covered by the limits, unless these were lowered since.
  for (std::size_t l = 0; l < kLevels; ++l) {
    if (fits(levels[l]->committed, levels[l]->limit)) continue;
    const Amounts outstanding = credit_.outstanding_at(l, session, cls);
    if (!fits(total, minus_saturating(levels[l]->limit, outstanding))) return Reason::over_limit;
  }
  return Reason::none;
}

// Unused credit that others hold can be had back: only what owners have counts.
LimitLevel State::full_level(SessionId id, ClassId cls, const Amounts& wanted) const {
  if (!sessions_.takes_work(id) || index_of(cls) >= kMaxClasses) return LimitLevel::none;
  const std::uint32_t session = id.value();
  const std::uint32_t c = static_cast<std::uint32_t>(index_of(cls));
  const auto is_full = [&](const Level& level, std::size_t which) {
    if (fits(wanted, level.room())) return false;
    const Amounts outstanding = credit_.outstanding_at(which, session, c);
    return !fits(wanted, minus_saturating(level.limit, outstanding));
  };
  // The narrowest first: it is the one that its client can do something about.
  if (is_full(accounts_.of_session(session), 3)) return LimitLevel::session;
  if (is_full(accounts_.of_client(sessions_[session].client), 2)) return LimitLevel::client;
  if (is_full(accounts_.of_class(c), 1)) return LimitLevel::cls;
  if (!fits(wanted, minus_saturating(accounts_.host().limit, accounts_.users()))) {
    return LimitLevel::host;
  }
  return LimitLevel::none;
}

void State::refuse(const Submitted& call, std::span<const OwnerSpec> specs, Reason reason,
                   const Amounts& total) {
  counters.rejected[static_cast<std::size_t>(reason)] += specs.size();
  for (const OwnerSpec& spec : specs) {
    refused_.push({call.session, spec.slot, spec.slot_generation, spec.local_region,
                   spec.remote_region, reason, call.cls, spec.op, spec.length});
  }
  const std::size_t cls = index_of(call.cls);
  if (sessions_.takes_work(call.session) && cls < kMaxClasses && !is_internal(call.cls)) {
    credit_.return_refused(call.session.value(), static_cast<std::uint32_t>(cls), total);
  }
}

void State::admit(const Submitted& call, std::span<const OwnerSpec> specs, const Amounts& total) {
  const std::uint32_t index = call.session.value();
  const std::uint32_t cls = static_cast<std::uint32_t>(index_of(call.cls));
  Session& session = sessions_[index];
  const bool internal = is_internal(call.cls);
  accounts_.charge(total, internal);
  if (internal) {
    credit_.charge_internal(index, total);
  } else {
    credit_.spend(index, cls, total);
    if (call.replayed) credit_.spend_replay(index, cls, total);
  }
  session.live += static_cast<std::uint32_t>(specs.size());
  counters.enqueued += specs.size();
  for (const OwnerSpec& spec : specs) admit_one(call, spec, session.client);
}

void State::admit_one(const Submitted& call, const OwnerSpec& spec, std::uint32_t client) {
  const std::uint32_t index = owners.take();
  OwnerRecord& owner = owners[index];
  owner.next = owner.prev = owner.chunks = kNone;
  owner.extents = spec.extents;
  owner.session = static_cast<std::uint16_t>(call.session.value());
  owner.client = static_cast<std::uint16_t>(client);
  owner.lane = spec.lane.value();
  owner.cls = static_cast<std::uint8_t>(call.cls);
  owner.flags = static_cast<std::uint8_t>((spec.op == Op::write ? kWrite : 0) |
                                          (spec.internal ? kInternal : 0));
  owner.outcome = TaskState::pending;
  owner.refusals = owner.reason = 0;
  owner.in_flight = 0;
  owner.length = spec.length;
  owner.handed = owner.completed = 0;
  owner.slot = spec.slot;
  owner.slot_generation = spec.slot_generation;
  owner.local_region = spec.local_region.value();
  owner.remote_region = spec.remote_region.value();
  owner.local_offset = spec.local_offset;
  owner.remote_offset = spec.remote_offset;
  owner.enqueued_ns = now_ns;
  owner.dispatched_ns = 0;
  owner.cookie = spec.cookie;
  owners.enter_slot(index);
  announce(index);
  queue_bytes(owner, spec.length);
  const bool expires = spec.deadline.count() != 0 || spec.max_queue_wait.count() != 0;
  if (expires) set_expiry(index, spec);
  if (spec.lane.valid()) {
    move<OwnerAction::admit>(owner);
    enter_leaf(index, false);
  } else {
    owners.extras(index).segment = spec.remote_segment.value();
    owners.extras(index).without_route = spec.without_route;
    move<OwnerAction::admit_unrouted>(owner);
    enter_list(&unrouted_[owner.cls], index);
    unasked_.push(owners.id(index));
  }
  if (expires || !spec.lane.valid()) arm(index);
}

}  // namespace tentq::core
