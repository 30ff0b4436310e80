// Operations of the model, and what must hold after each.
#include "tests/core/model.h"

#include <rapidcheck.h>

#include <algorithm>

namespace tentq::core {
namespace {

constexpr std::uint32_t kSessions = 6;
constexpr std::uint32_t kInternalSession = 7;
constexpr std::uint32_t kLanes = 3;
constexpr std::uint64_t kHostOwners = 60;
constexpr std::uint64_t kHostBytes = 4 * kMiB;
constexpr std::uint64_t kChunk = 16 * kKiB;

WorldShape shape_of(std::uint64_t seed) {
  WorldShape shape;
  shape.limits = small_limits(kHostOwners, kHostBytes);
  shape.limits.internal_reserve = {6, 256 * kKiB, 40};
  shape.limits.client = {40, 3 * kMiB, 300};
  shape.limits.classes[index_of(ClassId::background)].outstanding = {30, 2 * kMiB, 200};
  shape.limits.classes[index_of(ClassId::foreground)].weight = 4;
  shape.limits.largest_owner_bytes = kMiB;
  shape.limits.largest_call_owners = 8;
  shape.maxima = {64, 8, 4, 4};
  shape.seed = seed;
  shape.credits.epoch = 7;
  shape.credits.receivers = 2;
  shape.credits.rules.chunk_bytes = kChunk;
  shape.credits.rules.legacy_bytes = shape.credits.rules.boot_bytes = 4 * kChunk;
  return shape;
}

ClassId class_from(std::uint32_t n) {
  return static_cast<ClassId>(1 + n % 4);
}

Amounts sum_of(const std::vector<OwnerSpec>& specs) {
  Amounts sum;
  for (const OwnerSpec& spec : specs) {
    sum.owners += 1;
    sum.bytes += spec.length;
    sum.extents += spec.extents;
  }
  return sum;
}

bool within(const Amounts& a, const Amounts& b) {
  return a.owners <= b.owners && a.bytes <= b.bytes && a.extents <= b.extents;
}

Amounts plus(Amounts a, const Amounts& b) {
  a.owners += b.owners;
  a.bytes += b.bytes;
  a.extents += b.extents;
  return a;
}

constexpr Amounts kAsAll{kAsAllClients, kAsAllClients, kAsAllClients};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Step& op) {
  return out << "{" << static_cast<int>(op.kind) << ", " << op.a << ", " << op.b << ", " << op.c
             << "}";
}

Model::Model(std::uint64_t seed) : world_(shape_of(seed)) {
  for (std::uint16_t l = 0; l < kLanes; ++l) {
    const std::uint64_t bytes = (4 + 4 * std::uint64_t{l}) * kChunk;
    world_.open_lane(l, bytes, 6, kChunk);
    if (l != 0) world_.open_lane_to(0, l, bytes, kChunk, 6);
    lanes_[l] = {bytes, 6, kChunk, 0, {}};
  }
  for (std::uint32_t s = 0; s < kSessions; ++s) world_.open_session(s, client_of(s), 24);
  world_.open_session(kInternalSession, 3, 24, bit_of(ClassId::internal));
  world_.connect(0, receiver_epoch_);
  follow();
}

void Model::mix(std::uint64_t value) {
  trace_ = (trace_ ^ value) * 0x9e37'79b9'7f4a'7c15ull + 1;
}

OwnerSpec Model::make_spec(const Step& op, std::uint64_t length) {
  OwnerSpec spec = world_.spec(op.a % kSessions, length, static_cast<std::uint16_t>(op.c % kLanes));
  spec.extents = 1 + op.b % 3;
  if (op.c % 7 == 0) spec.deadline = Duration{std::chrono::milliseconds{1 + op.b % 40}};
  if (op.c % 11 == 0) spec.max_queue_wait = Duration{std::chrono::milliseconds{1 + op.b % 20}};
  return spec;
}

void Model::apply(const Step& op) {
  const std::uint32_t session = op.a % kSessions;
  const ClassId cls = class_from(op.b);
  switch (op.kind) {
    case StepKind::submit: submit(session, cls, {make_spec(op, 1 + op.c * 37 % (8 * kKiB))}); break;
    case StepKind::submit_large: submit(session, cls, {make_spec(op, 1 + op.c % kMiB)}); break;
    case StepKind::submit_call: {
      std::vector<OwnerSpec> specs;
      for (std::uint32_t i = 0; i <= op.c % 9; ++i) specs.push_back(make_spec(op, 1 + op.c % 5000));
      submit(session, cls, specs);
      break;
    }
    case StepKind::submit_unrouted: {
      OwnerSpec spec = make_spec(op, 1 + op.c % 40'000);
      spec.lane = LaneId{};
      submit(session, cls, {spec});
      break;
    }
    case StepKind::submit_internal: {
      OwnerSpec spec =
          world_.spec(kInternalSession, 1 + op.b % 9000, static_cast<std::uint16_t>(op.c % kLanes));
      spec.internal = true;
      submit(kInternalSession, ClassId::internal, {spec});
      break;
    }
    case StepKind::end_chunk: end(op, op.b % 16 != 0); break;
    case StepKind::end_chunk_well: end(op, true); break;
    case StepKind::fail_chunk: end(op, false); break;
    case StepKind::refuse_chunk: refuse(op); break;
    case StepKind::lose_chunk: lose(op); break;
    case StepKind::way: change_way(op); break;
    case StepKind::cancel: cancel(op); break;
    case StepKind::route: route(op); break;
    case StepKind::stale: stale(op); break;
    case StepKind::wish:
    case StepKind::wait:
      world_.want(session, cls, {1 + op.c % 8, op.c % 300'000, 1 + op.c % 20},
                  op.kind == StepKind::wait);
      break;
    case StepKind::advance: world_.advance(Duration{std::int64_t{op.c} * 1000}); break;
    case StepKind::window:
    case StepKind::policy:
    case StepKind::weights:
    case StepKind::caps:
    case StepKind::client:
    case StepKind::age:
    case StepKind::drain:
    case StepKind::resume: change(op); break;
    case StepKind::reopen: reopen(op); break;
    case StepKind::grant: grant(op); break;
    case StepKind::connect: connect(op); break;
  }
  // What is due is done before the next step, as the shell does it.
  while (world_.core.next_deadline() && *world_.core.next_deadline() <= world_.now) {
    follow();
    world_.handle(Tick{});
  }
  follow();
  // Most often the receiver is quick, and has what is asked for.
  if (op.b % 4 != 0 && !asked_.empty()) grant({StepKind::grant, 1, 0, 1 + op.c % (1u << 17)});
  follow();
}

void Model::submit(std::uint32_t session, ClassId cls, std::vector<OwnerSpec> specs) {
  // A slot that is still in use would be refused; the library never does that.
  const auto busy = [this, session](const OwnerSpec& spec) {
    return std::any_of(owners_.begin(), owners_.end(), [&](const auto& each) {
      return each.second.session == session && each.second.spec.slot == spec.slot;
    });
  };
  std::erase_if(specs, busy);
  const Amounts sum = sum_of(specs);
  if (cls != ClassId::internal && !specs.empty() && !world_.has_credit(session, cls, sum)) {
    // As a caller does: states its wish, and mostly gives up when that did not help.
    world_.want(session, cls, sum, specs.size() % 2 == 0);
    if (!world_.has_credit(session, cls, sum) && specs[0].length % 4 != 0) return;
    follow();
  }
  for (const OwnerSpec& spec : specs) pending_[{session, spec.slot}] = {spec, cls};
  submitted_ += specs.size();
  const bool had_credit = cls == ClassId::internal || world_.has_credit(session, cls, sum);
  const Amounts consumed = world_.consumed[{session, index_of(cls)}];
  const std::uint64_t before = world_.core.state_hash();
  world_.submit(session, cls, specs);
  if (!had_credit) world_.consumed[{session, index_of(cls)}] = consumed;  // it undoes what it took
  expect_verdict(session, cls, specs, before);
}

void Model::expect_verdict(std::uint32_t session, ClassId cls, const std::vector<OwnerSpec>& specs,
                           std::uint64_t hash_before) {
  if (specs.empty()) return;
  const Limits& limits = world_.core.limits();
  const bool refused = world_.admitted.empty();
  const Amounts sum = sum_of(specs);
  const bool to_nowhere = std::any_of(specs.begin(), specs.end(), [this](const OwnerSpec& spec) {
    return spec.lane.valid() && is_given_up(spec.lane);
  });
  if (!refused) {
    RC_ASSERT(world_.admitted.size() == specs.size() && !to_nowhere);
    return;
  }
  // Refused whole, told at once, and nothing that decides has changed.
  RC_ASSERT(world_.core.state_hash() == hash_before);
  RC_ASSERT(world_.ended.size() >= specs.size());
  const Reason reason = world_.ended[0].reason;
  const Amounts own = limit_of(client_of(session));
  const bool never = specs.size() > limits.largest_call_owners || !within(sum, own) ||
                     !within(sum, limits.classes[index_of(cls)].outstanding);
  // A daemon that drains looks at no limit.
  if (never && reason != Reason::draining) RC_ASSERT(!may_retry(reason));
  if (world_.core.draining() || never) return;
  RC_ASSERT(to_nowhere == (reason == Reason::peer_lost));
  if (to_nowhere) return;
  if (cls == ClassId::internal) {
    // Internal work is refused only beyond its reserve.
    Amounts internal;
    for (const auto& [id, owner] : owners_) {
      if (owner.session == session) internal = plus(internal, sum_of({owner.spec}));
    }
    RC_ASSERT(!within(plus(internal, sum), limits.internal_reserve));
    return;
  }
  // With credit, and no limit lowered, a call that is well formed is admitted.
  if (reason == Reason::over_limit) {
    RC_ASSERT(!within(plus(outstanding_of(client_of(session)), sum), own));
  } else {
    RC_ASSERT(reason == Reason::over_credit);
  }
}

void Model::end(const Step& op, bool well) {
  if (!has_work()) return;
  const DispatchChunk chunk = world_.in_flight[op.a % world_.in_flight.size()];
  const Owner& owner = owners_.at(chunk.chunk.owner);
  RC_ASSERT(owner.flying.contains(chunk.chunk));
  dead_.insert(chunk.chunk);
  owners_.at(chunk.chunk.owner).flying.erase(chunk.chunk);
  world_.end_chunk(chunk.chunk, well ? Reason::none : Reason::memory_fault, op.b % 100);
}

// A chunk goes back to what its owner has to do. False if there is none.
bool Model::take_back(const Step& op, ChunkId* id) {
  if (!has_work()) return false;
  const DispatchChunk chunk = world_.in_flight[op.a % world_.in_flight.size()];
  Owner& owner = owners_.at(chunk.chunk.owner);
  owner.flying.erase(chunk.chunk);
  owner.todo[chunk.local_offset] = chunk.length;
  dead_.insert(chunk.chunk);
  *id = chunk.chunk;
  return true;
}

void Model::refuse(const Step& op) {
  ChunkId id;
  if (take_back(op, &id)) world_.refuse_chunk(id);
}

void Model::lose(const Step& op) {
  ChunkId id;
  if (take_back(op, &id)) world_.lose_chunk(id);
}

bool Model::is_given_up(LaneId lane) const {
  const LaneShape& shape = lanes_.at(lane.value());
  return shape.away && world_.now >= shape.away_since + world_.core.limits().route_budget;
}

void Model::change_way(const Step& op) {
  const std::uint16_t l = static_cast<std::uint16_t>(op.a % kLanes);
  LaneShape& lane = lanes_[l];
  const bool away = op.b % 3 == 0;
  if (away && !lane.away) lane.away_since = world_.now;
  lane.away = away;
  if (away) {
    world_.handle(LaneAway{LaneId{l}});
  } else {
    world_.handle(LaneBack{LaneId{l}});
  }
}

void Model::cancel(const Step& op) {
  if (owners_.empty()) return;
  auto it = owners_.begin();
  std::advance(it, op.a % owners_.size());
  const Owner& owner = it->second;
  const std::uint32_t generation = owner.spec.slot_generation + (op.b % 8 == 0 ? 1 : 0);
  world_.handle(CancelRequested{SessionId{owner.session}, owner.spec.slot, generation});
}

void Model::route(const Step& op) {
  if (unrouted_.empty()) return;
  const std::size_t at = op.a % unrouted_.size();
  const OwnerId id = unrouted_[at];
  unrouted_.erase(unrouted_.begin() + static_cast<std::ptrdiff_t>(at));
  if (op.b % 5 == 0) {
    world_.handle(RouteFailed{id, Reason::peer_lost});
    return;
  }
  const LaneId lane{static_cast<std::uint16_t>(op.c % kLanes)};
  const auto it = owners_.find(id);
  if (it != owners_.end()) {
    it->second.routed = true;
    it->second.order = order_++;
    it->second.spec.lane = lane;
  }
  world_.handle(RouteResolved{id, lane, RegionIndex{2}, 0});
}

void Model::stale(const Step& op) {
  ChunkId id{{op.a % 80, op.b % 4}, op.c % 4, op.b % 80};
  if (!dead_.empty() && op.a % 2 == 0) {
    auto it = dead_.begin();
    std::advance(it, op.b % dead_.size());
    id = *it;
  }
  for (const DispatchChunk& chunk : world_.in_flight) {
    if (chunk.chunk == id) return;
  }
  const std::uint64_t before = world_.core.state_hash();
  world_.handle(ChunkEnded{id, op.c, op.c % 2 == 0 ? Reason::none : Reason::memory_fault});
  world_.handle(ChunkRefused{id});
  world_.handle(ChunkLost{id});
  RC_ASSERT(world_.core.state_hash() == before);
}

void Model::reopen(const Step& op) {
  const std::uint32_t session = op.a % kSessions;
  world_.close(session);
  // Its chunks come back, and it is quiet.
  while (world_.quiet.empty()) {
    const auto it = std::find_if(
        world_.in_flight.begin(), world_.in_flight.end(),
        [session](const DispatchChunk& chunk) { return chunk.session == SessionId{session}; });
    RC_ASSERT(it != world_.in_flight.end());
    const ChunkId id = it->chunk;
    follow();
    owners_.at(id.owner).flying.erase(id);
    dead_.insert(id);
    world_.end_chunk(id, Reason::canceled);
  }
  follow();
  for (const auto& [id, owner] : owners_) RC_ASSERT(owner.session != session);
  rules_changed();
  client_caps_[client_of(session)] = 0;  // what its session brings along
  limit_client(client_of(session), kAsAll);
  world_.open_session(session, client_of(session), 24);
}

void Model::change(const Step& op) {
  if (op.kind == StepKind::drain) {
    world_.handle(DrainRequested{});
  } else if (op.kind == StepKind::resume) {
    world_.handle(ResumeRequested{});
  } else if (op.kind == StepKind::policy) {
    rules_changed();
    const Policy policies[] = {Policy::fifo, Policy::strict, Policy::wdrr, Policy::direct};
    RC_ASSERT(world_.core.set_policy(policies[op.a % 4]) == StatusCode::ok);
    world_.take_effects();
  } else if (op.kind == StepKind::client) {
    rules_changed();
    const std::uint32_t client = op.a % (kSessions / 2);
    client_caps_[client] = op.b % 3 == 0 ? 0 : (1 + op.b % 10) * 4 * kKiB;
    const Amounts own{4 + op.b % 50, op.a % 5 == 0 ? kAsAllClients : 64 * kKiB + op.b % (4 * kMiB),
                      kAsAllClients};
    limit_client(client, op.c % 3 == 0 ? own : kAsAll);
    world_.handle(ClientChanged{ClientKey{client}, 1 + op.c % 5, client_caps_[client],
                                client_limits_[client]});
  } else if (op.kind == StepKind::window) {
    change_window(op);
  } else {
    rules_changed();
    change_limits(op);
  }
}

void Model::change_limits(const Step& op) {
  Limits limits = world_.core.limits();
  ClassLimits& cls = limits.classes[1 + op.a % 4];
  if (op.kind == StepKind::weights) {
    cls.weight = 1 + op.b % 9;
    cls.strict = op.c % 4 == 0;
  } else if (op.kind == StepKind::caps) {
    cls.in_flight_bytes = op.b % 3 == 0 ? 0 : (1 + op.b % 16) * 4 * kKiB;
    cls.reserve_bytes = op.c % 3 == 0 ? 0 : (op.c % 9) * 8 * kKiB;
    limits.client_in_flight_bytes = op.c % 4 == 0 ? (1 + op.c % 20) * 4 * kKiB : 0;
  } else {
    limits.age_max = Duration{std::chrono::milliseconds{op.b % 3 * 2}};
  }
  RC_ASSERT(world_.core.set_limits(limits, nullptr) == StatusCode::ok);
  world_.take_effects();
}

void Model::change_window(const Step& op) {
  const std::uint16_t l = static_cast<std::uint16_t>(op.a % kLanes);
  LaneShape& lane = lanes_[l];
  rules_changed();
  lane.bytes = (1 + op.b % 12) * 8 * kKiB;
  lane.chunks = 1 + op.c % 8;
  lane.largest = std::min<std::uint64_t>(kChunk, lane.bytes);
  world_.handle(LaneWindowChanged{LaneId{l}, lane.bytes, lane.chunks, kChunk});
}

void Model::finish() {
  world_.handle(ResumeRequested{});
  for (std::uint32_t s = 0; s < kSessions; ++s) {
    world_.close(s);
    follow();
  }
  world_.close(kInternalSession);
  follow();
  while (has_work()) {
    end({StepKind::end_chunk, 0, 0, 0}, true);
    follow();
  }
  RC_ASSERT(owners_.empty() && pending_.empty());
  RC_ASSERT(told_ == submitted_);
  RC_ASSERT(world_.core.outstanding() == Amounts{});
  for (std::uint16_t l = 0; l < kLanes; ++l) {
    RC_ASSERT(world_.core.lane_totals(LaneId{l}).in_flight_bytes == 0u);
    RC_ASSERT(world_.core.lane_totals(LaneId{l}).queued_bytes == 0u);
  }
}

}  // namespace tentq::core
