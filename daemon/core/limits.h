// Every bound of the core, with units and defaults. The hard maxima size the slabs at start;
// changes at run time stay below them.
#pragma once

#include <array>
#include <cstdint>

#include "daemon/core/event.h"
#include "proto/classes.h"
#include "proto/units.h"

namespace tentq::core {

enum class Policy : std::uint8_t {
  direct,  // no queueing: everything is handed over at once; the rollback
  fifo,    // one queue per lane, in order of arrival
  strict,  // the most urgent class first
  wdrr,    // weighted deficit round robin between classes
};

// Whether a call whose deadline cannot be met is admitted. Deadlines end owners in every mode.
enum class DeadlineMode : std::uint8_t {
  off,       // nothing is estimated
  advisory,  // it is admitted, and counted
  enforce,   // it is refused as unmeetable
};

// Chunks are cut to what a cap allows; smaller ones would cost more than they move.
inline constexpr std::uint64_t kLeastCap = 4096;

struct ClassLimits {
  std::uint32_t weight = 1;
  bool strict = false;  // under `wdrr`: before all classes that share by weight
  Amounts outstanding{65'536, std::uint64_t{64} << 30, 1u << 20};
  std::uint64_t in_flight_bytes = 0;  // most on a lane; 0 = its window alone bounds it
  std::uint64_t reserve_bytes = 0;    // of every lane's window, which other classes leave to it
};

// Foreground far before the rest, and everybody goes on: internal work has no weight.
constexpr std::array<ClassLimits, kMaxClasses> default_class_limits() {
  std::array<ClassLimits, kMaxClasses> classes{};
  classes[index_of(ClassId::foreground)].weight = 16;
  classes[index_of(ClassId::standard)].weight = 4;
  classes[index_of(ClassId::prefetch)].weight = 2;
  return classes;
}

struct Limits {
  Amounts host{65'536, std::uint64_t{64} << 30, 1u << 20};    // outstanding, all clients
  Amounts client{65'536, std::uint64_t{64} << 30, 1u << 20};  // outstanding, one fairness key
  Amounts internal_reserve{1'024, std::uint64_t{1} << 30,
                           65'536};  // part of host, users never take it
  std::array<ClassLimits, kMaxClasses> classes = default_class_limits();
  std::uint64_t client_in_flight_bytes = 0;           // most of one client, all lanes; 0 = no cap
  Duration age_max = std::chrono::milliseconds{100};  // older heads are served first; 0 = never
  std::uint64_t largest_owner_bytes = std::uint64_t{16} << 30;
  std::uint32_t largest_call_owners = 960;
  DeadlineMode deadline_mode = DeadlineMode::off;
  Duration route_budget = std::chrono::seconds{5};
  Duration retry_backoff_min = std::chrono::milliseconds{1};
  Duration retry_backoff_max = std::chrono::milliseconds{100};
  std::uint32_t retry_attempts = 10;
};

// Fixed at start: sizes of the slabs.
struct HardMaxima {
  std::uint32_t owners = 65'536;
  std::uint32_t sessions = 256;
  std::uint32_t clients = 256;
  std::uint32_t lanes = 64;
  std::uint32_t slots = 4'096;  // of a session
};

}  // namespace tentq::core
