// What the sessions of a trace submit: blocks that an earlier request had are read from the host
// that keeps them, the others are written to it.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/load.h"

namespace tentq::sim {

// One list for each session, hosts after each other; `lanes` of each host: to each other host, for
// reading and for writing. Requests take sessions in turn, and end with the scenario. Throws
// ScenarioError when no trace was named, std::runtime_error when it cannot be read.
std::vector<std::vector<TraceStep>> plan_trace(const std::string& path, const ClientSpec& client,
                                               const std::vector<std::vector<std::uint32_t>>& lanes,
                                               std::int64_t end_ns);

}  // namespace tentq::sim
