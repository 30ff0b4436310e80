// Which Store holds which block: the engines' shared, least-recently-used directory. It lies in
// memory shared by fork; every call takes one process-shared lock for a few microseconds.
//
// A place that is being written or read is never given to another block: a hit counts as a reader
// until release(), a new block counts as being written until finish_write() or fail_write(). A hit
// may still be in writing by another request; wait until state() is not `writing`.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tests/support/role.h"

namespace tentq::bench {

enum class PlaceState : std::uint32_t { empty, writing, ready, failed };

struct Placed {
  std::uint64_t block = 0;
  std::uint32_t place = 0;  // 0 … places − 1
};

struct Plan {
  std::vector<Placed> hits;    // read these, then release() each
  std::vector<Placed> misses;  // write these, then finish_write() or fail_write() each
  std::uint64_t skipped = 0;   // new blocks for which every place was in use
};

class Directory {
 public:
  explicit Directory(std::uint32_t places);

  // All blocks of one request in one step, as an LRU sees them in this order.
  Plan plan(std::span<const std::uint64_t> blocks);
  // A reader's hold on a block that is ready, without counting as a use; nullopt if there is none.
  std::optional<Placed> hold(std::uint64_t block);
  void release(const Placed& placed);
  void finish_write(const Placed& placed);
  // The block is not there after all; who holds it sees `failed`.
  void fail_write(const Placed& placed);
  PlaceState state(const Placed& placed) const;
  // Places first, first + step, … are lost with what they held and are not used again.
  void retire(std::uint32_t first, std::uint32_t step);

  std::uint32_t places() const { return static_cast<std::uint32_t>(entries_.size()); }
  // Asserts the lists and counts; O(places).
  void check_invariants();

 private:
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  struct Entry {
    std::uint64_t block = 0;
    std::atomic<PlaceState> state{PlaceState::empty};  // stored under the lock, read without it
    std::uint32_t readers = 0;
    bool retired = false;
    std::uint32_t newer = kNone;  // LRU list, or the free list through `newer`
    std::uint32_t older = kNone;
    std::uint32_t next_in_bucket = kNone;
  };
  struct Head {
    pthread_mutex_t lock;
    std::uint32_t newest = kNone;
    std::uint32_t oldest = kNone;
    std::uint32_t free = kNone;
  };
  class Locked;

  std::uint32_t& bucket_of(std::uint64_t block);
  std::uint32_t find(std::uint64_t block);
  void unhash(std::uint32_t place);
  void unlink(std::uint32_t place);
  void link_newest(std::uint32_t place);
  void free_place(std::uint32_t place);
  void drop_block(std::uint32_t place);  // who holds it sees `failed`
  std::uint32_t take_place();            // free, or of the oldest block not in use; kNone

  test::SharedArray<Entry> entries_;
  test::SharedArray<std::uint32_t> buckets_;
  test::SharedArray<Head> head_;
};

}  // namespace tentq::bench
