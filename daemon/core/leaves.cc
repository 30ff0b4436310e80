// Queues of owners and the bitmaps above them.
#include "daemon/core/leaves.h"

#include "daemon/core/event.h"

namespace tentq::core {

Leaves::Leaves(std::uint32_t clients, std::uint32_t lanes, OwnerTable* owners)
    : clients_(clients),
      lanes_(lanes),
      owners_(owners),
      leaves_(kMaxClasses * std::size_t{clients} * lanes),
      client_lanes_(kMaxClasses * std::size_t{clients}),
      clients_active_(kMaxClasses * std::size_t{(clients + 63) / 64}),
      clients_on_lane_(kMaxClasses * std::size_t{lanes}) {}

void Leaves::set_layout(LeafLayout layout) {
  for (const std::uint64_t count : queued_) TENTQ_CHECK(count == 0);
  layout_ = layout;
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

std::uint32_t Leaves::next_client(std::uint32_t cls, std::uint32_t client,
                                  const LaneSet& lanes) const {
  const std::uint32_t words = (clients_ + 63) / 64;
  const std::uint64_t* active = &clients_active_[std::size_t{cls} * words];
  const std::uint32_t start = (client + 1) % clients_;
  for (std::uint32_t i = 0; i <= words; ++i) {
    const std::uint32_t w = (start / 64 + i) % words;
    std::uint64_t bits = active[w];
    if (i == 0) bits &= ~std::uint64_t{0} << (start % 64);
    for (; bits != 0; bits &= bits - 1) {
      const std::uint32_t found = w * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
      if (lanes_of(cls, found).meets(lanes)) return found;
    }
  }
  return kNone;
}

void Leaves::became_filled(const LeafKey& key) {
  client_lanes_[key.cls * clients_ + key.client].add(key.lane);
  const std::uint32_t words = (clients_ + 63) / 64;
  clients_active_[std::size_t{key.cls} * words + key.client / 64] |= std::uint64_t{1}
                                                                     << (key.client % 64);
  if (clients_on_lane_[key.cls * lanes_ + key.lane]++ == 0) {
    class_lanes_[key.cls].add(key.lane);
    filled_classes_ |= 1u << key.cls;
  }
}

void Leaves::became_empty(const LeafKey& key) {
  LaneSet& lanes = client_lanes_[key.cls * clients_ + key.client];
  lanes.remove(key.lane);
  if (lanes.empty()) {
    const std::uint32_t words = (clients_ + 63) / 64;
    clients_active_[std::size_t{key.cls} * words + key.client / 64] &=
        ~(std::uint64_t{1} << (key.client % 64));
  }
  if (--clients_on_lane_[key.cls * lanes_ + key.lane] == 0) {
    class_lanes_[key.cls].remove(key.lane);
    if (class_lanes_[key.cls].empty()) filled_classes_ &= ~(1u << key.cls);
  }
}

}  // namespace tentq::core
