// Whose chunk is next: one choice per call, by the policy in force. Looks only at classes, clients
// and lanes that have something queued and room for it; touches one owner. Conductor thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "daemon/core/lanes.h"
#include "daemon/core/leaves.h"
#include "daemon/core/limits.h"

namespace tentq::core {

class Picker {
 public:
  Picker(std::uint32_t clients, const Leaves* leaves, const Lanes* lanes, const OwnerTable* owners);

  // Deficits start anew; queues stay.
  void set_policy(Policy policy);
  Policy policy() const { return policy_; }
  void set_class_weights(const Limits& limits);
  void set_client_weight(std::uint32_t client, std::uint32_t weight);

  // The leaf whose head is next, or false when nothing can go now. Internal work comes first.
  bool pick(LeafKey* key);
  // The picked head's chunk goes: its class and client pay, the turn moves on.
  void pay(const LeafKey& key, std::uint64_t bytes);
  // A class or client whose last owner left keeps its debts, never its savings.
  void left(const LeafKey& key);

  // Over what decides the next choices.
  std::uint64_t hash(std::uint64_t seed) const;

 private:
  // Deficit round robin that serves while the deficit is positive and may overdraw by one chunk, so
  // that no choice has to know the chunk's length.
  struct ClientTurn {
    std::int64_t deficit = 0;
    std::uint32_t last_lane = kMaxLanes - 1;
  };
  struct ClassTurn {
    std::int64_t deficit = 0;
    std::uint32_t client = 0;  // whose turn it is
  };

  bool pick_wdrr(LeafKey* key);
  bool stays(std::uint32_t cls, const LaneSet& ready, LeafKey* key);
  bool next_class(const LaneSet& ready);
  bool pick_strict(LeafKey* key);
  bool pick_by_arrival(LeafKey* key);
  // The client and lane of the class; it has an owner on one of `ready`.
  void pick_client(std::uint32_t cls, const LaneSet& ready, LeafKey* key);
  std::int64_t quantum(std::uint32_t weight) const;
  ClientTurn& turn_of(std::uint32_t cls, std::uint32_t client) {
    return client_turns_[std::size_t{cls} * clients_ + client];
  }

  std::uint32_t clients_;
  const Leaves* leaves_;
  const Lanes* lanes_;
  const OwnerTable* owners_;
  Policy policy_ = Policy::wdrr;
  std::uint32_t class_ = 1;                  // whose turn it is
  std::uint32_t last_lane_ = kMaxLanes - 1;  // by arrival: lanes take turns
  std::array<std::uint32_t, kMaxClasses> class_weights_{};
  std::array<ClassTurn, kMaxClasses> class_turns_{};
  std::vector<std::uint32_t> client_weights_;
  std::vector<ClientTurn> client_turns_;  // [class][client]
};

}  // namespace tentq::core
