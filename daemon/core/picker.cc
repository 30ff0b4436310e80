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
      lane_count_(maxima.lanes),
      leaves_(leaves),
      lanes_(lanes),
      owners_(owners),
      aging_(maxima.sessions, maxima.lanes, leaves, lanes, owners),
      client_weights_(maxima.clients, 1),
      turns_(maxima.lanes),
      client_turns_(kMaxClasses * std::size_t{maxima.clients} * maxima.lanes),
      session_deficits_(kMaxClasses * std::size_t{maxima.sessions} * maxima.lanes) {
  class_weights_.fill(1);
}

void Picker::set_policy(Policy policy) {
  policy_ = policy;
  last_lane_ = kMaxLanes - 1;
  std::fill(turns_.begin(), turns_.end(), LaneTurns{});
  std::fill(client_turns_.begin(), client_turns_.end(), ClientTurn{});
  std::fill(session_deficits_.begin(), session_deficits_.end(), 0);
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
    if (limits.classes[c].strict) strict_ |= 1u << c;
    for (std::uint32_t lane = 0; lane < lane_count_; ++lane) {
      const std::int64_t deficit = reweighed(turns_[lane].classes[c].deficit, lane,
                                             class_weights_[c], limits.classes[c].weight);
      set_class_deficit(lane, c, is_strict(c) ? 0 : deficit);
    }
    class_weights_[c] = limits.classes[c].weight;
  }
}

void Picker::set_client_weight(std::uint32_t client, std::uint32_t weight) {
  weight = std::max(1u, weight);
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    for (std::uint32_t lane = 0; lane < lane_count_; ++lane) {
      std::int64_t& deficit = turn_of(c, client, lane).deficit;
      deficit = reweighed(deficit, lane, client_weights_[client], weight);
    }
  }
  client_weights_[client] = weight;
}

void Picker::forget_session(std::uint32_t session) {
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    for (std::uint32_t lane = 0; lane < lane_count_; ++lane) {
      session_deficit({c, 0, session, lane}) = 0;
    }
  }
}

// At least one chunk of the lane, so that a turn always serves one.
std::int64_t Picker::quantum(std::uint32_t lane, std::uint32_t weight) const {
  const std::uint64_t chunk = std::max<std::uint64_t>(1, (*lanes_)[lane].largest_chunk);
  return static_cast<std::int64_t>(weight > kMostQuantum / chunk ? kMostQuantum : weight * chunk);
}

// The same part of a round: shares are counted in bytes / weight, so a change of weight neither
// gives nor takes any.
std::int64_t Picker::reweighed(std::int64_t deficit, std::uint32_t lane, std::uint32_t from,
                               std::uint32_t to) const {
  if (from == to || deficit == 0) return deficit;
  const std::int64_t most = quantum(lane, to);
  const std::uint64_t size = static_cast<std::uint64_t>(deficit < 0 ? -deficit : deficit);
  std::uint64_t scaled =
      size / from > kMostQuantum / to ? kMostQuantum : size / from * to + size % from * to / from;
  scaled = std::min(scaled, static_cast<std::uint64_t>(most));
  return deficit < 0 ? -static_cast<std::int64_t>(scaled) : static_cast<std::int64_t>(scaled);
}

