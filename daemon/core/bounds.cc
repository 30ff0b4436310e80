// The rules that limits and maxima must obey.
#include "daemon/core/bounds.h"

#include <utility>

#include "daemon/core/amounts.h"
#include "daemon/core/call_slots.h"
#include "daemon/core/lane_set.h"

namespace tentq::core {
namespace {

std::string of(std::uint64_t value) {
  return std::to_string(value);
}

std::string contradiction_in(const HardMaxima& maxima) {
  constexpr std::uint32_t kMostOwners = 1u << 24;
  constexpr std::uint32_t kMostSessions = 4096;
  constexpr std::uint32_t kMostClients = 4096;
  constexpr std::uint64_t kMostLeaves = std::uint64_t{1} << 22;
  if (maxima.owners == 0 || maxima.owners > kMostOwners) {
    return "maxima.owners must be 1 to " + of(kMostOwners);
  }
  if (maxima.sessions == 0 || maxima.sessions > kMostSessions) {
    return "maxima.sessions must be 1 to " + of(kMostSessions);
  }
  if (maxima.clients == 0 || maxima.clients > kMostClients) {
    return "maxima.clients must be 1 to " + of(kMostClients);
  }
  if (maxima.lanes == 0 || maxima.lanes > kMaxLanes) {
    return "maxima.lanes must be 1 to " + of(kMaxLanes);
  }
  for (const auto& [name, members] :
       {std::pair{"clients", maxima.clients}, std::pair{"sessions", maxima.sessions}}) {
    if (kMaxClasses * std::uint64_t{members} * maxima.lanes <= kMostLeaves) continue;
    return "maxima." + std::string(name) + " × maxima.lanes must be at most " +
           of(kMostLeaves / kMaxClasses);
  }
  return {};
}

}  // namespace

std::string contradiction(const Limits& limits, const HardMaxima& maxima) {
  if (std::string text = contradiction_in(maxima); !text.empty()) return text;
  if (limits.host.owners > maxima.owners) {
    return "host.owners is " + of(limits.host.owners) + ", above maxima.owners, " +
           of(maxima.owners);
  }
  if (!fits(limits.internal_reserve, limits.host)) {
    return "internal_reserve must be a part of host, in owners, bytes and extents";
  }
  for (std::size_t c = 0; c < kMaxClasses; ++c) {
    const ClassLimits& each = limits.classes[c];
    if (each.weight == 0) return "classes[" + of(c) + "].weight must be above 0";
    if (each.in_flight_bytes != 0 && each.in_flight_bytes < kLeastCap) {
      return "classes[" + of(c) + "].in_flight_bytes must be 0 (no cap) or at least " +
             of(kLeastCap);
    }
  }
  if (limits.client_in_flight_bytes != 0 && limits.client_in_flight_bytes < kLeastCap) {
    return "client_in_flight_bytes must be 0 (no cap) or at least " + of(kLeastCap);
  }
  if (limits.age_max < Duration{0} || limits.age_max > std::chrono::hours{24}) {
    return "age_max must be 0 (never) to 24 h";
  }
  if (limits.largest_owner_bytes == 0) return "largest_owner_bytes must be above 0";
  if (limits.largest_call_owners == 0 || limits.largest_call_owners > kMostCallOwners) {
    return "largest_call_owners must be 1 to " + of(kMostCallOwners);
  }
  if (limits.route_budget < Duration{0}) return "route_budget must not be negative";
  if (limits.retry_backoff_min <= Duration{0}) return "retry_backoff_min must be above 0";
  if (limits.retry_backoff_max < limits.retry_backoff_min) {
    return "retry_backoff_max must be at least retry_backoff_min";
  }
  return {};
}

}  // namespace tentq::core
