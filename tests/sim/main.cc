// tentq-sim: what a scenario leads to under one policy or all of them, in virtual time.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "proto/version.h"
#include "tests/sim/exit_code.h"
#include "tests/sim/figure_names.h"
#include "tests/sim/help.h"
#include "tests/sim/parse.h"
#include "tests/sim/report.h"

namespace tentq::sim {
namespace {

std::string footer() {
  std::string text = std::string(kStatements) + "Figures:\n";
  for (const FigureName& each : figure_names()) {
    text += "  " + std::string(each.name) + ": " + std::string(each.meaning) + "\n";
  }
  return text + kReport;
}

struct Options {
  std::string scenario;
  std::string policy;  // empty: the scenario's
  std::uint64_t seed = 0;
  bool seeded = false;
  std::string trace;
  std::uint32_t check_every = 0;  // 0: as the scenario says
  bool json = false;
};

int run(const Options& options) {
  Scenario scenario = read_scenario(options.scenario);
  if (options.seeded) scenario.seed = options.seed;
  scenario.trace = options.trace;
  if (options.check_every != 0) scenario.check_every = options.check_every;
  const Side own = side_of(scenario.policy);
  std::vector<Outcome> outcomes;
  if (options.policy.empty() || options.policy == "all" || options.policy == own.name) {
    outcomes.push_back(run_side(scenario, own, true));
  }
  for (const Side& side : all_sides()) {
    const bool wanted = options.policy == "all" || options.policy == side.name;
    if (wanted && side.name != own.name) outcomes.push_back(run_side(scenario, side, false));
  }
  bool met = true;
  for (const Outcome& each : outcomes) met = met && each.met();
  if (options.json) {
    std::printf("%s\n", json_of(outcomes).dump().c_str());
  } else {
    std::fputs(table_of(outcomes).c_str(), stdout);
  }
  return met ? 0 : 1;
}

int parse_and_run(int argc, char** argv) {
  CLI::App app{"Runs a scenario on the daemon's core in virtual time"};
  app.set_version_flag("--version", kProductVersion);
  app.footer(footer());
  Options options;
  app.add_option("SCENARIO", options.scenario, "A scenario file")->required();
  app.add_flag("--json", options.json, "Print one JSON object");
  app.add_option("--policy", options.policy,
                 "Instead of the scenario's; expectations are of the scenario's policy alone")
      ->check(CLI::IsMember({"all", "direct", "fifo", "strict", "strict_64MiB", "wdrr"}));
  const CLI::Option* seed = app.add_option("--seed", options.seed, "Instead of the scenario's");
  app.add_option("--check-every", options.check_every, "Events, instead of the scenario's")
      ->check(CLI::Range(1u, 1'000'000u));
  app.add_option("--trace", options.trace,
                 "A file of requests for clients with `trace`: one JSON object a line, with "
                 "`timestamp` in ms and `hash_ids`");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  options.seeded = seed->count() != 0;
  return run(options);
}

}  // namespace
}  // namespace tentq::sim

int main(int argc, char** argv) {
  return tentq::sim::exit_code_of("tentq-sim",
                                  [&] { return tentq::sim::parse_and_run(argc, argv); });
}
