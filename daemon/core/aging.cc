// Heaps of leaves by the age of their heads.
#include "daemon/core/aging.h"

#include <algorithm>
#include <limits>

#include "daemon/core/hash.h"

namespace tentq::core {
namespace {

constexpr std::int64_t kNeverDue = std::numeric_limits<std::int64_t>::max();

}  // namespace

Aging::Aging(std::uint32_t sessions, std::uint32_t lanes, const Leaves* leaves, const Lanes* shapes,
             const OwnerTable* owners)
    : sessions_(sessions),
      lanes_(lanes),
      leaves_(leaves),
      shapes_(shapes),
      owners_(owners),
      entries_(kMaxClasses * std::size_t{sessions} * lanes),
      places_(kMaxClasses * std::size_t{sessions} * lanes),
      counts_(kMaxClasses * std::size_t{lanes}),
      due_ns_(lanes, kNeverDue),
      credit_(lanes, 1) {
  for (std::size_t i = 0; i < kMaxClasses * std::size_t{sessions} * lanes; ++i) places_[i] = kNone;
}

void Aging::set_age_max(std::int64_t age_max_ns) {
  age_max_ns_ = age_max_ns;
  for (std::uint32_t lane = 0; lane < lanes_; ++lane) expect(lane);
}

void Aging::clear() {
  for (std::size_t heap = 0; heap < counts_.size(); ++heap) {
    while (counts_[heap] != 0) {
      place_of(heap, entries(heap)[--counts_[heap]].session) = kNone;
    }
  }
  std::fill(due_ns_.begin(), due_ns_.end(), kNeverDue);
  std::fill(credit_.begin(), credit_.end(), 1);
}

void Aging::put(std::size_t heap, std::uint32_t place, const Entry& entry) {
  entries(heap)[place] = entry;
  place_of(heap, entry.session) = place;
}

void Aging::rise(std::size_t heap, std::uint32_t place, const Entry& entry) {
  while (place != 0) {
    const std::uint32_t parent = (place - 1) / 2;
    if (entries(heap)[parent].since_ns <= entry.since_ns) break;
    put(heap, place, entries(heap)[parent]);
    place = parent;
  }
  put(heap, place, entry);
}

// From the front.
void Aging::sink(std::size_t heap, const Entry& entry) {
  const std::uint32_t count = counts_[heap];
  std::uint32_t place = 0;
  for (std::uint32_t child = 1; child < count; child = 2 * place + 1) {
    const Entry* both = &entries(heap)[child];
    if (child + 1 < count && both[1].since_ns < both[0].since_ns) child += 1;
    if (entries(heap)[child].since_ns >= entry.since_ns) break;
    put(heap, place, entries(heap)[child]);
    place = child;
  }
  put(heap, place, entry);
}

void Aging::drop_front(std::size_t heap) {
  place_of(heap, entries(heap)[0].session) = kNone;
  const std::uint32_t last = --counts_[heap];
  if (last != 0) sink(heap, entries(heap)[last]);
}

void Aging::entered(const LeafKey& key, std::int64_t enqueued_ns) {
  const std::size_t heap = heap_of(key.cls, key.lane);
  std::uint32_t place = place_of(heap, key.session);
  const bool is_known = place != kNone;
  if (is_known && entries(heap)[place].since_ns <= enqueued_ns) return;
  if (!is_known) place = counts_[heap]++;
  rise(heap, place, {enqueued_ns, key.session});
  due_ns_[key.lane] = std::min(due_ns_[key.lane], enqueued_ns + age_max_ns_);
}

// Of `classes`, that with the front that stands for the longest time; kNone when all are empty.
std::uint32_t Aging::oldest_class(std::uint32_t lane, std::uint32_t classes) const {
  std::uint32_t oldest = kNone;
  std::int64_t since_ns = kNeverDue;
  for (std::uint32_t bits = classes; bits != 0; bits &= bits - 1) {
    const std::uint32_t cls = static_cast<std::uint32_t>(std::countr_zero(bits));
    const std::size_t heap = heap_of(cls, lane);
    if (counts_[heap] == 0) continue;
    const std::int64_t since = entries_[heap * sessions_].since_ns;
    if (oldest != kNone && since >= since_ns) continue;
    oldest = cls;
    since_ns = since;
  }
  return oldest;
}

void Aging::expect(std::uint32_t lane) {
  const std::uint32_t oldest = oldest_class(lane, kClientClassMask);
  due_ns_[lane] = oldest == kNone
                      ? kNeverDue
                      : entries_[heap_of(oldest, lane) * sessions_].since_ns + age_max_ns_;
}

bool Aging::pick(std::uint32_t lane, std::int64_t now_ns, LeafKey* key) {
  const std::uint32_t ready = (*shapes_)[lane].ready;
  for (std::uint32_t look = 0; look < kMostLooks; ++look) {
    const std::uint32_t cls = oldest_class(lane, ready);
    if (cls == kNone) break;
    const std::size_t heap = heap_of(cls, lane);
    Entry front = entries(heap)[0];
    if (!is_too_old(front.since_ns, now_ns)) break;
    LeafKey found{cls, 0, front.session, lane};
    const std::uint32_t head = leaves_->leaf(found).head;
    if (head == kNone) {
      drop_front(heap);
      continue;
    }
    found.client = (*owners_)[head].client;
    const std::int64_t enqueued_ns = (*owners_)[head].enqueued_ns;
    if (leaves_->is_hidden(cls, found.client)) {
      // Not eligible: it grows old from the time that it is looked at again.
      front.since_ns = now_ns;
      sink(heap, front);
    } else if (enqueued_ns > front.since_ns) {
      front.since_ns = enqueued_ns;
      sink(heap, front);
    } else {
      expect(lane);
      *key = found;
      return true;
    }
  }
  expect(lane);
  return false;
}

std::uint64_t Aging::hash(std::uint64_t seed) const {
  std::uint64_t hash = fold(seed, static_cast<std::uint64_t>(age_max_ns_));
  for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
    hash = fold(hash, static_cast<std::uint64_t>(credit_[lane]));
  }
  for (std::size_t heap = 0; heap < counts_.size(); ++heap) {
    for (std::uint32_t i = 0; i < counts_[heap]; ++i) {
      const Entry& entry = entries_[heap * sessions_ + i];
      hash = fold(fold(hash, static_cast<std::uint64_t>(entry.since_ns)), entry.session);
    }
  }
  return hash;
}

void Aging::check() const {
  for (std::uint32_t cls = 1; cls < kMaxClasses; ++cls) {
    for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
      const std::size_t heap = heap_of(cls, lane);
      for (std::uint32_t i = 0; i < counts_[heap]; ++i) {
        const Entry& entry = entries_[heap * sessions_ + i];
        const Entry& parent = entries_[heap * sessions_ + (i == 0 ? 0 : (i - 1) / 2)];
        TENTQ_CHECK(parent.since_ns <= entry.since_ns);
        TENTQ_CHECK(places_[heap * sessions_ + entry.session] == i);
        TENTQ_CHECK(entry.since_ns >= due_ns_[lane] - age_max_ns_);
      }
    }
    leaves_->for_each_leaf(cls, [this, cls](const LeafKey& key) {
      TENTQ_CHECK(places_[heap_of(cls, key.lane) * sessions_ + key.session] != kNone);
    });
  }
}

}  // namespace tentq::core
