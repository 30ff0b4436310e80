// The queues: one leaf per (class, client, lane), each a FIFO of owners, with bitmaps of what is
// not empty at every level, so that a choice never looks at what cannot be chosen. Conductor
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "daemon/core/lane_set.h"
#include "daemon/core/owner_table.h"

namespace tentq::core {

// How owners are spread over leaves. by_arrival keeps one leaf per class and lane, so that the
// order between clients is that of arrival.
enum class LeafLayout : std::uint8_t { by_client, by_arrival };

struct LeafKey {
  std::uint32_t cls = 0;
  std::uint32_t client = 0;
  std::uint32_t lane = 0;
};

struct Leaf {
  std::uint32_t head = kNone;
  std::uint32_t tail = kNone;
  std::uint32_t count = 0;
};

class Leaves {
 public:
  Leaves(std::uint32_t clients, std::uint32_t lanes, OwnerTable* owners);

  LeafLayout layout() const { return layout_; }
  // Only while all leaves are empty.
  void set_layout(LeafLayout layout);

  LeafKey key_of(const OwnerRecord& owner) const {
    return key_of(owner.cls, owner.client, owner.lane);
  }
  LeafKey key_of(std::uint32_t cls, std::uint32_t client, std::uint32_t lane) const {
    return {cls, layout_ == LeafLayout::by_client ? client : 0u, lane};
  }
  const Leaf& leaf(const LeafKey& key) const { return leaves_[index_of_leaf(key)]; }

  // An owner will be put behind all others of its leaf soon.
  void prefetch_tail(const LeafKey& key) const {
    const std::uint32_t tail = leaf(key).tail;
    if (tail != kNone) __builtin_prefetch(&(*owners_)[tail], 1);
  }
  // Behind all others of its leaf. push() stamps the owner's order; append() keeps it.
  void push(std::uint32_t owner) {
    (*owners_)[owner].order = next_order_++;
    append(owner);
  }
  void append(std::uint32_t owner);
  // A refused owner: where its order says, near the head.
  void put_back(std::uint32_t owner);
  void remove(std::uint32_t owner) { remove(owner, key_of((*owners_)[owner])); }
  void remove(std::uint32_t owner, const LeafKey& key);  // its own key

  // Bit c: class c has an owner on some lane.
  std::uint32_t filled_classes() const { return filled_classes_; }
  // Lanes with an owner of this class, of this class and client.
  const LaneSet& lanes_of(std::uint32_t cls) const { return class_lanes_[cls]; }
  const LaneSet& lanes_of(std::uint32_t cls, std::uint32_t client) const {
    return client_lanes_[cls * clients_ + client];
  }
  // The first client of the class behind `client`, going round, that has an owner on one of these
  // lanes; kNone when there is none. Looks at clients that have something queued only.
  std::uint32_t next_client(std::uint32_t cls, std::uint32_t client, const LaneSet& lanes) const;
  std::uint64_t queued(std::uint32_t cls) const { return queued_[cls]; }
  std::uint64_t next_order() const { return next_order_; }

 private:
  std::size_t index_of_leaf(const LeafKey& key) const {
    return (std::size_t{key.cls} * clients_ + key.client) * lanes_ + key.lane;
  }
  void became_filled(const LeafKey& key);
  void became_empty(const LeafKey& key);

  std::uint32_t clients_;
  std::uint32_t lanes_;
  OwnerTable* owners_;
  LeafLayout layout_ = LeafLayout::by_client;
  std::uint64_t next_order_ = 1;
  std::vector<Leaf> leaves_;
  std::vector<LaneSet> client_lanes_;           // [class][client]
  std::vector<std::uint64_t> clients_active_;   // [class][word of clients]
  std::vector<std::uint32_t> clients_on_lane_;  // [class][lane]: clients with an owner
  std::array<LaneSet, kMaxClasses> class_lanes_{};
  std::uint32_t filled_classes_ = 0;
  std::array<std::uint64_t, kMaxClasses> queued_{};
};

}  // namespace tentq::core