bool Picker::pick(std::int64_t now_ns, LeafKey* key) {
  early_ = false;
  if (!leaves_->lanes_of(kInternalClass).empty() && pick_internal(key)) return true;
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

bool Picker::pick_internal(LeafKey* key) {
  const LaneSet& queued = leaves_->lanes_of(kInternalClass);
  const std::uint32_t lane = lanes_->ready_for_internal(queued).next_common(queued, last_lane_);
  if (lane == kNone) return false;
  pick_client(kInternalClass, lane, key);
  return true;
}

bool Picker::pick_users(LeafKey* key) {
  const std::uint32_t lane = lanes_->able().next_common(lanes_->able(), last_lane_);
  if (lane == kNone) return false;
  const std::uint32_t classes = (*lanes_)[lane].wanted & (*lanes_)[lane].ready;
  TENTQ_CHECK(classes != 0);
  std::uint32_t cls = 0;
  switch (policy_) {
    case Policy::direct:
    case Policy::fifo: cls = class_by_arrival(lane, classes); break;
    case Policy::strict: cls = static_cast<std::uint32_t>(std::countr_zero(classes)); break;
    case Policy::wdrr: cls = class_by_weight(lane, classes); break;
  }
  pick_client(cls, lane, key);
  return true;
}

std::uint32_t Picker::class_by_arrival(std::uint32_t lane, std::uint32_t classes) const {
  std::uint32_t first = kNone;
  std::uint64_t first_order = 0;
  for (std::uint32_t bits = classes; bits != 0; bits &= bits - 1) {
    const auto cls = static_cast<std::uint32_t>(std::countr_zero(bits));
    const std::uint64_t order = (*owners_)[leaves_->leaf({cls, 0, 0, lane}).head].order;
    if (first == kNone || order < first_order) {
      first = cls;
      first_order = order;
    }
  }
  return first;
}

// Of the classes whose bits are set: the first strict one, or one that has something left of its
// round. Who has something left and no room keeps it: others go meanwhile, in debt, and a new round
// begins when nobody who waits has anything left. (A turn that moved on past those without room
// would come back to the same ones each time that only foreground has room.)
std::uint32_t Picker::class_by_weight(std::uint32_t lane, std::uint32_t classes) {
  if ((classes & strict_) != 0) {
    return static_cast<std::uint32_t>(std::countr_zero(classes & strict_));
  }
  LaneTurns& turns = turns_[lane];
  if ((classes & turns.in_credit & 1u << turns.cls) != 0) return turns.cls;
  const std::uint32_t waiting = (*lanes_)[lane].wanted & ~strict_;
  while ((waiting & turns.in_credit) == 0) begin_round(lane, waiting);
  const std::uint32_t in_credit = classes & turns.in_credit;
  const std::uint32_t able = in_credit != 0 ? in_credit : classes;
  const std::uint32_t ahead = able & ~((2u << turns.cls) - 1);
  turns.cls = static_cast<std::uint32_t>(std::countr_zero(ahead != 0 ? ahead : able));
  return turns.cls;
}

void Picker::begin_round(std::uint32_t lane, std::uint32_t classes) {
  for (std::uint32_t bits = classes; bits != 0; bits &= bits - 1) {
    const auto cls = static_cast<std::uint32_t>(std::countr_zero(bits));
    const std::int64_t most = quantum(lane, class_weights_[cls]);
    set_class_deficit(lane, cls, std::min(turns_[lane].classes[cls].deficit + most, most));
  }
}

void Picker::pick_client(std::uint32_t cls, std::uint32_t lane, LeafKey* key) {
  if (leaves_->layout() == LeafLayout::by_arrival) {
    *key = {cls, 0, 0, lane};
    return;
  }
  // Most often the client whose turn it is has more.
  ClassTurn& turn = turns_[lane].classes[cls];
  while (!stays(cls, lane, key)) {
    turn.client = leaves_->next_client(cls, turn.client, lane);
    TENTQ_CHECK(turn.client != kNone);
    const std::int64_t most = quantum(lane, client_weights_[turn.client]);
    std::int64_t& deficit = turn_of(cls, turn.client, lane).deficit;
    deficit = std::min(deficit + most, most);
  }
}

// Whether the turn stays with the client that has it: with its session, or with the next of them.
bool Picker::stays(std::uint32_t cls, std::uint32_t lane, LeafKey* key) {
  const std::uint32_t client = turns_[lane].classes[cls].client;
  ClientTurn& turn = turn_of(cls, client, lane);
  if (turn.deficit <= 0 || leaves_->is_hidden(cls, client) ||
      !leaves_->has_client(cls, client, lane)) {
    return false;
  }
  *key = {cls, client, turn.session, lane};
  // The session whose turn it was may be another client's by now.
  while (!leaves_->has_session(cls, client, key->session) || leaves_->leaf(*key).count == 0 ||
         session_deficit(*key) <= 0) {
    key->session = leaves_->next_session(cls, client, key->session, lane);
    TENTQ_CHECK(key->session != kNone);
    const std::int64_t most = quantum(lane, 1);
    std::int64_t& deficit = session_deficit(*key);
    deficit = std::min(deficit + most, most);
  }
  turn.session = key->session;
  return true;
}

void Picker::pay(const LeafKey& key, std::uint64_t bytes) {
  const auto length = static_cast<std::int64_t>(bytes);
  last_lane_ = key.lane;
  if (!knows_age()) return;
  aging_.served(key.lane, bytes, early_);
  if (early_) {
    pay_early(key, length);
    return;
  }
  session_deficit(key) -= length;
  turn_of(key.cls, key.client, key.lane).deficit -= length;
  const bool shares = policy_ == Policy::wdrr && key.cls != kInternalClass;
  if (!shares || is_strict(key.cls)) return;
  std::int64_t deficit = turns_[key.lane].classes[key.cls].deficit - length;
  if (deficit < 0) deficit = std::max(deficit, -quantum(key.lane, class_weights_[key.cls]));
  set_class_deficit(key.lane, key.cls, deficit);
}

// What goes before its turn is paid for too, but nobody gets into debt for more than a round: a
// class or client without turns of its own would never come out of it.
void Picker::pay_early(const LeafKey& key, std::int64_t bytes) {
  const auto charge = [bytes](std::int64_t& deficit, std::int64_t most) {
    deficit = std::max(deficit - bytes, std::min(deficit, -most));
  };
  charge(session_deficit(key), quantum(key.lane, 1));
  charge(turn_of(key.cls, key.client, key.lane).deficit,
         quantum(key.lane, client_weights_[key.client]));
  if (policy_ == Policy::wdrr && !is_strict(key.cls)) {
    std::int64_t deficit = turns_[key.lane].classes[key.cls].deficit;
    charge(deficit, quantum(key.lane, class_weights_[key.cls]));
    set_class_deficit(key.lane, key.cls, deficit);
  }
}

void Picker::left(const LeafKey& key) {
  const auto drop_savings = [](std::int64_t& deficit) {
    deficit = std::min<std::int64_t>(deficit, 0);
  };
  drop_savings(session_deficit(key));
  if (leaves_->sessions_on_lane(key.cls, key.client, key.lane) != 0) return;
  drop_savings(turn_of(key.cls, key.client, key.lane).deficit);
  if (leaves_->has_clients(key.cls, key.lane)) return;
  const std::int64_t deficit = turns_[key.lane].classes[key.cls].deficit;
  set_class_deficit(key.lane, key.cls, std::min<std::int64_t>(deficit, 0));
}

std::uint64_t Picker::hash(std::uint64_t seed) const {
  std::uint64_t hash = fold(fold(seed, static_cast<std::uint64_t>(policy_)), last_lane_);
  for (const LaneTurns& turns : turns_) {
    hash = fold(hash, turns.cls);
    for (const ClassTurn& turn : turns.classes) {
      hash = fold(fold(hash, static_cast<std::uint64_t>(turn.deficit)), turn.client);
    }
  }
  for (const ClientTurn& turn : client_turns_) {
    hash = fold(fold(hash, static_cast<std::uint64_t>(turn.deficit)), turn.session);
  }
  for (const std::int64_t deficit : session_deficits_) {
    hash = fold(hash, static_cast<std::uint64_t>(deficit));
  }
  return aging_.hash(hash);
}

}  // namespace tentq::core
