// How owners name their side on another host. In the core both sides are a RegionIndex; those of
// other hosts have the top bit set and say which entry of a table here is meant.
#pragma once

#include <cstdint>

#include "proto/ids.h"

namespace tentq {

inline constexpr std::uint32_t kElsewhereBit = 1u << 31;

constexpr bool is_elsewhere(RegionIndex index) {
  return index.valid() && (index.value() & kElsewhereBit) != 0;
}
constexpr RegionIndex elsewhere(std::uint32_t entry) {
  return RegionIndex{entry | kElsewhereBit};
}
constexpr std::uint32_t entry_of(RegionIndex index) {
  return index.value() & ~kElsewhereBit;
}

}  // namespace tentq
