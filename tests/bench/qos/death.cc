// A client killed in the middle of its flood: how long its charges stay.
#include <algorithm>

#include "tests/bench/clock.h"
#include "tests/bench/qos/segment.h"

namespace tentq::bench::qos {
namespace {

constexpr std::size_t kKills = 3;
constexpr std::int64_t kPatienceNs = 30'000'000'000;
constexpr double kSettleMs = 100;

// What the daemon still charges the session of that name for.
std::uint64_t charged_bytes(Stage& stage, const std::string& session) {
  const nlohmann::json clients = stage.clients();
  for (const nlohmann::json& row : clients) {
    if (row.at("name") == session) return row.at("outstanding_bytes").get<std::uint64_t>();
  }
  return 0;
}

double charges_back_ms(Run& run) {
  std::vector<BulkSpec> specs = flood_of(run.setup);
  specs.resize(std::min<std::size_t>(specs.size(), 2));
  Bulk flood(run.setup, specs);
  flood.begin();
  run.stage.await_outstanding(flood.outstanding_bytes() / 10 * 9);
  let_run(kSettleMs);
  const std::int64_t killed_ns = now_ns();
  flood.kill_first();
  std::int64_t looked_ns = 0;
  std::uint64_t charged = 0;
  do {
    let_run(1);
    charged = charged_bytes(run.stage, specs.front().name + "-0");
    looked_ns = now_ns();
  } while (charged > 0 && looked_ns - killed_ns < kPatienceNs);
  flood.end();
  run.stage.await_quiet();
  run.errors += flood.errors();
  flood.stop();
  return static_cast<double>(looked_ns - killed_ns) / 1e6;
}

}  // namespace

void measure_death(Run& run) {
  use({"wdrr", "wdrr"}, run.stage);
  std::vector<double> times(kKills);
  for (double& time : times) time = charges_back_ms(run);
  run.figures["charges_back_ms"] = times;
  run.verdicts.at_most("charges_back_ms", *std::max_element(times.begin(), times.end()), 100);
  run.say("a client killed: its charges back within %.1f ms",
          *std::max_element(times.begin(), times.end()));
}

}  // namespace tentq::bench::qos
