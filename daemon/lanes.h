// The lanes of this host and the transports behind them. A lane is transport, device, peer and the
// direction of the data; between processes of one host there are two.
#pragma once

#include <array>
#include <string_view>

#include "proto/cell.h"
#include "proto/ids.h"

namespace tentq {

inline constexpr LaneId kShmReadLane{0};
inline constexpr LaneId kShmWriteLane{1};
inline constexpr std::size_t kLaneCount = 2;
inline constexpr std::array<std::string_view, kLaneCount> kLaneNames = {"shm read", "shm write"};

// Lanes to other hosts follow.
constexpr bool is_shm(LaneId lane) {
  return lane.value() < kLaneCount;
}

constexpr LaneId lane_of(Op op) {
  return op == Op::read ? kShmReadLane : kShmWriteLane;
}

}  // namespace tentq
