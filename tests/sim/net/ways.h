// The ways between pairs of hosts: whether there is a link, and when something gets through.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tests/sim/scenario.h"

namespace tentq::sim {

struct Way {
  std::uint32_t low = 0;  // the two hosts
  std::uint32_t high = 0;
  bool up = true;
  std::int64_t over_ns = 0;  // since when it is not up
  std::int64_t blocked_from_ns = kNeverNs;
  std::int64_t blocked_until_ns = 0;
  std::int64_t back_ns = 0;  // no link before; later ones count

  std::uint32_t other(std::uint32_t host) const { return host == low ? high : low; }
  bool blocks(std::int64_t at_ns) const {
    return at_ns >= blocked_from_ns && at_ns < blocked_until_ns;
  }
  // When data that leaves then sets off: TCP sends it again until it gets through.
  std::int64_t through_ns(std::int64_t leaves_ns) const {
    return blocks(leaves_ns) ? blocked_until_ns : leaves_ns;
  }
};

class Ways {
 public:
  // Index of the way between two hosts; made when there is none.
  std::uint32_t between(std::uint32_t a, std::uint32_t b) {
    const std::uint64_t key = std::uint64_t{std::min(a, b)} << 32 | std::max(a, b);
    const auto [found, fresh] = indices_.try_emplace(key, static_cast<std::uint32_t>(ways_.size()));
    if (fresh) ways_.push_back({std::min(a, b), std::max(a, b)});
    return found->second;
  }
  Way& operator[](std::uint32_t index) { return ways_[index]; }
  const Way& operator[](std::uint32_t index) const { return ways_[index]; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(ways_.size()); }

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> indices_;
  std::vector<Way> ways_;
};

}  // namespace tentq::sim
