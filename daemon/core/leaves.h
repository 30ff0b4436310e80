// The queues: one leaf per (class, client, session, lane), with bitmaps of what is not empty at
// every level, so that a choice never looks at what cannot be chosen. In a leaf the earliest
// deadline is first, and whoever has none comes last; apart from that, who came first. A client
// that is hidden keeps its leaves, and nobody chooses it. Conductor thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "daemon/core/deadline_order.h"
#include "daemon/core/lane_set.h"
#include "daemon/core/lanes.h"
#include "daemon/core/member_set.h"
#include "daemon/core/owner_table.h"
#include "proto/classes.h"

namespace tentq::core {

// How owners are spread over leaves. by_arrival keeps one leaf per class and lane, so that the
// order between clients is that of arrival, and knows no deadlines.
enum class LeafLayout : std::uint8_t { by_client, by_arrival };

// A session belongs to one client.
struct LeafKey {
  std::uint32_t cls = 0;
  std::uint32_t client = 0;
  std::uint32_t session = 0;
  std::uint32_t lane = 0;
};

struct Leaf {
  std::uint32_t head = kNone;
  std::uint32_t tail = kNone;
  std::uint32_t count = 0;
  std::uint32_t dated = kNone;  // DeadlineOrder's tree of those with a deadline
};

class Leaves {
 public:
  // Tells the lanes which classes want them: those with an owner of a client that is not hidden.
  Leaves(const HardMaxima& maxima, std::uint32_t records, OwnerTable* owners, Lanes* lanes);

  LeafLayout layout() const { return layout_; }
  // Only while all leaves are empty; no client is hidden afterwards.
  void set_layout(LeafLayout layout);

  LeafKey key_of(const OwnerRecord& owner) const {
    return key_of(owner.cls, owner.client, owner.session, owner.lane);
  }
  LeafKey key_of(std::uint32_t cls, std::uint32_t client, std::uint32_t session,
                 std::uint32_t lane) const {
    if (layout_ == LeafLayout::by_arrival) return {cls, 0, 0, lane};
    return {cls, client, session, lane};
  }
  std::size_t index_of_leaf(const LeafKey& key) const {
    return (std::size_t{key.cls} * sessions_ + key.session) * lanes_ + key.lane;
  }
  const Leaf& leaf(const LeafKey& key) const { return leaves_[index_of_leaf(key)]; }

  // An owner will be put behind all others of its leaf soon.
  void prefetch_tail(const LeafKey& key) const {
    const std::uint32_t tail = leaf(key).tail;
    if (tail != kNone) __builtin_prefetch(&(*owners_)[tail], 1);
  }
  // Behind all others of its leaf that are due no later. push() stamps the owner's order; append()
  // keeps it.
  void push(std::uint32_t owner) {
    (*owners_)[owner].order = next_order_++;
    append(owner);
  }
  void append(std::uint32_t owner);
  // A refused owner: where its order says, near the head.
  void put_back(std::uint32_t owner);
  void remove(std::uint32_t owner) { remove(owner, key_of((*owners_)[owner])); }
  void remove(std::uint32_t owner, const LeafKey& key);  // its own key

  // Bit c: class c has an owner, of a client that is not hidden.
  std::uint32_t filled_classes() const { return filled_classes_; }
  // Lanes with an owner of this class and client that is not hidden, of this class and client, of
  // this class and session.
  const LaneSet& lanes_of(std::uint32_t cls) const { return class_lanes_[cls]; }
  const LaneSet& lanes_of(std::uint32_t cls, std::uint32_t client) const {
    return client_lanes_[row(cls, client)];
  }
  const LaneSet& lanes_of_session(std::uint32_t cls, std::uint32_t session) const {
    return session_lanes_[std::size_t{cls} * sessions_ + session];
  }
  // Whether somebody of the class, hidden or not, has something queued on the lane.
  bool has_clients(std::uint32_t cls, std::uint32_t lane) const {
    return clients_on_.any(lane_row(cls, lane));
  }
  bool has_client(std::uint32_t cls, std::uint32_t client, std::uint32_t lane) const {
    return clients_on_.has(lane_row(cls, lane), client);
  }
  // The first client behind `client`, going round, that has an owner of the class on the lane and
  // is not hidden; kNone when there is none. Looks at clients with something queued there only.
  std::uint32_t next_client(std::uint32_t cls, std::uint32_t client, std::uint32_t lane) const {
    return clients_on_.next(lane_row(cls, lane), client,
                            [&](std::uint32_t k) { return !is_hidden(cls, k); });
  }
  // The same among the sessions of a client.
  std::uint32_t next_session(std::uint32_t cls, std::uint32_t client, std::uint32_t session,
                             std::uint32_t lane) const {
    return sessions_filled_.next(row(cls, client), session, [&](std::uint32_t s) {
      return lanes_of_session(cls, s).has(lane);
    });
  }
  // How many sessions of the client have something queued in the class on the lane.
  std::uint32_t sessions_on_lane(std::uint32_t cls, std::uint32_t client,
                                 std::uint32_t lane) const {
    return sessions_on_lane_[row(cls, client) * lanes_ + lane];
  }
  // Every client with something queued in the class on the lane.
  template <class Use>
  void for_each_client(std::uint32_t cls, std::uint32_t lane, const Use& use) const {
    clients_on_.for_each(lane_row(cls, lane), use);
  }
  // Whether the session has something queued in the class and belongs to the client.
  bool has_session(std::uint32_t cls, std::uint32_t client, std::uint32_t session) const {
    return sessions_filled_.has(row(cls, client), session);
  }
  // A leaf of the lane that is not empty, hidden or not; false when there is none.
  bool any_leaf(std::uint32_t lane, LeafKey* key) const;
  // Every leaf of the class that is not empty.
  template <class Use>
  void for_each_leaf(std::uint32_t cls, const Use& use) const {
    for (std::uint32_t lane = 0; lane < lanes_; ++lane) for_each_leaf(cls, lane, use);
  }
  // The same on one lane.
  template <class Use>
  void for_each_leaf(std::uint32_t cls, std::uint32_t lane, const Use& use) const {
    for_each_client(cls, lane, [&](std::uint32_t client) {
      sessions_filled_.for_each(row(cls, client), [&](std::uint32_t session) {
        const LeafKey key{cls, client, session, lane};
        if (leaf(key).count != 0) use(key);
      });
    });
  }

