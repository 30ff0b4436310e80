// What the model expects of what is in flight: windows, caps and reserves as they are written, each
// recomputed from the chunks; nothing that may go is left behind; the urgent goes first.
#include <rapidcheck.h>

#include <algorithm>
#include <optional>

#include "tests/core/model.h"

namespace tentq::core {
namespace {

constexpr std::size_t kFg = index_of(ClassId::foreground);

std::uint64_t beyond(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : 0;
}

}  // namespace

Model::LaneUse Model::use_of(std::uint16_t lane) const {
  LaneUse use;
  for (const auto& [id, owner] : owners_) {
    if (owner.spec.lane != LaneId{lane}) continue;
    for (const auto& [chunk, sent] : owner.flying) {
      use.bytes += sent.length;
      use.chunks += 1;
      use.of[index_of(owner.cls)] += sent.length;
      use.foreground_chunks += owner.cls == ClassId::foreground ? 1 : 0;
    }
  }
  return use;
}

std::uint64_t Model::in_flight_of(std::uint32_t client) const {
  std::uint64_t bytes = 0;
  for (const auto& [id, owner] : owners_) {
    if (client_of(owner.session) != client || owner.cls == ClassId::internal) continue;
    for (const auto& [chunk, sent] : owner.flying) bytes += sent.length;
  }
  return bytes;
}

std::uint64_t Model::cap_of(std::uint32_t client) const {
  const auto own = client_caps_.find(client);
  const std::uint64_t cap = own != client_caps_.end() && own->second != 0
                                ? own->second
                                : world_.core.limits().client_in_flight_bytes;
  return cap == 0 || !classes_count() ? ~std::uint64_t{0} : cap;
}

bool Model::classes_count() const {
  return world_.core.policy() == Policy::strict || world_.core.policy() == Policy::wdrr;
}

// Whatever is in flight may stay when a rule changes.
void Model::rules_changed() {
  for (auto& [l, shape] : lanes_) {
    const LaneUse use = use_of(l);
    shape.over = use.users();
    shape.over_of = use.of;
  }
  for (std::uint32_t client = 0; client < 4; ++client) client_over_[client] = in_flight_of(client);
}

// Whether a chunk of the class surely fits: the window has room for one of full length, because the
// class may have to wait for another one that is held.
bool Model::has_room(std::uint16_t lane, const LaneUse& use, std::size_t cls) const {
  const LaneShape& shape = lanes_.at(lane);
  if (shape.away) return false;
  if (world_.core.policy() == Policy::direct) return true;
  if (cls == 0 || !classes_count()) {
    return use.bytes + shape.largest <= shape.bytes && use.chunks < shape.chunks;
  }
  const Limits& limits = world_.core.limits();
  const ClassLimits& own = limits.classes[cls];
  std::uint64_t kept = 0;
  std::uint64_t left = shape.bytes - shape.largest;
  for (std::size_t c = 1; c < kMaxClasses; ++c) {
    const std::uint64_t reserve = std::min(limits.classes[c].reserve_bytes, left);
    left -= reserve;
    if (c != cls) kept += beyond(reserve, use.of[c]);
  }
  const std::uint64_t length =
      own.in_flight_bytes == 0 ? shape.largest : std::min(shape.largest, own.in_flight_bytes);
  if (own.in_flight_bytes != 0 && use.of[cls] + length > own.in_flight_bytes) return false;
  const std::uint64_t room = 2 * shape.largest;
  const std::uint32_t slots = std::max(2u, shape.chunks / 4);
  const std::uint64_t others = use.bytes - use.of[kFg];
  const std::uint32_t other_chunks = use.chunks - use.foreground_chunks;
  if (cls == kFg) {
    const std::uint64_t taken = use.of[kFg] + std::min(shape.bytes, others + kept);
    const std::uint32_t chunks = use.foreground_chunks + std::min(shape.chunks, other_chunks);
    return taken + shape.largest <= shape.bytes + room && chunks < shape.chunks + slots;
  }
  const std::uint32_t chunks =
      other_chunks + (use.foreground_chunks > slots ? use.foreground_chunks - slots : 0);
  return others + beyond(use.of[kFg], room) + kept + shape.largest <= shape.bytes &&
         chunks < shape.chunks;
}

bool Model::waits(const OwnerId& id, const Owner& owner) const {
  if (!owner.routed || owner.todo.empty()) return false;
  const std::optional<OwnerView> view = world_.core.find_owner(id);
  return view && view->state != OwnerState::draining;
}

// Its lane, class, client and receiver have room for any chunk of it.
bool Model::may_go(const Owner& owner, const LaneUse& use) const {
  const std::uint16_t lane = owner.spec.lane.value();
  if (!receiver_has_room(owner)) return false;
  if (!has_room(lane, use, index_of(owner.cls))) return false;
  if (owner.cls == ClassId::internal) return true;
  // Its client may be held for a chunk of another lane.
  std::uint64_t largest = 0;
  for (const auto& [l, shape] : lanes_) largest = std::max(largest, shape.largest);
  const std::uint64_t cap = cap_of(client_of(owner.session));
  return in_flight_of(client_of(owner.session)) + std::min(cap, largest) <= cap;
}

// No window, cap or reserve is exceeded, and nothing that may go is left behind.
void Model::check_lanes() const {
  std::map<LaneId, LaneUse> uses;
  for (const auto& [l, shape] : lanes_) {
    const LaneUse use = uses[LaneId{l}] = use_of(l);
    const LaneTotals totals = world_.core.lane_totals(LaneId{l});
    RC_ASSERT(totals.in_flight_bytes == use.bytes && totals.in_flight_chunks == use.chunks);
    check_flight(l, use);
  }
  for (const auto& [id, owner] : owners_) {
    if (!owner.routed || owner.todo.empty()) continue;
    if (!may_go(owner, uses.at(owner.spec.lane)) || !waits(id, owner)) continue;
    const WaitCause cause = world_.core.explain(id)->cause;
    if (cause == WaitCause::backoff) continue;
    const LaneUse& use = uses.at(owner.spec.lane);
    const LaneShape& shape = lanes_.at(owner.spec.lane.value());
    RC_LOG() << "cause " << static_cast<int>(cause) << ", policy "
             << static_cast<int>(world_.core.policy()) << ", class " << index_of(owner.cls)
             << ", lane " << owner.spec.lane.value() << ": " << use.bytes << " of " << shape.bytes
             << " (S " << shape.largest << "), " << use.chunks << " of " << shape.chunks
             << " chunks\n";
    RC_FAIL("left behind");
  }
}

void Model::check_flight(std::uint16_t lane, const LaneUse& use) const {
  const LaneShape& shape = lanes_.at(lane);
  if (world_.core.policy() == Policy::direct) return;
  if (!classes_count()) {
    RC_ASSERT(use.users() <= std::max(shape.bytes, shape.over));
    return;
  }
  const std::uint64_t room = 2 * shape.largest;
  const std::uint64_t shared = use.users() - use.of[kFg] + beyond(use.of[kFg], room);
  RC_ASSERT(shared <= std::max(shape.bytes, shape.over));
  RC_ASSERT(use.users() <= std::max(shape.bytes, shape.over) + room);
  for (std::size_t c = 1; c < kMaxClasses; ++c) {
    const std::uint64_t cap = world_.core.limits().classes[c].in_flight_bytes;
    RC_ASSERT(cap == 0 || use.of[c] <= std::max(cap, shape.over_of[c]));
  }
}

void Model::check_clients() const {
  for (std::uint32_t client = 0; client < 3; ++client) {
    const auto over = client_over_.find(client);
    const std::uint64_t before = over == client_over_.end() ? 0 : over->second;
    RC_ASSERT(in_flight_of(client) <= std::max(cap_of(client), before));
  }
}

// Nobody goes before a more urgent class that may go on the same lane, where urgency decides.
void Model::check_urgency(const Owner& owner) const {
  const Limits& limits = world_.core.limits();
  const Policy policy = world_.core.policy();
  if (!classes_count() || limits.age_max.count() != 0) return;
  std::optional<LaneUse> use;
  for (const auto& [id, other] : owners_) {
    if (other.spec.lane != owner.spec.lane || other.cls >= owner.cls) continue;
    const bool decides = other.cls == ClassId::internal || policy == Policy::strict ||
                         limits.classes[index_of(other.cls)].strict;
    if (!decides || !waits(id, other)) continue;
    if (!use) use = use_of(owner.spec.lane.value());
    if (!may_go(other, *use)) continue;
    RC_ASSERT(world_.core.explain(id)->cause == WaitCause::backoff);
  }
}

}  // namespace tentq::core
