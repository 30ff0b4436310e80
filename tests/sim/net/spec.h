// What a scenario file says of several hosts: groups of equal hosts, the network between them, how
// their credits are set up, and what goes wrong. Plain data; nanoseconds and bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/core/credits/rules.h"

namespace tentq::sim {

// Hosts are numbered through, group by group.
struct HostSpec {
  std::string name;
  std::uint32_t count = 1;
  std::uint32_t first = 0;               // number of its first host
  std::uint64_t uplink = 1'250'000'000;  // bytes per second that each sends
  std::uint64_t memory = 1'250'000'000;  // bytes per second that each takes in
  std::uint64_t slots_bytes = 0;         // most that should be in flight towards one; 0: unsaid
  double legacy = 0;                     // part of them that does not speak credits
};

struct NetSpec {
  std::vector<HostSpec> hosts;      // empty: the scenario is of one host
  std::int64_t delay_ns = 100'000;  // one way, of data and of messages
  // Of messages between the hosts' daemons; data goes by TCP.
  double lost = 0;
  double doubled = 0;
  std::int64_t late_ns = 0;  // up to that much later, so that they overtake each other
  bool credits = true;
  core::CreditRules rules;

  std::uint32_t host_count() const {
    return hosts.empty() ? 0 : hosts.back().first + hosts.back().count;
  }
};

}  // namespace tentq::sim
