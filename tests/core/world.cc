// The shell's part in tests.
#include "tests/core/world.h"

#include <algorithm>

#include "proto/check.h"

namespace tentq::core {

Limits small_limits(std::uint64_t owners, std::uint64_t bytes) {
  Limits limits;
  limits.host = limits.client = {owners, bytes, owners * 8};
  limits.internal_reserve = {};
  for (ClassLimits& each : limits.classes) {
    each = ClassLimits{};
    each.outstanding = limits.host;
  }
  limits.age_max = Duration{0};
  return limits;
}

World::World(const WorldShape& shape)
    : core(shape.limits, shape.maxima, shape.policy, shape.seed, shape.credits),
      check_(shape.check) {}

void World::handle(const Event& event) {
  core.handle(event, now);
  if (check_) core.check_invariants();
  if (!hold_effects) take_effects();
}

void World::take_effects() {
  while (const std::optional<Effect> effect = core.next_effect()) carry_out(*effect);
  if (check_) core.check_invariants();
}

void World::advance(Duration by) {
  now += by;
  handle(Tick{});
}

void World::advance_to_deadline() {
  const std::optional<Time> deadline = core.next_deadline();
  TENTQ_CHECK(deadline.has_value());
  now = std::max(now, *deadline);
  handle(Tick{});
}

void World::forget() {
  ended.clear();
  admitted.clear();
  dispatched.clear();
  cancels.clear();
  routes.clear();
  raises.clear();
  reclaims.clear();
  quiet.clear();
  demands.clear();
  drained = 0;
}

void World::carry_out(const Effect& effect) {
  if (on_effect) on_effect(effect);
  if (const auto* chunk = std::get_if<DispatchChunk>(&effect)) {
    dispatched.push_back(*chunk);
    in_flight.push_back(*chunk);
  } else if (const auto* end = std::get_if<OwnerEnded>(&effect)) {
    ended.push_back(*end);
  } else if (const auto* admission = std::get_if<OwnerAdmitted>(&effect)) {
    admitted.push_back(*admission);
  } else if (const auto* cancelled = std::get_if<CancelChunk>(&effect)) {
    cancels.push_back(*cancelled);
  } else if (const auto* route = std::get_if<ResolveRoute>(&effect)) {
    routes.push_back(*route);
  } else if (const auto* raise = std::get_if<RaiseCredit>(&effect)) {
    raises.push_back(*raise);
    granted[{raise->session.value(), index_of(raise->cls)}] = raise->granted;
  } else if (const auto* reclaim = std::get_if<ReclaimCredit>(&effect)) {
    reclaims.push_back(*reclaim);
    const CreditKey key{reclaim->session.value(), index_of(reclaim->cls)};
    granted[key] = reclaim->granted;
    if (answer_reclaims) {
      core.handle(CreditConsumed{reclaim->session, reclaim->cls, consumed[key]}, now);
      if (check_) core.check_invariants();
    }
  } else if (const auto* gone = std::get_if<SessionQuiet>(&effect)) {
    quiet.push_back(gone->session);
  } else if (const auto* demand = std::get_if<SendDemand>(&effect)) {
    demands.push_back(*demand);
  } else {
    drained += 1;
  }
}

void World::open_lane(std::uint16_t lane, std::uint64_t window_bytes, std::uint32_t window_chunks,
                      std::uint64_t chunk_bytes) {
  handle(LaneOpened{LaneId{lane}, window_bytes, window_chunks, chunk_bytes});
}

void World::open_lane_to(std::uint16_t receiver, std::uint16_t lane, std::uint64_t window_bytes,
                         std::uint64_t chunk_bytes, std::uint32_t window_chunks) {
  LaneOpened event{LaneId{lane}, window_bytes, window_chunks, chunk_bytes};
  event.receiver = ReceiverId{receiver};
  handle(event);
}

void World::connect(std::uint16_t receiver, std::uint64_t epoch, bool speaks_credits) {
  handle(ReceiverConnected{ReceiverId{receiver}, epoch, speaks_credits});
}

void World::grant(const SendDemand& asked, std::uint64_t limit, std::uint64_t window) {
  PeerGrant grant;
  grant.sender_epoch = asked.demand.sender_epoch;
  grant.receiver_epoch = asked.demand.receiver_epoch;
  grant.nonce = asked.demand.nonce;
  grant.pool = asked.demand.pool;
  grant.ttl_ms = 200;
  grant.limit = limit;
  grant.window = window;
  handle(GrantReceived{asked.receiver, grant});
}

void World::open_session(std::uint32_t session, std::uint32_t client, std::uint32_t slots,
                         std::uint32_t class_mask) {
  SessionOpened event;
  event.session = SessionId{session};
  event.client = ClientKey{client};
  event.class_mask = class_mask;
  event.slots = slots;
  event.limit = core.limits().client;
  open_session(event);
}

void World::open_session(const SessionOpened& event) {
  const std::uint32_t session = event.session.value();
  for (std::size_t c = 0; c < kMaxClasses; ++c) {
    granted[{session, c}] = consumed[{session, c}] = Amounts{};
  }
  next_slot_[session] = 0;
  slots_[session] = event.slots;
  handle(event);
}

OwnerSpec World::spec(std::uint32_t session, std::uint64_t length, std::uint16_t lane) {
  OwnerSpec spec;
  const std::uint32_t count = next_slot_[session]++;
  spec.slot = count % slots_[session];
  spec.slot_generation = count / slots_[session] + 1;
  spec.lane = LaneId{lane};
  spec.local_region = RegionIndex{1};
  spec.remote_region = RegionIndex{2};
  spec.length = length;
  return spec;
}

void World::submit(std::uint32_t session, ClassId cls, const std::vector<OwnerSpec>& specs) {
  Amounts& sum = consumed[{session, index_of(cls)}];
  for (const OwnerSpec& each : specs) {
    if (each.internal) continue;
    sum.owners += 1;
    sum.bytes += each.length;
    sum.extents += each.extents;
  }
  Submitted call;
  call.session = SessionId{session};
  call.cls = cls;
  call.owners = specs;
  handle(call);
}

void World::submit(std::uint32_t session, ClassId cls, std::uint64_t length, std::uint16_t lane) {
  submit(session, cls, {spec(session, length, lane)});
}

bool World::has_credit(std::uint32_t session, ClassId cls, const Amounts& amounts) const {
  const CreditKey key{session, index_of(cls)};
  const Amounts& has = granted.at(key);
  const Amounts& used = consumed.at(key);
  return used.owners + amounts.owners <= has.owners && used.bytes + amounts.bytes <= has.bytes &&
         used.extents + amounts.extents <= has.extents;
}

void World::end_chunk(const ChunkId& chunk, Reason reason, std::uint64_t bytes) {
  std::erase_if(in_flight, [&chunk](const DispatchChunk& each) { return each.chunk == chunk; });
  handle(ChunkEnded{chunk, bytes, reason});
}

void World::end_oldest(std::size_t count, Reason reason) {
  for (std::size_t i = 0; i < count; ++i) {
    TENTQ_CHECK(!in_flight.empty());
    const DispatchChunk chunk = in_flight.front();
    end_chunk(chunk.chunk, reason, reason == Reason::none ? chunk.length : 0);
  }
}

void World::end_all() {
  while (!in_flight.empty()) end_oldest();
}

void World::refuse_chunk(ChunkId chunk) {
  std::erase_if(in_flight, [&chunk](const DispatchChunk& each) { return each.chunk == chunk; });
  handle(ChunkRefused{chunk});
}

void World::lose_chunk(ChunkId chunk) {
  std::erase_if(in_flight, [&chunk](const DispatchChunk& each) { return each.chunk == chunk; });
  handle(ChunkLost{chunk});
}

void World::cancel(const OwnerId& owner) {
  for (const OwnerAdmitted& each : admitted) {
    if (each.owner != owner) continue;
    handle(CancelRequested{each.session, each.slot, each.slot_generation});
    return;
  }
  TENTQ_CHECK(false && "no such owner was admitted");
}

void World::want(std::uint32_t session, ClassId cls, const Amounts& wanted, bool waiting) {
  handle(
      CreditWanted{SessionId{session}, cls, wanted, consumed[{session, index_of(cls)}], waiting});
}

void World::close(std::uint32_t session) {
  for (std::size_t c = 0; c < kMaxClasses; ++c) {
    granted[{session, c}] = consumed[{session, c}] = Amounts{};
  }
  handle(SessionClosed{SessionId{session}});
}

OwnerState World::state_of(const OwnerId& id) const {
  const std::optional<OwnerView> view = core.find_owner(id);
  return view ? view->state : OwnerState::free;
}

}  // namespace tentq::core
