// Which routine suits a copy: decided by how recently both ranges were touched, not by the size of
// one copy alone. Pure and deterministic; one thread (the conductor); sizes in bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/ids.h"
#include "transports/shm/copy_routines.h"

namespace tentq {

// One side of a copy.
struct TouchedRange {
  RegionIndex region;
  std::uint64_t offset = 0;
};

// Keeps, for each 64 KiB of region touched lately, how many bytes had been touched in all by then.
// What was touched since is the most that can have pushed it out of the cache. A range counts as
// cached when at least half of it was touched within the last `cache_bytes`. Both ranges cached:
// ordinary stores are about twice as fast. Else non-temporal ones are, from 64 KiB on; below that
// the reader of the destination would pay more than the copy saves.
// The table is direct-mapped: a collision makes a range look cold, which costs speed, never bytes.
class CopyChooser {
 public:
  static constexpr std::uint64_t kGranule = 64u << 10;
  static constexpr std::uint64_t kLeastStreamed = 64u << 10;

  // `cache_bytes`: working set (sources and destinations together) that stays cached; 0 streams
  // everything that is long enough.
  CopyChooser(CopyRoutine cached, CopyRoutine streamed, std::uint64_t cache_bytes);

  // Picks the routine and records the touch of both ranges. Constant time per 64 KiB.
  CopyRoutine choose(TouchedRange to, TouchedRange from, std::uint64_t length);

 private:
  struct Entry {
    std::uint64_t key = kNoKey;
    std::uint64_t touched_by = 0;  // value of touched_ after the last touch
  };
  static constexpr std::uint64_t kNoKey = ~std::uint64_t{0};

  bool touch(TouchedRange range, std::uint64_t length);

  CopyRoutine cached_;
  CopyRoutine streamed_;
  std::uint64_t cache_bytes_;
  std::uint64_t touched_ = 0;  // bytes of both sides of all copies
  unsigned shift_ = 0;         // of the hash: 64 − log2(entries)
  std::vector<Entry> entries_;
};

// The working set that copies may keep in the cache, out of the sizes of the caches (0: unknown).
// Eight times the second level, because a virtual machine reports a shared third level of which it
// gets a small part; not more than half of the third level; 1 to 16 MiB.
std::uint64_t cache_bytes_for(std::uint64_t level2_bytes, std::uint64_t level3_bytes);

// The same for this host, from sysconf.
std::uint64_t cache_bytes_of_host();

}  // namespace tentq
