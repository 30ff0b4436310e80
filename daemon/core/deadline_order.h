// The order of deadlines inside a leaf: which owner stands last in each bucket of 2^18 ns (262 µs),
// so that a new one finds its place behind all that are due no later, whatever waits. The owners
// themselves stand in the leaf's one list; this is the index into it: a tree of bitmaps over bucket
// numbers, four levels of 64. Numbers go round
// after 73 minutes, which is why only deadlines nearer than that have a place. Conductor thread.
#pragma once

#include <array>
#include <cstdint>

#include "daemon/core/slab.h"

namespace tentq::core {

class DeadlineOrder {
 public:
  explicit DeadlineOrder(std::uint32_t owners);

  // Whatever was due a minute before `now` is gone: the order begins there.
  void advance(std::int64_t now_ns) {
    const std::uint64_t bucket = static_cast<std::uint64_t>(now_ns) >> kShift;
    base_ = bucket > kLate ? bucket - kLate : 0;
  }
  // Whether a deadline is near enough to be told apart until it is over: about 71 minutes. Whoever
  // is due later stands with those who have no deadline.
  bool can_tell(std::int64_t deadline_ns) const {
    return static_cast<std::uint64_t>(deadline_ns) >> kShift <= base_ + kMostAhead;
  }
  // The key of a deadline; owners with the same key keep their order.
  std::uint32_t key_of(std::int64_t deadline_ns) const;
  // Whether `a` is due in an earlier bucket than `b`.
  bool is_earlier(std::uint32_t a, std::uint32_t b) const { return place_of(a) < place_of(b); }

  // A tree is named by its root, kNone while it is empty.
  // The owner becomes the last one of its bucket. Returns whom it stands behind, or kNone: first.
  std::uint32_t append(std::uint32_t* root, std::uint32_t key, std::uint32_t owner);
  // The last owner of all buckets before this one, or kNone.
  std::uint32_t last_before(std::uint32_t root, std::uint32_t key) const;
  // The last owner of all, or kNone.
  std::uint32_t last(std::uint32_t root) const;
  // The last owner of the bucket, or kNone when there is none in it.
  std::uint32_t last_of(std::uint32_t root, std::uint32_t key) const;
  // Another owner of the bucket is its last one now; kNone: it is empty.
  void set_last(std::uint32_t* root, std::uint32_t key, std::uint32_t owner);

  // Bytes of the owners in a bucket, for those who ask what is due before. Kept only while they are
  // counted, from and until the trees are told; starting anew forgets all of them.
  void count_bytes(bool counted);
  bool counts_bytes() const { return counts_; }
  void add_bytes(std::uint32_t root, std::uint32_t key, std::uint64_t bytes);
  void take_bytes(std::uint32_t root, std::uint32_t key, std::uint64_t bytes);
  // Of the bucket and all before it.
  std::uint64_t bytes_until(std::uint32_t root, std::uint32_t key) const;

  // Buckets that are not empty; looks at all of them.
  std::uint32_t buckets(std::uint32_t root) const { return buckets_below(root, kLevels - 1); }
  // In use, of all trees.
  std::uint32_t nodes() const { return nodes_.taken(); }

 private:
  static constexpr std::uint32_t kShift = 18;  // of nanoseconds
  static constexpr std::uint32_t kLevels = 4;
  static constexpr std::uint32_t kDigit = 6;  // bits
  static constexpr std::uint32_t kMask = (1u << kLevels * kDigit) - 1;
  static constexpr std::uint32_t kTop = 1u
                                        << (kLevels - 1) * kDigit;  // buckets below a root's entry
  static constexpr std::uint64_t kLate = kTop;
  // Buckets from the beginning that are told apart. The root's first entry is not used twice.
  static constexpr std::uint64_t kMostAhead = kMask - 2 * kTop;

  struct Node {
    std::uint64_t filled = 0;
    std::array<std::uint32_t, 64> entries;  // nodes of the level below; in the lowest: owners
  };
  using Sums = std::array<std::uint64_t, 64>;  // of what is below each entry
  using Path = std::array<std::uint32_t, kLevels>;

  std::uint32_t place_of(std::uint32_t key) const {
    return (key - static_cast<std::uint32_t>(base_)) & kMask;
  }
  // The entry of a root that the order begins in.
  std::uint32_t first_entry() const {
    return digit(static_cast<std::uint32_t>(base_) & kMask, kLevels - 1);
  }
  static std::uint32_t digit(std::uint32_t key, std::uint32_t level) {
    return key >> level * kDigit & 63;
  }
  std::uint32_t add_node();
  // Nodes on the way to the key, as far as there are any: from the top, the rest kNone.
  Path path_to(std::uint32_t root, std::uint32_t key) const;
  std::uint32_t before(const Path& path, std::uint32_t key) const;
  // Of a node's entries before a digit, the last one; 64 = there is none.
  std::uint32_t entry_before(std::uint32_t level, std::uint64_t filled, std::uint32_t digit) const;
  std::uint32_t buckets_below(std::uint32_t node, std::uint32_t level) const;
  std::uint32_t last_below(std::uint32_t node, std::uint32_t level) const;

  std::uint64_t base_ = 0;  // the bucket that the order begins with
  Slab<Node> nodes_;
  Arena<Sums> sums_;  // of the same nodes
  bool counts_ = false;
};

}  // namespace tentq::core
