// The tree of buckets. See deadline_order.h.
#include "daemon/core/deadline_order.h"

#include <algorithm>
#include <bit>

namespace tentq::core {

// At worst every owner has a node of its own in every level.
DeadlineOrder::DeadlineOrder(std::uint32_t owners)
    : nodes_(std::min(owners, kNone / kLevels - 1) * kLevels),
      sums_(std::size_t{std::min(owners, kNone / kLevels - 1)} * kLevels) {}

std::uint32_t DeadlineOrder::key_of(std::int64_t deadline_ns) const {
  const std::uint64_t due =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, deadline_ns)) >> kShift;
  return static_cast<std::uint32_t>(std::clamp(due, base_, base_ + kMostAhead)) & kMask;
}

std::uint32_t DeadlineOrder::add_node() {
  const std::uint32_t node = nodes_.take();
  TENTQ_CHECK(node != kNone);
  TENTQ_CHECK(nodes_[node].filled == 0);
  if (counts_) sums_[node].fill(0);
  return node;
}

DeadlineOrder::Path DeadlineOrder::path_to(std::uint32_t root, std::uint32_t key) const {
  Path path;
  path.fill(kNone);
  std::uint32_t node = root;
  for (std::uint32_t level = kLevels; level-- != 0 && node != kNone;) {
    path[level] = node;
    const std::uint32_t at = digit(key, level);
    const bool there = level != 0 && (nodes_[node].filled >> at & 1) != 0;
    node = there ? nodes_[node].entries[at] : kNone;
  }
  return path;
}

// The root's entries go round, from where the order begins.
std::uint32_t DeadlineOrder::entry_before(std::uint32_t level, std::uint64_t filled,
                                          std::uint32_t digit) const {
  const std::uint32_t first = level == kLevels - 1 ? first_entry() : 0;
  const std::uint64_t turned = std::rotr(filled, static_cast<int>(first));
  const std::uint32_t place = (digit - first) & 63;
  const std::uint64_t ahead = turned & ((std::uint64_t{1} << place) - 1);
  if (ahead == 0) return 64;
  return (63 - static_cast<std::uint32_t>(std::countl_zero(ahead)) + first) & 63;
}

std::uint32_t DeadlineOrder::last_below(std::uint32_t node, std::uint32_t level) const {
  for (; level != 0; --level) {
    const auto at = 63 - static_cast<std::uint32_t>(std::countl_zero(nodes_[node].filled));
    node = nodes_[node].entries[at];
  }
  return nodes_[node]
      .entries[63 - static_cast<std::uint32_t>(std::countl_zero(nodes_[node].filled))];
}

std::uint32_t DeadlineOrder::before(const Path& path, std::uint32_t key) const {
  for (std::uint32_t level = 0; level < kLevels; ++level) {
    if (path[level] == kNone) continue;
    const Node& node = nodes_[path[level]];
    const std::uint32_t at = entry_before(level, node.filled, digit(key, level));
    if (at == 64) continue;
    return level == 0 ? node.entries[at] : last_below(node.entries[at], level - 1);
  }
  return kNone;
}

std::uint32_t DeadlineOrder::append(std::uint32_t* root, std::uint32_t key, std::uint32_t owner) {
  if (*root == kNone) *root = add_node();
  Path path;
  std::uint32_t node = *root;
  for (std::uint32_t level = kLevels - 1; level != 0; --level) {
    path[level] = node;
    const std::uint32_t at = digit(key, level);
    if ((nodes_[node].filled >> at & 1) == 0) {
      const std::uint32_t below = add_node();
      nodes_[node].entries[at] = below;
      nodes_[node].filled |= std::uint64_t{1} << at;
    }
    node = nodes_[node].entries[at];
  }
  path[0] = node;
  const std::uint32_t at = digit(key, 0);
  const std::uint64_t bit = std::uint64_t{1} << at;
  const bool has_others = (nodes_[node].filled & bit) != 0;
  const std::uint32_t previous = has_others ? nodes_[node].entries[at] : before(path, key);
  nodes_[node].filled |= bit;
  nodes_[node].entries[at] = owner;
  return previous;
}

