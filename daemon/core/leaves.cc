// Queues of owners and the bitmaps above them.
#include "daemon/core/leaves.h"

#include <algorithm>

#include "daemon/core/event.h"

namespace tentq::core {

Leaves::Leaves(std::uint32_t clients, std::uint32_t sessions, std::uint32_t lanes,
               OwnerTable* owners)
    : clients_(clients),
      sessions_(sessions),
      lanes_(lanes),
      owners_(owners),
      leaves_(kMaxClasses * std::size_t{sessions} * lanes),
      session_lanes_(kMaxClasses * std::size_t{sessions}),
      sessions_filled_(kMaxClasses * std::size_t{clients}, sessions),
      client_lanes_(kMaxClasses * std::size_t{clients}),
      clients_filled_(kMaxClasses, clients),
      sessions_on_lane_(kMaxClasses * std::size_t{clients} * lanes),
      clients_on_lane_(kMaxClasses * std::size_t{lanes}),
      hidden_(clients) {}

void Leaves::set_layout(LeafLayout layout) {
  for (const std::uint64_t count : queued_) TENTQ_CHECK(count == 0);
  layout_ = layout;
  std::fill(hidden_.begin(), hidden_.end(), std::uint8_t{0});
}

void Leaves::append(std::uint32_t index) {
  OwnerRecord& owner = (*owners_)[index];
  const LeafKey key = key_of(owner);
  Leaf& leaf = leaves_[index_of_leaf(key)];
  owner.next = kNone;
  owner.prev = leaf.tail;
  (leaf.tail == kNone ? leaf.head : (*owners_)[leaf.tail].next) = index;
  leaf.tail = index;
  queued_[key.cls] += 1;
  if (leaf.count++ == 0) became_filled(key);
}

void Leaves::put_back(std::uint32_t index) {
  OwnerRecord& owner = (*owners_)[index];
  const LeafKey key = key_of(owner);
  Leaf& leaf = leaves_[index_of_leaf(key)];
  std::uint32_t next = leaf.head;
  std::uint32_t prev = kNone;
  // Passes only owners that were refused or are half handed over: at most a window's worth.
  while (next != kNone && (*owners_)[next].order < owner.order) {
    prev = next;
    next = (*owners_)[next].next;
  }
  owner.next = next;
  owner.prev = prev;
  (prev == kNone ? leaf.head : (*owners_)[prev].next) = index;
  (next == kNone ? leaf.tail : (*owners_)[next].prev) = index;
  queued_[key.cls] += 1;
  if (leaf.count++ == 0) became_filled(key);
}

void Leaves::remove(std::uint32_t index, const LeafKey& key) {
  const OwnerRecord& owner = (*owners_)[index];
  Leaf& leaf = leaves_[index_of_leaf(key)];
  TENTQ_CHECK(leaf.count != 0);
  const std::uint32_t next = owner.next;
  const std::uint32_t prev = owner.prev;
  (prev == kNone ? leaf.head : (*owners_)[prev].next) = next;
  if (next == kNone) {
    leaf.tail = prev;
  } else {
    OwnerRecord& follower = (*owners_)[next];
    follower.prev = prev;
    // The one behind it is most often not in the cache: it is fetched a turn before it is needed.
    if (follower.next != kNone) owners_->prefetch(follower.next);
  }
  queued_[key.cls] -= 1;
  if (--leaf.count == 0) became_empty(key);
}

void Leaves::became_filled(const LeafKey& key) {
  session_lanes_[std::size_t{key.cls} * sessions_ + key.session].add(key.lane);
  const std::size_t of_client = row(key.cls, key.client);
  sessions_filled_.add(of_client, key.session);
  if (sessions_on_lane_[of_client * lanes_ + key.lane]++ != 0) return;
  client_lanes_[of_client].add(key.lane);
  clients_filled_.add(key.cls, key.client);
  if (!is_hidden(key.cls, key.client)) enter_class(key.cls, key.lane);
}

void Leaves::became_empty(const LeafKey& key) {
  LaneSet& of_session = session_lanes_[std::size_t{key.cls} * sessions_ + key.session];
  of_session.remove(key.lane);
  const std::size_t of_client = row(key.cls, key.client);
  if (of_session.empty()) sessions_filled_.remove(of_client, key.session);
  if (--sessions_on_lane_[of_client * lanes_ + key.lane] != 0) return;
  client_lanes_[of_client].remove(key.lane);
  if (client_lanes_[of_client].empty()) clients_filled_.remove(key.cls, key.client);
  if (!is_hidden(key.cls, key.client)) leave_class(key.cls, key.lane);
}

void Leaves::hide(std::uint32_t client) {
  TENTQ_CHECK(hidden_[client] == 0);
  hidden_[client] = 1;
  for (std::uint32_t c = 1; c < kMaxClasses; ++c) {
    lanes_of(c, client).for_each([this, c](std::uint32_t lane) { leave_class(c, lane); });
  }
}

void Leaves::show(std::uint32_t client) {
  TENTQ_CHECK(hidden_[client] != 0);
  hidden_[client] = 0;
  for (std::uint32_t c = 1; c < kMaxClasses; ++c) {
    lanes_of(c, client).for_each([this, c](std::uint32_t lane) { enter_class(c, lane); });
  }
}

}  // namespace tentq::core
