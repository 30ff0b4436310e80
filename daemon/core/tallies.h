// How much stands where, per class and per lane, kept up to date with every step so that totals
// cost nothing. Conductor thread.
#pragma once

#include <array>
#include <cstdint>

#include "proto/classes.h"

namespace tentq::core {

struct ClassTally {
  std::uint64_t queued_owners = 0;  // without those in flight; with those that have no route
  std::uint64_t queued_bytes = 0;   // not handed over, of all live owners
  std::uint64_t in_flight_owners = 0;
  std::uint64_t in_flight_bytes = 0;  // of chunks
  std::uint64_t route_pending_owners = 0;
  std::uint64_t draining_owners = 0;
};
using ClassTallies = std::array<ClassTally, kMaxClasses>;

}  // namespace tentq::core
