// tentq_sim_agreement: a scenario in virtual time and on a real tentqd, side by side. Fails when a
// group's p50 is off by more than 10 % or its p99 by more than 15 %. Needs a quiet machine: what it
// measures is the clock.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>

#include "tests/bench/statistics.h"
#include "tests/sim/exit_code.h"
#include "tests/sim/figures.h"
#include "tests/sim/parse.h"
#include "tests/sim/real_run.h"
#include "tests/sim/simulation.h"

namespace tentq::sim {
namespace {

constexpr double kP50Off = 0.10;
constexpr double kP99Off = 0.15;
constexpr double kLeastSamples = 100;  // below that there is no 99th percentile

// The median of the rounds: one of them may have been disturbed.
double median_of(const Scenario& scenario, const std::vector<Record>& rounds,
                 const Subject& subject, Figure figure) {
  std::vector<double> values;
  values.reserve(rounds.size());
  for (const Record& record : rounds) {
    values.push_back(Figures(scenario, record, nullptr)
                         .value(subject, figure, measured_time(scenario))
                         .value_or(0));
  }
  return bench::median(values);
}

// Who had how much of the lane, to see where a difference comes from.
void show_shares(const Scenario& scenario, const std::vector<Record>& simulated,
                 const std::vector<Record>& real) {
  for (std::uint32_t group = 0; group < scenario.clients.size(); ++group) {
    const Subject subject{SubjectKind::client, group};
    std::printf("  %-12s of the lane: simulated %6.2f %%, real %6.2f %%\n",
                scenario.clients[group].name.c_str(),
                100 * median_of(scenario, simulated, subject, Figure::of_capacity),
                100 * median_of(scenario, real, subject, Figure::of_capacity));
  }
}

// True when both sides agree.
bool compare(const Scenario& scenario, const std::vector<Record>& simulated,
             const std::vector<Record>& real, std::uint32_t group, Figure figure, const char* name,
             double most) {
  const Subject subject{SubjectKind::client, group};
  const double ours = median_of(scenario, simulated, subject, figure);
  const double theirs = median_of(scenario, real, subject, figure);
  const double off = theirs > 0 ? ours / theirs - 1 : 1;
  const bool enough = median_of(scenario, real, subject, Figure::samples) >= kLeastSamples;
  const bool agrees = enough && std::abs(off) <= most;
  std::printf("  %-12s %-4s simulated %10.1f us   real %10.1f us   %+6.2f %%  %s\n",
              scenario.clients[group].name.c_str(), name, ours, theirs, 100 * off,
              agrees   ? "agrees"
              : enough ? "DIFFERS"
                       : "TOO FEW SAMPLES");
  return agrees;
}

int run(const std::string& path, const std::string& tentqd, unsigned rounds) {
  const Scenario scenario = read_scenario(path);
  if (const std::string why = why_not_real(scenario); !why.empty()) {
    throw ScenarioError(path + ": cannot be run on a real daemon: " + why);
  }
  std::vector<Record> simulated;
  simulated.push_back(simulate(scenario));
  std::vector<Record> real;
  std::vector<double> thought_us;
  for (unsigned round = 0; round < rounds; ++round) {
    RealRun run = run_for_real(scenario, tentqd);
    real.push_back(std::move(run.record));
    thought_us.insert(thought_us.end(), run.thought_us.begin(), run.thought_us.end());
  }
  std::printf("%s, seed %llu, median of %u rounds\n", path.c_str(),
              static_cast<unsigned long long>(scenario.seed), rounds);
  bool agrees = simulated.front().violations.count() == 0;
  for (std::uint32_t group = 0; group < scenario.clients.size(); ++group) {
    agrees = compare(scenario, simulated, real, group, Figure::p50, "p50", kP50Off) && agrees;
    agrees = compare(scenario, simulated, real, group, Figure::p99, "p99", kP99Off) && agrees;
  }
  show_shares(scenario, simulated, real);
  std::printf("  real clients thought for %.0f us (p50), %.0f us (mean), %.0f us (p99)\n",
              bench::median(thought_us),
              std::accumulate(thought_us.begin(), thought_us.end(), 0.0) /
                  static_cast<double>(std::max<std::size_t>(thought_us.size(), 1)),
              bench::percentile(thought_us, 0.99));
  std::printf("%s\n", agrees ? "the simulator agrees with the daemon" : "they do not agree");
  return agrees ? 0 : 1;
}

int parse_and_run(int argc, char** argv) {
  CLI::App app{"A scenario in virtual time and on a real tentqd, side by side"};
  app.footer(
      "Each round takes the scenario's duration. p50 and p99 of each group of clients, from "
      "submit\n"
      "to the status seen; p50 may be off by 10 %, p99 by 15 %. Exit code: 0, 1 they differ or it\n"
      "could not be run, 2 for a scenario that a real daemon cannot run.");
  std::string path;
  std::string tentqd;
  unsigned rounds = 3;
  app.add_option("SCENARIO", path, "One lane without delay, all clients closed")->required();
  app.add_option("--tentqd", tentqd, "Program of the daemon; else found beside this one");
  app.add_option("--rounds", rounds, "On the daemon")->check(CLI::Range(1u, 100u));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return run(path, tentqd, rounds);
}

}  // namespace
}  // namespace tentq::sim

int main(int argc, char** argv) {
  return tentq::sim::exit_code_of("tentq_sim_agreement",
                                  [&] { return tentq::sim::parse_and_run(argc, argv); });
}
