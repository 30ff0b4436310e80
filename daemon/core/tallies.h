// How much stands where, kept up to date with every step so that totals cost nothing. Conductor
// thread. Bytes.
#pragma once

#include <array>
#include <cstdint>

#include "daemon/core/owner.h"
#include "proto/classes.h"

namespace tentq::core {

inline constexpr std::size_t kLiveStates = index_of_state(OwnerState::draining) + 1;

// Live owners by state.
struct StateCounts {
  std::array<std::uint64_t, kLiveStates> counts{};

  std::uint64_t& in(OwnerState state) { return counts[index_of_state(state)]; }
  std::uint64_t in(OwnerState state) const { return counts[index_of_state(state)]; }
  std::uint64_t queued() const { return in(OwnerState::queued) + in(OwnerState::route_pending); }
  std::uint64_t in_flight() const {
    return in(OwnerState::dispatching) + in(OwnerState::submitted) + in(OwnerState::draining);
  }
  std::uint64_t live() const { return queued() + in_flight(); }
};

struct ClassTally {
  StateCounts owners;
  std::uint64_t queued_bytes = 0;     // not handed over, of all live owners
  std::uint64_t in_flight_bytes = 0;  // of chunks
};
using ClassTallies = std::array<ClassTally, kMaxClasses>;

}  // namespace tentq::core
