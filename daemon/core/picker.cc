// The turns of classes, clients and sessions under `wdrr`, and the simpler policies.
#include "daemon/core/picker.h"

#include <algorithm>
#include <bit>

#include "daemon/core/hash.h"

namespace tentq::core {
namespace {

constexpr std::uint64_t kMostQuantum = std::uint64_t{1} << 62;
constexpr std::uint32_t kInternalClass = index_of(ClassId::internal);

}  // namespace

Picker::Picker(const HardMaxima& maxima, const Leaves* leaves, const Lanes* lanes,
               const OwnerTable* owners)
    : clients_(maxima.clients),
      sessions_(maxima.sessions),
      leaves_(leaves),
      lanes_(lanes),
      owners_(owners),
      aging_(maxima.sessions, maxima.lanes, leaves, lanes, owners),
      client_weights_(maxima.clients, 1),
      client_turns_(kMaxClasses * std::size_t{maxima.clients}),
      session_turns_(kMaxClasses * std::size_t{maxima.sessions}) {
  class_weights_.fill(1);
}

void Picker::set_policy(Policy policy) {
  policy_ = policy;
  class_ = 1;
  last_lane_ = kMaxLanes - 1;
  class_turns_.fill(ClassTurn{});
  std::fill(client_turns_.begin(), client_turns_.end(), ClientTurn{});
  std::fill(session_turns_.begin(), session_turns_.end(), SessionTurn{});
  aging_.clear();
  for (std::uint32_t c = 1; c < kMaxClasses; ++c) {
    leaves_->for_each_leaf(c, [this](const LeafKey& key) {
      aging_.entered(key, (*owners_)[leaves_->leaf(key).head].enqueued_ns);
    });
  }
}

void Picker::set_limits(const Limits& limits) {
  aging_.set_age_max(limits.age_max.count());
  strict_ = 0;
  for (std::uint32_t c = 1; c < kMaxClasses; ++c) {
    std::int64_t& deficit = class_turns_[c].deficit;
    deficit = reweighed(deficit, class_weights_[c], limits.classes[c].weight);
    class_weights_[c] = limits.classes[c].weight;
    if (!limits.classes[c].strict) continue;
    strict_ |= 1u << c;
    deficit = 0;
  }
}

void Picker::set_client_weight(std::uint32_t client, std::uint32_t weight) {
  weight = std::max(1u, weight);
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    std::int64_t& deficit = turn_of(c, client).deficit;
    deficit = reweighed(deficit, client_weights_[client], weight);
  }
  client_weights_[client] = weight;
}

void Picker::forget_session(std::uint32_t session) {
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) session_turn(c, session) = {};
}

// At least one chunk of any lane, so that a turn always serves one.
std::int64_t Picker::quantum(std::uint32_t weight) const {
  const std::uint64_t chunk = lanes_->largest_chunk();
  return static_cast<std::int64_t>(weight > kMostQuantum / chunk ? kMostQuantum : weight * chunk);
}

// The same part of a round: shares are counted in bytes / weight, so a change of weight neither
// gives nor takes any.
std::int64_t Picker::reweighed(std::int64_t deficit, std::uint32_t from, std::uint32_t to) const {
  if (from == to || deficit == 0) return deficit;
  const std::int64_t most = quantum(to);
  const std::uint64_t size = static_cast<std::uint64_t>(deficit < 0 ? -deficit : deficit);
  std::uint64_t scaled =
      size / from > kMostQuantum / to ? kMostQuantum : size / from * to + size % from * to / from;
  scaled = std::min(scaled, static_cast<std::uint64_t>(most));
  return deficit < 0 ? -static_cast<std::int64_t>(scaled) : static_cast<std::int64_t>(scaled);
}

bool Picker::pick(std::int64_t now_ns, LeafKey* key) {
  early_ = false;
  if (!leaves_->lanes_of(kInternalClass).empty()) {
    const LaneSet ready = lanes_->ready_for_internal(leaves_->lanes_of(kInternalClass));
    if (!ready.empty()) {
      pick_client(kInternalClass, ready, key);
      return true;
    }
  }
  if (!pick_users(key)) return false;
  if (knows_age() && aging_.is_due(key->lane, now_ns)) {
    LeafKey old;
    // The lane is what is scarce: an old head takes the turn of another one of the same lane.
    if (aging_.pick(key->lane, now_ns, &old) &&
        leaves_->index_of_leaf(old) != leaves_->index_of_leaf(*key)) {
      early_ = true;
      *key = old;
    }
  }
  return true;
}

bool Picker::pick_users(LeafKey* key) {
  switch (policy_) {
    case Policy::direct:
    case Policy::fifo: return pick_by_arrival(key);
    case Policy::strict: return pick_in_order(leaves_->filled_classes() & kClientClassMask, key);
    case Policy::wdrr: return pick_wdrr(key);
  }
  return false;
}

bool Picker::pick_in_order(std::uint32_t classes, LeafKey* key) {
  for (std::uint32_t bits = classes; bits != 0; bits &= bits - 1) {
    const std::uint32_t cls = static_cast<std::uint32_t>(std::countr_zero(bits));
    if (!has_ready(cls)) continue;
    pick_client(cls, lanes_->ready(cls), key);
    return true;
  }
  return false;
}

