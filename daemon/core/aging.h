// Which head of a lane is the oldest, and how much of the lane old heads may take before their
// turn: a tenth of its bytes, and at most two chunks in a row. Kept lazily: a leaf stands in the
// heap of its class and lane by a time that its head is not older than, which is put right when it
// comes to the front; nothing is done for owners that come and go. Conductor thread. Nanoseconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "daemon/core/lanes.h"
#include "daemon/core/leaves.h"

namespace tentq::core {

class Aging {
 public:
  Aging(std::uint32_t sessions, std::uint32_t lanes, const Leaves* leaves, const Lanes* shapes,
        const OwnerTable* owners);

  // 0 = no head is ever too old.
  void set_age_max(std::int64_t age_max_ns);
  // No leaf is known any more.
  void clear();

  // A leaf got its first owner, or one that is older than the others may be.
  void entered(const LeafKey& key, std::int64_t enqueued_ns);
  // A head of the lane may be too old, and old heads may take a chunk of it.
  bool is_due(std::uint32_t lane, std::int64_t now_ns) const {
    return now_ns > due_ns_[lane] && credit_[lane] > 0 && age_max_ns_ != 0;
  }
  // The oldest head that is too old, of the classes that the lane takes a chunk of.
  bool pick(std::uint32_t lane, std::int64_t now_ns, LeafKey* key);
  // A chunk went on the lane; `early`: before its turn, because its owner was old.
  void served(std::uint32_t lane, std::uint64_t bytes, bool early) {
    const auto length = static_cast<std::int64_t>(bytes);
    const std::int64_t most = kParts * static_cast<std::int64_t>((*shapes_)[lane].largest_chunk);
    credit_[lane] = std::min(most, credit_[lane] + length) - (early ? kParts * length : 0);
  }
  bool is_too_old(std::int64_t enqueued_ns, std::int64_t now_ns) const {
    return age_max_ns_ != 0 && now_ns - enqueued_ns > age_max_ns_;
  }
  // Bytes that others must send on the lane before an old head may go before its turn.
  std::uint64_t owed(std::uint32_t lane) const {
    return credit_[lane] > 0 ? 0 : static_cast<std::uint64_t>(1 - credit_[lane]);
  }
  std::uint64_t hash(std::uint64_t seed) const;
  // Every leaf is known by a time that its head is not older than.
  void check() const;

 private:
  struct Entry {
    std::int64_t since_ns = 0;
    std::uint32_t session = 0;
  };
  static constexpr std::int64_t kParts = 10;
  // Leaves looked at in one pick; the rest waits for the next one.
  static constexpr std::uint32_t kMostLooks = 8;

  std::size_t heap_of(std::uint32_t cls, std::uint32_t lane) const {
    return std::size_t{cls} * lanes_ + lane;
  }
  Entry* entries(std::size_t heap) { return &entries_[heap * sessions_]; }
  std::uint32_t& place_of(std::size_t heap, std::uint32_t session) {
    return places_[heap * sessions_ + session];
  }
  void put(std::size_t heap, std::uint32_t place, const Entry& entry);
  void rise(std::size_t heap, std::uint32_t place, const Entry& entry);
  void sink(std::size_t heap, const Entry& entry);
  void drop_front(std::size_t heap);
  std::uint32_t oldest_class(std::uint32_t lane, std::uint32_t classes) const;
  void expect(std::uint32_t lane);

  std::uint32_t sessions_;
  std::uint32_t lanes_;
  const Leaves* leaves_;
  const Lanes* shapes_;
  const OwnerTable* owners_;
  std::int64_t age_max_ns_ = 0;
  Arena<Entry> entries_;               // [class][lane][place]
  Arena<std::uint32_t> places_;        // [class][lane][session]; kNone: not in the heap
  std::vector<std::uint32_t> counts_;  // [class][lane]
  std::vector<std::int64_t> due_ns_;   // [lane]: no head is too old until then
  std::vector<std::int64_t> credit_;   // [lane]: tenths of bytes
};

}  // namespace tentq::core
