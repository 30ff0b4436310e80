// See trace_plan.h.
#include "tests/sim/net/trace_plan.h"

#include <unordered_set>

#include "tests/bench/replay/trace.h"
#include "tests/sim/words.h"

namespace tentq::sim {

std::vector<std::vector<TraceStep>> plan_trace(const std::string& path, const ClientSpec& client,
                                               const std::vector<std::vector<std::uint32_t>>& lanes,
                                               std::int64_t end_ns) {
  if (path.empty()) {
    throw ScenarioError("client `" + client.name +
                        "` submits what a trace says, and none is named; add `--trace FILE`");
  }
  std::vector<std::vector<TraceStep>> steps(lanes.size() * client.session_count());
  std::unordered_set<std::uint64_t> seen;
  std::size_t turn = 0;
  for (const bench::TraceRequest& request : bench::read_trace_file(path, 0)) {
    const double at_ns = static_cast<double>(request.timestamp_ms) * 1e6 / client.speed;
    if (at_ns >= static_cast<double>(end_ns)) break;
    const std::size_t session = turn++ % steps.size();
    const std::vector<std::uint32_t>& own = lanes[session / client.session_count()];
    for (const std::uint64_t block : request.blocks) {
      const std::size_t keeper = block % (own.size() / 2);
      const bool known = !seen.insert(block).second;
      steps[session].push_back(
          {client.from_ns + static_cast<std::int64_t>(at_ns), own[2 * keeper + (known ? 0 : 1)]});
    }
  }
  return steps;
}

}  // namespace tentq::sim
