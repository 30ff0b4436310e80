// Queues of owners and the bitmaps above them.
#include "daemon/core/leaves.h"

#include <algorithm>

#include "daemon/core/event.h"

namespace tentq::core {

Leaves::Leaves(const HardMaxima& maxima, std::uint32_t records, OwnerTable* owners, Lanes* lanes)
    : clients_(maxima.clients),
      sessions_(maxima.sessions),
      lanes_(maxima.lanes),
      owners_(owners),
      shapes_(lanes),
      leaves_(kMaxClasses * std::size_t{sessions_} * lanes_),
      session_lanes_(kMaxClasses * std::size_t{sessions_}),
      sessions_filled_(kMaxClasses * std::size_t{clients_}, sessions_),
      client_lanes_(kMaxClasses * std::size_t{clients_}),
      clients_on_(kMaxClasses * std::size_t{lanes_}, clients_),
      sessions_on_lane_(kMaxClasses * std::size_t{clients_} * lanes_),
      clients_on_lane_(kMaxClasses * std::size_t{lanes_}),
      hidden_(clients_),
      deadlines_(records) {}

void Leaves::set_layout(LeafLayout layout) {
  for (const std::uint64_t count : queued_) TENTQ_CHECK(count == 0);
  layout_ = layout;
  std::fill(hidden_.begin(), hidden_.end(), std::uint8_t{0});
}

void Leaves::append(std::uint32_t index) {
  OwnerRecord& owner = (*owners_)[index];
  const LeafKey key = key_of(owner);
  Leaf& leaf = leaves_[index_of_leaf(key)];
  if (is_dated(index)) {
    const std::uint32_t due_key = owners_->extras(index).due_key;
    link(leaf, index, deadlines_.append(&leaf.dated, due_key, index), key.cls);
    if (deadlines_.counts_bytes()) deadlines_.add_bytes(leaf.dated, due_key, owner.length);
  } else {
    owner.next = kNone;
    owner.prev = leaf.tail;
    (leaf.tail == kNone ? leaf.head : (*owners_)[leaf.tail].next) = index;
    leaf.tail = index;
    queued_[key.cls] += 1;
  }
  if (leaf.count++ == 0) became_filled(key);
}

void Leaves::link(Leaf& leaf, std::uint32_t index, std::uint32_t prev, std::uint32_t cls) {
  OwnerRecord& owner = (*owners_)[index];
  const std::uint32_t next = prev == kNone ? leaf.head : (*owners_)[prev].next;
  owner.next = next;
  owner.prev = prev;
  (prev == kNone ? leaf.head : (*owners_)[prev].next) = index;
  (next == kNone ? leaf.tail : (*owners_)[next].prev) = index;
  queued_[cls] += 1;
}

bool Leaves::are_due_together(std::uint32_t a, std::uint32_t b) const {
  if (is_dated(a) != is_dated(b)) return false;
  return !is_dated(a) || owners_->extras(a).due_key == owners_->extras(b).due_key;
}

void Leaves::put_back(std::uint32_t index) {
  const OwnerRecord& owner = (*owners_)[index];
  const LeafKey key = key_of(owner);
  Leaf& leaf = leaves_[index_of_leaf(key)];
  const bool dated = is_dated(index);
  const std::uint32_t due_key = owners_->extras(index).due_key;
  std::uint32_t prev =
      dated ? deadlines_.last_before(leaf.dated, due_key) : deadlines_.last(leaf.dated);
  std::uint32_t next = prev == kNone ? leaf.head : (*owners_)[prev].next;
  // Passes only owners that were refused or are half handed over: at most a window's worth.
  while (next != kNone && are_due_together(next, index) && (*owners_)[next].order < owner.order) {
    prev = next;
    next = (*owners_)[next].next;
  }
  const bool is_last = next == kNone || !are_due_together(next, index);
  if (dated && is_last) deadlines_.append(&leaf.dated, due_key, index);
  if (dated && deadlines_.counts_bytes()) deadlines_.add_bytes(leaf.dated, due_key, owner.length);
  link(leaf, index, prev, key.cls);
  if (leaf.count++ == 0) became_filled(key);
}

void Leaves::remove(std::uint32_t index, const LeafKey& key) {
  const OwnerRecord& owner = (*owners_)[index];
  Leaf& leaf = leaves_[index_of_leaf(key)];
  TENTQ_CHECK(leaf.count != 0);
  const std::uint32_t next = owner.next;
  const std::uint32_t prev = owner.prev;
  if (is_dated(index)) {
    const std::uint32_t due_key = owners_->extras(index).due_key;
    if (deadlines_.counts_bytes()) deadlines_.take_bytes(leaf.dated, due_key, owner.length);
    if (next == kNone || !are_due_together(next, index)) {
      const bool has_others = prev != kNone && are_due_together(prev, index);
      deadlines_.set_last(&leaf.dated, due_key, has_others ? prev : kNone);
    }
  }
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

void Leaves::count_bytes(bool counted) {
  if (deadlines_.counts_bytes() == counted) return;
  deadlines_.count_bytes(counted);
  for (std::uint32_t c = 0; counted && c < kMaxClasses; ++c) {
    for_each_leaf(c, [this](const LeafKey& key) {
      const Leaf& leaf = this->leaf(key);
      for (std::uint32_t i = leaf.head; i != kNone && is_dated(i); i = (*owners_)[i].next) {
        deadlines_.add_bytes(leaf.dated, owners_->extras(i).due_key, (*owners_)[i].length);
      }
    });
  }
}

std::uint64_t Leaves::bytes_until(const LeafKey& key, std::uint32_t due_key) const {
  const Leaf& leaf = this->leaf(key);
  if (leaf.dated == kNone) return 0;
  const std::uint64_t bytes = deadlines_.bytes_until(leaf.dated, due_key);
  // Of the one that is being handed over only the rest is ahead.
  const OwnerRecord& head = (*owners_)[leaf.head];
  const std::uint64_t handed = (head.flags & kHasReturned) != 0 ? 0 : head.handed;
  return bytes > handed ? bytes - handed : 0;
}

void Leaves::became_filled(const LeafKey& key) {
  session_lanes_[std::size_t{key.cls} * sessions_ + key.session].add(key.lane);
  const std::size_t of_client = row(key.cls, key.client);
  sessions_filled_.add(of_client, key.session);
  if (sessions_on_lane_[of_client * lanes_ + key.lane]++ != 0) return;
  client_lanes_[of_client].add(key.lane);
  clients_on_.add(lane_row(key.cls, key.lane), key.client);
  if (!is_hidden(key.cls, key.client)) enter_class(key.cls, key.lane);
}

void Leaves::became_empty(const LeafKey& key) {
  LaneSet& of_session = session_lanes_[std::size_t{key.cls} * sessions_ + key.session];
  of_session.remove(key.lane);
  const std::size_t of_client = row(key.cls, key.client);
  if (of_session.empty()) sessions_filled_.remove(of_client, key.session);
  if (--sessions_on_lane_[of_client * lanes_ + key.lane] != 0) return;
  client_lanes_[of_client].remove(key.lane);
  clients_on_.remove(lane_row(key.cls, key.lane), key.client);
  if (!is_hidden(key.cls, key.client)) leave_class(key.cls, key.lane);
}

bool Leaves::any_leaf(std::uint32_t lane, LeafKey* key) const {
  const auto any = [](std::uint32_t) { return true; };
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    const std::uint32_t client = clients_on_.next(lane_row(c, lane), 0, any);
    if (client == kNone) continue;
    *key = {c, client, next_session(c, client, 0, lane), lane};
    TENTQ_CHECK(key->session != kNone && leaf(*key).count != 0);
    return true;
  }
  return false;
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
