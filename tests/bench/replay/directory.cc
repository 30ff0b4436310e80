// A hash table with chains and an LRU list, both of indices, so that they mean the same in every
// process.
#include "tests/bench/replay/directory.h"

#include <bit>
#include <cerrno>
#include <stdexcept>

#include "proto/check.h"
#include "tests/bench/statistics.h"

namespace tentq::bench {

// Holds the lock. An owner that died inside leaves the lists unknown: the run cannot go on.
class Directory::Locked {
 public:
  explicit Locked(pthread_mutex_t* lock) : lock_(lock) {
    if (::pthread_mutex_lock(lock_) != 0) {
      throw std::runtime_error("an engine died while it changed the directory");
    }
  }
  ~Locked() { ::pthread_mutex_unlock(lock_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  pthread_mutex_t* lock_;
};

Directory::Directory(std::uint32_t places)
    : entries_(places), buckets_(std::bit_ceil(std::size_t{places} * 2 + 1)), head_(1) {
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  ::pthread_mutex_init(&head_[0].lock, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
  for (std::uint32_t& bucket : buckets_.span()) bucket = kNone;
  for (std::uint32_t place = places; place-- > 0;) free_place(place);
}

Plan Directory::plan(std::span<const std::uint64_t> blocks) {
  Plan plan;
  const Locked locked(&head_[0].lock);
  for (const std::uint64_t block : blocks) {
    std::uint32_t place = find(block);
    if (place != kNone) {
      ++entries_[place].readers;
      unlink(place);
      link_newest(place);
      plan.hits.push_back({block, place});
      continue;
    }
    place = take_place();
    if (place == kNone) {
      ++plan.skipped;
      continue;
    }
    Entry& entry = entries_[place];
    entry.block = block;
    entry.state.store(PlaceState::writing, std::memory_order_release);
    entry.next_in_bucket = std::exchange(bucket_of(block), place);
    link_newest(place);
    plan.misses.push_back({block, place});
  }
  return plan;
}

std::optional<Placed> Directory::hold(std::uint64_t block) {
  const Locked locked(&head_[0].lock);
  const std::uint32_t place = find(block);
  if (place == kNone) return std::nullopt;
  Entry& entry = entries_[place];
  if (entry.state.load(std::memory_order_relaxed) != PlaceState::ready) return std::nullopt;
  ++entry.readers;
  return Placed{block, place};
}

void Directory::release(const Placed& placed) {
  const Locked locked(&head_[0].lock);
  Entry& entry = entries_[placed.place];
  TENTQ_CHECK(entry.readers > 0 && entry.block == placed.block);
  --entry.readers;
  if (entry.readers == 0 && entry.state.load(std::memory_order_relaxed) == PlaceState::failed) {
    free_place(placed.place);
  }
}

void Directory::finish_write(const Placed& placed) {
  const Locked locked(&head_[0].lock);
  Entry& entry = entries_[placed.place];
  TENTQ_CHECK(entry.block == placed.block &&
              entry.state.load(std::memory_order_relaxed) == PlaceState::writing);
  if (entry.retired) return drop_block(placed.place);
  // Partner: state(). The block's bytes are there since its WRITE ended COMPLETED.
  entry.state.store(PlaceState::ready, std::memory_order_release);
}

void Directory::fail_write(const Placed& placed) {
  const Locked locked(&head_[0].lock);
  Entry& entry = entries_[placed.place];
  TENTQ_CHECK(entry.block == placed.block &&
              entry.state.load(std::memory_order_relaxed) == PlaceState::writing);
  drop_block(placed.place);
}

void Directory::drop_block(std::uint32_t place) {
  Entry& entry = entries_[place];
  entry.state.store(PlaceState::failed, std::memory_order_release);
  unhash(place);
  unlink(place);
  if (entry.readers == 0) free_place(place);
}

// A block that is being written is dropped when its write has ended.
void Directory::retire(std::uint32_t first, std::uint32_t step) {
  const Locked locked(&head_[0].lock);
  std::uint32_t* link = &head_[0].free;
  while (*link != kNone) {
    const std::uint32_t place = *link;
    Entry& entry = entries_[place];
    if (place % step == first) {
      *link = std::exchange(entry.newer, kNone);
    } else {
      link = &entry.newer;
    }
  }
  for (std::uint32_t place = first; place < places(); place += step) {
    Entry& entry = entries_[place];
    entry.retired = true;
    if (entry.state.load(std::memory_order_relaxed) == PlaceState::ready) drop_block(place);
  }
}

PlaceState Directory::state(const Placed& placed) const {
  return entries_[placed.place].state.load(std::memory_order_acquire);
}

std::uint32_t& Directory::bucket_of(std::uint64_t block) {
  return buckets_[Random(block).next() & (buckets_.size() - 1)];
}

std::uint32_t Directory::find(std::uint64_t block) {
  std::uint32_t place = bucket_of(block);
  while (place != kNone && entries_[place].block != block) place = entries_[place].next_in_bucket;
  return place;
}

void Directory::unhash(std::uint32_t place) {
  std::uint32_t* link = &bucket_of(entries_[place].block);
  while (*link != place) {
    TENTQ_CHECK(*link != kNone);
    link = &entries_[*link].next_in_bucket;
  }
  *link = std::exchange(entries_[place].next_in_bucket, kNone);
}

void Directory::unlink(std::uint32_t place) {
  Entry& entry = entries_[place];
  (entry.newer == kNone ? head_[0].newest : entries_[entry.newer].older) = entry.older;
  (entry.older == kNone ? head_[0].oldest : entries_[entry.older].newer) = entry.newer;
  entry.newer = entry.older = kNone;
}

void Directory::link_newest(std::uint32_t place) {
  Entry& entry = entries_[place];
  entry.newer = kNone;
  entry.older = std::exchange(head_[0].newest, place);
  (entry.older == kNone ? head_[0].oldest : entries_[entry.older].newer) = place;
}

void Directory::free_place(std::uint32_t place) {
  Entry& entry = entries_[place];
  entry.state.store(PlaceState::empty, std::memory_order_release);
  entry.older = kNone;
  if (entry.retired) return;
  entry.newer = std::exchange(head_[0].free, place);
}

std::uint32_t Directory::take_place() {
  if (head_[0].free != kNone) {
    const std::uint32_t place = head_[0].free;
    head_[0].free = std::exchange(entries_[place].newer, kNone);
    return place;
  }
  for (std::uint32_t place = head_[0].oldest; place != kNone; place = entries_[place].newer) {
    const Entry& entry = entries_[place];
    if (entry.readers > 0 || entry.state.load(std::memory_order_relaxed) != PlaceState::ready) {
      continue;
    }
    unhash(place);
    unlink(place);
    return place;
  }
  return kNone;
}

void Directory::check_invariants() {
  const Locked locked(&head_[0].lock);
  std::uint32_t listed = 0, free = 0, waiting = 0, hashed = 0, gone = 0;
  for (std::uint32_t place = head_[0].oldest; place != kNone; place = entries_[place].newer) {
    TENTQ_CHECK(find(entries_[place].block) == place);
    TENTQ_CHECK(++listed <= places());
  }
  for (std::uint32_t place = head_[0].free; place != kNone; place = entries_[place].newer) {
    TENTQ_CHECK(entries_[place].state.load() == PlaceState::empty && entries_[place].readers == 0);
    TENTQ_CHECK(++free <= places());
  }
  for (const Entry& entry : entries_.span()) {
    if (entry.retired && entry.state.load() == PlaceState::empty) ++gone;
    if (entry.state.load() == PlaceState::failed) {
      TENTQ_CHECK(entry.readers > 0);
      ++waiting;
    }
  }
  for (std::uint32_t place : buckets_.span()) {
    for (; place != kNone; place = entries_[place].next_in_bucket) ++hashed;
  }
  TENTQ_CHECK(listed + free + waiting + gone == places() && hashed == listed);
}

}  // namespace tentq::bench