std::uint32_t DeadlineOrder::last_before(std::uint32_t root, std::uint32_t key) const {
  return before(path_to(root, key), key);
}

std::uint32_t DeadlineOrder::last(std::uint32_t root) const {
  if (root == kNone) return kNone;
  const std::uint32_t first = first_entry();
  const std::uint64_t turned = std::rotr(nodes_[root].filled, static_cast<int>(first));
  const std::uint32_t at = (63 - static_cast<std::uint32_t>(std::countl_zero(turned)) + first) & 63;
  return last_below(nodes_[root].entries[at], kLevels - 2);
}

std::uint32_t DeadlineOrder::last_of(std::uint32_t root, std::uint32_t key) const {
  const std::uint32_t node = path_to(root, key)[0];
  if (node == kNone || (nodes_[node].filled >> digit(key, 0) & 1) == 0) return kNone;
  return nodes_[node].entries[digit(key, 0)];
}

void DeadlineOrder::set_last(std::uint32_t* root, std::uint32_t key, std::uint32_t owner) {
  const Path path = path_to(*root, key);
  TENTQ_CHECK(path[0] != kNone);
  if (owner != kNone) {
    nodes_[path[0]].entries[digit(key, 0)] = owner;
    return;
  }
  for (std::uint32_t level = 0; level < kLevels; ++level) {
    Node& node = nodes_[path[level]];
    node.filled &= ~(std::uint64_t{1} << digit(key, level));
    if (node.filled != 0) return;
    nodes_.give(path[level]);
  }
  *root = kNone;
}

void DeadlineOrder::count_bytes(bool counted) {
  counts_ = counted;
  if (!counted) return;
  for (std::uint32_t node = 0; node < nodes_.high_water(); ++node) sums_[node].fill(0);
}

void DeadlineOrder::add_bytes(std::uint32_t root, std::uint32_t key, std::uint64_t bytes) {
  const Path path = path_to(root, key);
  TENTQ_CHECK(path[0] != kNone);
  for (std::uint32_t level = 0; level < kLevels; ++level) {
    sums_[path[level]][digit(key, level)] += bytes;
  }
}

void DeadlineOrder::take_bytes(std::uint32_t root, std::uint32_t key, std::uint64_t bytes) {
  const Path path = path_to(root, key);
  TENTQ_CHECK(path[0] != kNone);
  for (std::uint32_t level = 0; level < kLevels; ++level) {
    std::uint64_t& sum = sums_[path[level]][digit(key, level)];
    TENTQ_CHECK(sum >= bytes);
    sum -= bytes;
  }
}

std::uint64_t DeadlineOrder::bytes_until(std::uint32_t root, std::uint32_t key) const {
  TENTQ_CHECK(counts_);
  const Path path = path_to(root, key);
  std::uint64_t bytes = 0;
  for (std::uint32_t level = 0; level < kLevels; ++level) {
    if (path[level] == kNone) continue;
    const std::uint32_t first = level == kLevels - 1 ? first_entry() : 0;
    const std::uint32_t places = ((digit(key, level) - first) & 63) + (level == 0 ? 1 : 0);
    for (std::uint32_t place = 0; place < places; ++place) {
      bytes += sums_[path[level]][(first + place) & 63];
    }
  }
  return bytes;
}

std::uint32_t DeadlineOrder::buckets_below(std::uint32_t node, std::uint32_t level) const {
  if (node == kNone) return 0;
  std::uint64_t bits = nodes_[node].filled;
  TENTQ_CHECK(bits != 0);
  if (level == 0) return static_cast<std::uint32_t>(std::popcount(bits));
  std::uint32_t sum = 0;
  for (; bits != 0; bits &= bits - 1) {
    sum += buckets_below(nodes_[node].entries[static_cast<std::size_t>(std::countr_zero(bits))],
                         level - 1);
  }
  return sum;
}

}  // namespace tentq::core