  // From those who choose among users; internal work is never hidden.
  bool is_hidden(std::uint32_t cls, std::uint32_t client) const {
    return hidden_[client] != 0 && cls != index_of(ClassId::internal);
  }
  // Costs what the client has lanes with something queued.
  void hide(std::uint32_t client);
  void show(std::uint32_t client);

  // Deadlines are told apart by where they lie from now.
  void advance(std::int64_t now_ns) { deadlines_.advance(now_ns); }
  const DeadlineOrder& deadlines() const { return deadlines_; }
  // Whether the bytes of deadlines are counted; walks all leaves when that begins.
  void count_bytes(bool counted);
  // Queued in the leaf and due no later than a deadline with this key: at least what there is.
  std::uint64_t bytes_until(const LeafKey& key, std::uint32_t due_key) const;
  // Whether its deadline counts.
  bool is_dated(std::uint32_t owner) const {
    return ((*owners_)[owner].flags & kDated) != 0 && layout_ == LeafLayout::by_client;
  }
  // Of two of a leaf: both stand in one bucket of deadlines, or neither has one.
  bool are_due_together(std::uint32_t a, std::uint32_t b) const;

  std::uint64_t queued(std::uint32_t cls) const { return queued_[cls]; }
  std::uint64_t next_order() const { return next_order_; }

 private:
  std::size_t row(std::uint32_t cls, std::uint32_t client) const {
    return std::size_t{cls} * clients_ + client;
  }
  void link(Leaf& leaf, std::uint32_t owner, std::uint32_t prev, std::uint32_t cls);
  std::size_t lane_row(std::uint32_t cls, std::uint32_t lane) const {
    return std::size_t{cls} * lanes_ + lane;
  }
  void became_filled(const LeafKey& key);
  void became_empty(const LeafKey& key);
  void enter_class(std::uint32_t cls, std::uint32_t lane) {
    if (clients_on_lane_[lane_row(cls, lane)]++ != 0) return;
    class_lanes_[cls].add(lane);
    filled_classes_ |= 1u << cls;
    shapes_->want(lane, (*shapes_)[lane].wanted | (kClientClassMask & 1u << cls));
  }
  void leave_class(std::uint32_t cls, std::uint32_t lane) {
    if (--clients_on_lane_[lane_row(cls, lane)] != 0) return;
    class_lanes_[cls].remove(lane);
    shapes_->want(lane, (*shapes_)[lane].wanted & ~(1u << cls));
    if (class_lanes_[cls].empty()) filled_classes_ &= ~(1u << cls);
  }

  std::uint32_t clients_;
  std::uint32_t sessions_;
  std::uint32_t lanes_;
  OwnerTable* owners_;
  Lanes* shapes_;
  LeafLayout layout_ = LeafLayout::by_client;
  std::uint64_t next_order_ = 1;
  std::vector<Leaf> leaves_;                     // [class][session][lane]
  std::vector<LaneSet> session_lanes_;           // [class][session]
  MemberSets sessions_filled_;                   // [class][client]
  std::vector<LaneSet> client_lanes_;            // [class][client]
  MemberSets clients_on_;                        // [class][lane]
  std::vector<std::uint16_t> sessions_on_lane_;  // [class][client][lane]: with an owner
  std::vector<std::uint32_t> clients_on_lane_;   // [class][lane]: with an owner, not hidden
  std::vector<std::uint8_t> hidden_;             // [client]
  std::array<LaneSet, kMaxClasses> class_lanes_{};
  std::uint32_t filled_classes_ = 0;
  std::array<std::uint64_t, kMaxClasses> queued_{};
  DeadlineOrder deadlines_;
};

}  // namespace tentq::core