bool Picker::pick_wdrr(LeafKey* key) {
  if (strict_ != 0 && pick_in_order(strict_, key)) return true;
  // Most often the client whose turn it is has more, and may send it.
  if (class_turns_[class_].deficit > 0 && stays(class_, lanes_->ready(class_), key)) return true;
  if (class_turns_[class_].deficit <= 0 || !has_ready(class_)) {
    if (!next_class()) return false;
  }
  pick_client(class_, lanes_->ready(class_), key);
  return true;
}

// Whether the turn stays with the client that has it: with its session, or with the next of them.
bool Picker::stays(std::uint32_t cls, const LaneSet& ready, LeafKey* key) {
  const std::uint32_t client = class_turns_[cls].client;
  ClientTurn& turn = turn_of(cls, client);
  if (leaves_->layout() == LeafLayout::by_arrival) {
    *key = {cls, 0, 0,
            leaves_->lanes_of(cls, 0).next_common(ready, session_turn(cls, 0).last_lane)};
    return key->lane != kNone;
  }
  if (turn.deficit <= 0 || leaves_->is_hidden(cls, client)) return false;
  SessionTurn* each = &session_turn(cls, turn.session);
  std::uint32_t lane = kNone;
  if (each->deficit > 0 && leaves_->has_session(cls, client, turn.session)) {
    lane = leaves_->lanes_of_session(cls, turn.session).next_common(ready, each->last_lane);
  }
  while (lane == kNone) {
    const std::uint32_t next = leaves_->next_session(cls, client, turn.session, ready);
    if (next == kNone) return false;
    turn.session = next;
    each = &session_turn(cls, next);
    const auto most = static_cast<std::int64_t>(lanes_->largest_chunk());
    each->deficit = std::min(each->deficit + most, most);
    if (each->deficit <= 0) continue;
    lane = leaves_->lanes_of_session(cls, next).next_common(ready, each->last_lane);
  }
  *key = {cls, client, turn.session, lane};
  return true;
}

// The turn goes to the next class that shares and has an owner on a ready lane; false when none
// has.
bool Picker::next_class() {
  std::uint32_t able = leaves_->filled_classes() & ~strict_ & kClientClassMask;
  while (able != 0) {
    const std::uint32_t ahead = able & ~((2u << class_) - 1);
    class_ = static_cast<std::uint32_t>(std::countr_zero(ahead != 0 ? ahead : able));
    if (!has_ready(class_)) {
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
    const std::uint64_t order = (*owners_)[leaves_->leaf({c, 0, 0, lane}).head].order;
    if (first == kNone || order < first_order) {
      first = c;
      first_order = order;
    }
  }
  *key = {first, 0, 0, lane};
  return true;
}

void Picker::pay(const LeafKey& key, std::uint64_t bytes) {
  const auto length = static_cast<std::int64_t>(bytes);
  last_lane_ = key.lane;
  SessionTurn& session = session_turn(key.cls, key.session);
  session.last_lane = key.lane;
  if (!knows_age()) return;
  aging_.served(key.lane, bytes, early_);
  if (early_) {
    pay_early(key, length);
    return;
  }
  session.deficit -= length;
  turn_of(key.cls, key.client).deficit -= length;
  const bool shares = policy_ == Policy::wdrr && key.cls != kInternalClass;
  if (shares && (strict_ >> key.cls & 1u) == 0) class_turns_[key.cls].deficit -= length;
}

// What goes before its turn is paid for too, but nobody gets into debt for more than a round: a
// class or client without turns of its own would never come out of it.
void Picker::pay_early(const LeafKey& key, std::int64_t bytes) {
  const auto charge = [bytes](std::int64_t& deficit, std::int64_t most) {
    deficit = std::max(deficit - bytes, std::min(deficit, -most));
  };
  charge(session_turn(key.cls, key.session).deficit, quantum(1));
  charge(turn_of(key.cls, key.client).deficit, quantum(client_weights_[key.client]));
  if (policy_ == Policy::wdrr && (strict_ >> key.cls & 1u) == 0) {
    charge(class_turns_[key.cls].deficit, quantum(class_weights_[key.cls]));
  }
}

void Picker::left(const LeafKey& key) {
  const auto drop_savings = [](std::int64_t& deficit) {
    deficit = std::min<std::int64_t>(deficit, 0);
  };
  if (leaves_->queued(key.cls) == 0) drop_savings(class_turns_[key.cls].deficit);
  if (leaves_->lanes_of(key.cls, key.client).empty()) {
    drop_savings(turn_of(key.cls, key.client).deficit);
  }
  if (leaves_->lanes_of_session(key.cls, key.session).empty()) {
    drop_savings(session_turn(key.cls, key.session).deficit);
  }
}

std::uint64_t Picker::hash(std::uint64_t seed) const {
  std::uint64_t hash =
      fold(fold(fold(seed, static_cast<std::uint64_t>(policy_)), class_), last_lane_);
  for (const ClassTurn& turn : class_turns_) {
    hash = fold(fold(hash, static_cast<std::uint64_t>(turn.deficit)), turn.client);
  }
  for (const ClientTurn& turn : client_turns_) {
    hash = fold(fold(hash, static_cast<std::uint64_t>(turn.deficit)), turn.session);
  }
  for (const SessionTurn& turn : session_turns_) {
    hash = fold(fold(hash, static_cast<std::uint64_t>(turn.deficit)), turn.last_lane);
  }
  return aging_.hash(hash);
}

}  // namespace tentq::core
