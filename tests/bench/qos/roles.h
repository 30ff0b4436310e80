// The processes of a qos run. Each reports when it is ready, then waits for its orders.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tests/bench/qos/setup.h"
#include "tests/support/role.h"

namespace tentq::bench::qos {

// Holds the source and makes no call until it is ordered to stop.
test::Role start_source(const Setup& setup);

// One order: `plan.count` transfers of foreground class at the planned times, each timed and all
// its bytes compared. Reports them as `count`, those with wrong bytes or a wrong end as `errors`,
// submits refused and repeated as `refused`. `number`: where its samples go.
test::Role start_foreground(const Setup& setup, std::uint32_t number, std::optional<uid_t> uid);

struct BulkSpec {
  std::string name;
  Class cls = Class::background;
  std::uint64_t owner_bytes = 16u << 20;
  std::uint32_t depth = 8;     // owners outstanding, of all its sessions together
  std::uint32_t sessions = 1;  // of this one process
  std::uint32_t number = 0;    // of its counter
  std::optional<uid_t> uid{};
};

// From one order to the next it keeps `depth` owners outstanding, and counts; then cancels what is
// left and waits for it. See Bulk in stage.h for both orders.
test::Role start_bulk(const Setup& setup, const BulkSpec& spec);

}  // namespace tentq::bench::qos
