// Whose chunk is next: one choice per call, by the policy in force. Lanes with room take turns, and
// each has turns of its own: of classes, of the clients of a class, of the sessions of a client.
// What is shared is a lane, and a turn that several lanes shared would go on from where another
// lane left it. Looks only at what has something queued and room for it; touches one owner, or two
// when an old one goes before its turn. Conductor thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "daemon/core/aging.h"
#include "daemon/core/lanes.h"
#include "daemon/core/leaves.h"
#include "daemon/core/limits.h"

namespace tentq::core {

class Picker {
 public:
  Picker(const HardMaxima& maxima, const Leaves* leaves, const Lanes* lanes,
         const OwnerTable* owners);

  // Deficits start anew; queues stay.
  void set_policy(Policy policy);
  Policy policy() const { return policy_; }
  // Weights, strict classes and age_max. What a turn has left is worth as much as before.
  void set_limits(const Limits& limits);
  void set_client_weight(std::uint32_t client, std::uint32_t weight);
  std::uint32_t client_weight(std::uint32_t client) const { return client_weights_[client]; }
  // A session has come: it takes its turns anew.
  void forget_session(std::uint32_t session);

  // The leaf whose head is next, or false when nothing can go now. Internal work comes first.
  bool pick(std::int64_t now_ns, LeafKey* key);
  // The picked head's chunk goes: its class, client and session pay, the turn moves on.
  void pay(const LeafKey& key, std::uint64_t bytes);
  // A leaf got its first owner, or one that is older than its others may be.
  void entered(const LeafKey& key, std::int64_t enqueued_ns) { aging_.entered(key, enqueued_ns); }
  // A class, client or session whose last owner left a lane keeps its debts there, never its
  // savings.
  void left(const LeafKey& key);

  // For those who ask why something waits.
  const Aging& aging() const { return aging_; }
  bool knows_age() const { return policy_ == Policy::strict || policy_ == Policy::wdrr; }
  // Over what decides the next choices.
  std::uint64_t hash(std::uint64_t seed) const;

 private:
  // Deficit round robin that serves while the deficit is positive and may overdraw by one chunk, so
  // that no choice has to know the chunk's length.
  struct ClientTurn {
    std::int64_t deficit = 0;
    std::uint32_t session = 0;  // whose turn it is
  };
  struct ClassTurn {
    std::int64_t deficit = 0;
    std::uint32_t client = 0;  // whose turn it is
  };
  struct LaneTurns {
    std::array<ClassTurn, kMaxClasses> classes{};
    std::uint32_t cls = 1;        // whose turn it is
    std::uint32_t in_credit = 0;  // classes with a deficit above zero: their bits
  };

  bool pick_internal(LeafKey* key);
  bool pick_users(LeafKey* key);
  std::uint32_t class_by_weight(std::uint32_t lane, std::uint32_t classes);
  void begin_round(std::uint32_t lane, std::uint32_t classes);
  void set_class_deficit(std::uint32_t lane, std::uint32_t cls, std::int64_t deficit) {
    LaneTurns& turns = turns_[lane];
    turns.classes[cls].deficit = deficit;
    turns.in_credit = (turns.in_credit & ~(1u << cls)) | std::uint32_t{deficit > 0} << cls;
  }
  std::uint32_t class_by_arrival(std::uint32_t lane, std::uint32_t classes) const;
  // The client and session of the class on the lane; it has an owner there.
  void pick_client(std::uint32_t cls, std::uint32_t lane, LeafKey* key);
  bool stays(std::uint32_t cls, std::uint32_t lane, LeafKey* key);
  void pay_early(const LeafKey& key, std::int64_t bytes);
  std::int64_t quantum(std::uint32_t lane, std::uint32_t weight) const;
  std::int64_t reweighed(std::int64_t deficit, std::uint32_t lane, std::uint32_t from,
                         std::uint32_t to) const;
  bool is_strict(std::uint32_t cls) const { return (strict_ >> cls & 1u) != 0; }
  ClientTurn& turn_of(std::uint32_t cls, std::uint32_t client, std::uint32_t lane) {
    return client_turns_[(std::size_t{cls} * clients_ + client) * lane_count_ + lane];
  }
  std::int64_t& session_deficit(const LeafKey& key) {
    return session_deficits_[leaves_->index_of_leaf(key)];
  }

  std::uint32_t clients_;
  std::uint32_t lane_count_;
  const Leaves* leaves_;
  const Lanes* lanes_;
  const OwnerTable* owners_;
  Aging aging_;
  Policy policy_ = Policy::wdrr;
  std::uint32_t strict_ = 0;                 // classes that do not share, under wdrr: their bits
  std::uint32_t last_lane_ = kMaxLanes - 1;  // lanes take turns
  bool early_ = false;                       // what was picked last goes before its turn
  std::array<std::uint32_t, kMaxClasses> class_weights_{};
  std::vector<std::uint32_t> client_weights_;
  std::vector<LaneTurns> turns_;                // [lane]
  std::vector<ClientTurn> client_turns_;        // [class][client][lane]
  std::vector<std::int64_t> session_deficits_;  // of leaves
};

}  // namespace tentq::core
