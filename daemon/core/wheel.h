// A hierarchical timing wheel over owners: buckets of 2^18 ns (262 µs), four levels of 256, so that
// setting, taking and finding the next time cost O(1). A time is reported at the end of its bucket:
// never early, at most a bucket late. Beyond 13 days it is looked at again. Conductor thread.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "daemon/core/owner_table.h"

namespace tentq::core {

// Saturates: a duration may be anything.
inline std::int64_t later(std::int64_t when_ns, std::int64_t by_ns) {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  return when_ns > kEnd - by_ns ? kEnd : when_ns + by_ns;
}

class Wheel {
 public:
  explicit Wheel(OwnerTable* owners);

  // Links the owner at its due time (OwnerExtras::due_ns); it must not be linked.
  void set(std::uint32_t owner);
  // Unlinks it; nothing when it is not linked.
  void drop(std::uint32_t owner) {
    if (((*owners_)[owner].flags & kInWheel) != 0) unlink(owner);
  }
  bool is_due(std::int64_t now_ns) const { return count_ != 0 && now_ns >= next_ns_; }
  // One owner whose bucket has ended at `now_ns`, unlinked; kNone when there is none (more).
  std::uint32_t take_due(std::int64_t now_ns);
  // When take_due must be called next; 0 when nothing is linked. Never later than needed; earlier
  // only after the first one was dropped.
  std::int64_t next_ns() const { return count_ == 0 ? 0 : next_ns_; }
  std::uint32_t count() const { return count_; }

 private:
  static constexpr std::uint32_t kShift = 18;
  static constexpr std::uint32_t kLevels = 4;
  static constexpr std::uint32_t kSlots = 256;
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  void unlink(std::uint32_t owner);
  std::uint32_t find_due(std::int64_t now_ns);
  std::int64_t first_ns() const;
  // Returns the tick at which the owner's bucket must be looked at.
  std::uint64_t link(std::uint32_t owner, std::uint64_t due_tick);
  void cascade(std::uint64_t tick);
  // Distance in slots, 1 … 256, to the next filled one of a level; 0 = none. Level 0: 0 … 255,
  // kSlots.
  std::uint32_t distance(std::uint32_t level, std::uint32_t from, std::uint32_t least) const;
  std::uint64_t next_bucket_tick() const;
  std::uint64_t next_cascade_tick() const;

  OwnerTable* owners_;
  std::uint64_t current_ = 0;  // the first tick whose bucket has not ended
  std::uint32_t count_ = 0;
  std::int64_t next_ns_ = 0;
  std::array<std::array<std::uint64_t, kSlots / 64>, kLevels> filled_{};
  std::array<std::uint32_t, kLevels * kSlots> heads_;
};

}  // namespace tentq::core
