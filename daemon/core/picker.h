// Whose chunk is next: one choice per call, by the policy in force. Looks only at classes, clients,
// sessions and lanes that have something queued and room for it; touches one owner, or two when an
// old one goes before its turn. Conductor thread.
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
  // A class, client or session whose last owner left keeps its debts, never its savings.
  void left(const LeafKey& key);

  // For those who ask why something waits.
  const Aging& aging() const { return aging_; }
  bool knows_age() const { return policy_ == Policy::strict || policy_ == Policy::wdrr; }
  // Over what decides the next choices.
  std::uint64_t hash(std::uint64_t seed) const;

 private:
  // Deficit round robin that serves while the deficit is positive and may overdraw by one chunk, so
  // that no choice has to know the chunk's length.
  struct SessionTurn {
    std::int64_t deficit = 0;
    std::uint32_t last_lane = kMaxLanes - 1;
  };
  struct ClientTurn {
    std::int64_t deficit = 0;
    std::uint32_t session = 0;  // whose turn it is
  };
  struct ClassTurn {
    std::int64_t deficit = 0;
    std::uint32_t client = 0;  // whose turn it is
  };

  bool pick_users(LeafKey* key);
  bool pick_wdrr(LeafKey* key);
  // The first class, in order, of those whose bits are set.
  bool pick_in_order(std::uint32_t classes, LeafKey* key);
  bool stays(std::uint32_t cls, const LaneSet& ready, LeafKey* key);
  bool next_class();
  bool has_ready(std::uint32_t cls) const {
    return leaves_->lanes_of(cls).meets(lanes_->ready(cls));
  }
  bool pick_by_arrival(LeafKey* key);
  // The client, session and lane of the class; it has an owner on one of `ready`.
  void pick_client(std::uint32_t cls, const LaneSet& ready, LeafKey* key);
  void pay_early(const LeafKey& key, std::int64_t bytes);
  std::int64_t quantum(std::uint32_t weight) const;
  std::int64_t reweighed(std::int64_t deficit, std::uint32_t from, std::uint32_t to) const;
  ClientTurn& turn_of(std::uint32_t cls, std::uint32_t client) {
    return client_turns_[std::size_t{cls} * clients_ + client];
  }
  SessionTurn& session_turn(std::uint32_t cls, std::uint32_t session) {
    return session_turns_[std::size_t{cls} * sessions_ + session];
  }

  std::uint32_t clients_;
  std::uint32_t sessions_;
  const Leaves* leaves_;
  const Lanes* lanes_;
  const OwnerTable* owners_;
  Aging aging_;
  Policy policy_ = Policy::wdrr;
  std::uint32_t strict_ = 0;                 // classes that do not share, under wdrr: their bits
  std::uint32_t class_ = 1;                  // whose turn it is
  std::uint32_t last_lane_ = kMaxLanes - 1;  // by arrival: lanes take turns
  bool early_ = false;                       // what was picked last goes before its turn
  std::array<std::uint32_t, kMaxClasses> class_weights_{};
  std::array<ClassTurn, kMaxClasses> class_turns_{};
  std::vector<std::uint32_t> client_weights_;
  std::vector<ClientTurn> client_turns_;    // [class][client]
  std::vector<SessionTurn> session_turns_;  // [class][session]
};

}  // namespace tentq::core
