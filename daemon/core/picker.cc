// The turns of classes and clients under `wdrr`, and the simpler policies.
#include "daemon/core/picker.h"

#include <algorithm>
#include <bit>

#include "daemon/core/hash.h"

namespace tentq::core {

Picker::Picker(std::uint32_t clients, const Leaves* leaves, const Lanes* lanes,
               const OwnerTable* owners)
    : clients_(clients),
      leaves_(leaves),
      lanes_(lanes),
      owners_(owners),
      client_weights_(clients, 1),
      client_turns_(kMaxClasses * std::size_t{clients}) {}

void Picker::set_policy(Policy policy) {
  policy_ = policy;
  class_ = 1;
  last_lane_ = kMaxLanes - 1;
  class_turns_.fill(ClassTurn{});
  std::fill(client_turns_.begin(), client_turns_.end(), ClientTurn{});
}

void Picker::set_class_weights(const Limits& limits) {
  for (std::size_t c = 0; c < kMaxClasses; ++c) class_weights_[c] = limits.classes[c].weight;
}

void Picker::set_client_weight(std::uint32_t client, std::uint32_t weight) {
  client_weights_[client] = std::max(1u, weight);
}

// At least one chunk of any lane, so that a turn always serves one.
std::int64_t Picker::quantum(std::uint32_t weight) const {
  constexpr std::uint64_t kMostQuantum = std::uint64_t{1} << 62;
  const std::uint64_t chunk = lanes_->largest_chunk();
  return static_cast<std::int64_t>(weight > kMostQuantum / chunk ? kMostQuantum : weight * chunk);
}

bool Picker::pick(LeafKey* key) {
  constexpr std::uint32_t kInternalClass = index_of(ClassId::internal);
  if (!leaves_->lanes_of(kInternalClass).empty()) {
    const LaneSet ready = lanes_->ready_for_internal(leaves_->lanes_of(kInternalClass));
    if (!ready.empty()) {
      pick_client(kInternalClass, ready, key);
      return true;
    }
  }
  switch (policy_) {
    case Policy::direct:
    case Policy::fifo: return pick_by_arrival(key);
    case Policy::strict: return pick_strict(key);
    case Policy::wdrr: return pick_wdrr(key);
  }
  return false;
}

bool Picker::pick_strict(LeafKey* key) {
  const LaneSet& ready = lanes_->ready();
  for (std::uint32_t c = 1; c < kMaxClasses; ++c) {
    if (!leaves_->lanes_of(c).meets(ready)) continue;
    pick_client(c, ready, key);
    return true;
  }
  return false;
}

bool Picker::pick_wdrr(LeafKey* key) {
  const LaneSet& ready = lanes_->ready();
  if (ready.empty()) return false;
  // Most often the client whose turn it is has more, and may send it.
  if (class_turns_[class_].deficit > 0 && stays(class_, ready, key)) return true;
  if (class_turns_[class_].deficit <= 0 || !leaves_->lanes_of(class_).meets(ready)) {
    if (!next_class(ready)) return false;
  }
  pick_client(class_, ready, key);
  return true;
}

// Whether the turn stays with the client that has it.
bool Picker::stays(std::uint32_t cls, const LaneSet& ready, LeafKey* key) {
  const std::uint32_t client = class_turns_[cls].client;
  const ClientTurn& turn = turn_of(cls, client);
  if (turn.deficit <= 0 && leaves_->layout() == LeafLayout::by_client) return false;
  const std::uint32_t lane = leaves_->lanes_of(cls, client).next_common(ready, turn.last_lane);
  *key = {cls, client, lane};
  return lane != kNone;
}

// The turn goes to the next class that has an owner on a ready lane; false when none has.
bool Picker::next_class(const LaneSet& ready) {
  constexpr std::uint32_t kInternalBit = 1u << index_of(ClassId::internal);
  std::uint32_t able = leaves_->filled_classes() & ~kInternalBit;
  while (able != 0) {
    const std::uint32_t ahead = able & ~((2u << class_) - 1);
    class_ = static_cast<std::uint32_t>(std::countr_zero(ahead != 0 ? ahead : able));
    if (!leaves_->lanes_of(class_).meets(ready)) {
      able &= ~(1u << class_);
      continue;
    }
    const std::int64_t most = quantum(class_weights_[class_]);
    std::int64_t& deficit = class_turns_[class_].deficit;
    deficit = std::min(deficit + most, most);
    if (deficit > 0) return true;
  }
  return false;
}

void Picker::pick_client(std::uint32_t cls, const LaneSet& ready, LeafKey* key) {
  ClassTurn& turn = class_turns_[cls];
  if (leaves_->layout() == LeafLayout::by_arrival) turn.client = 0;
  while (!stays(cls, ready, key)) {
    turn.client = leaves_->next_client(cls, turn.client, ready);
    TENTQ_CHECK(turn.client != kNone);
    const std::int64_t most = quantum(client_weights_[turn.client]);
    std::int64_t& deficit = turn_of(cls, turn.client).deficit;
    deficit = std::min(deficit + most, most);
  }
}

bool Picker::pick_by_arrival(LeafKey* key) {
  LaneSet filled;
  for (std::uint32_t c = 1; c < kMaxClasses; ++c) filled.add_all(leaves_->lanes_of(c));
  const std::uint32_t lane = filled.next_common(lanes_->ready(), last_lane_);
  if (lane == kNone) return false;
  std::uint32_t first = kNone;
  std::uint64_t first_order = 0;
  for (std::uint32_t c = 1; c < kMaxClasses; ++c) {
    if (!leaves_->lanes_of(c).has(lane)) continue;
    const std::uint64_t order = (*owners_)[leaves_->leaf({c, 0, lane}).head].order;
    if (first == kNone || order < first_order) {
      first = c;
      first_order = order;
    }
  }
  *key = {first, 0, lane};
  return true;
}

void Picker::pay(const LeafKey& key, std::uint64_t bytes) {
  ClientTurn& client = turn_of(key.cls, key.client);
  client.last_lane = key.lane;
  last_lane_ = key.lane;
  if (policy_ == Policy::fifo || policy_ == Policy::direct) return;
  client.deficit -= static_cast<std::int64_t>(bytes);
  if (policy_ == Policy::wdrr && key.cls != index_of(ClassId::internal)) {
    class_turns_[key.cls].deficit -= static_cast<std::int64_t>(bytes);
  }
}

void Picker::left(const LeafKey& key) {
  if (leaves_->queued(key.cls) == 0) {
    class_turns_[key.cls].deficit = std::min<std::int64_t>(class_turns_[key.cls].deficit, 0);
  }
  if (leaves_->lanes_of(key.cls, key.client).empty()) {
    std::int64_t& deficit = turn_of(key.cls, key.client).deficit;
    deficit = std::min<std::int64_t>(deficit, 0);
  }
}

std::uint64_t Picker::hash(std::uint64_t seed) const {
  std::uint64_t hash =
      fold(fold(fold(seed, static_cast<std::uint64_t>(policy_)), class_), last_lane_);
  for (const ClassTurn& turn : class_turns_) {
    hash = fold(fold(hash, static_cast<std::uint64_t>(turn.deficit)), turn.client);
  }
  for (const ClientTurn& turn : client_turns_) {
    hash = fold(fold(hash, static_cast<std::uint64_t>(turn.deficit)), turn.last_lane);
  }
  return hash;
}

}  // namespace tentq::core
