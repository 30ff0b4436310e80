// `tentq-bench core`: the decisions alone, without rings, copies or processes.
#include <string>
#include <utility>

#include "tests/bench/commands.h"
#include "tests/bench/core_bench.h"

namespace tentq::bench {
namespace {

constexpr char kFormulas[] =
    "One thread drives the core with as many owners queued all the time as the key says; nothing\n"
    "is copied and no process is involved. Loads, each owner of 4 KiB, in calls of 16, policy "
    "wdrr:\n"
    "  plain    8 clients with 2 sessions each, 4 classes, 4 lanes, no deadlines\n"
    "  leaf     5 classes, 64 clients, 256 lanes; every owner has a deadline, in 2 to 12 s; all\n"
    "           are queued in one class of one client on one lane\n"
    "  spread   the same, queued in all classes, of all clients, on all lanes, at random; every\n"
    "           tenth call is internal work, which goes first\n"
    "Under leaf and spread virtual time goes on by 1 s while as many owners end as there are.\n"
    "The keys of plain stand in the object itself, those of the others in an object each:\n"
    "  ns_per_owner             median over rounds of time / owners, each admitted, picked and\n"
    "                           completed; by number of owners queued\n"
    "  random_access_ns         the limit, in turns with it: one dependent access to a 64-byte\n"
    "                           record among as many\n"
    "  expired_percent          of the owners that ended, those whose deadlines ended them\n"
    "  allocations_after_start  calls of operator new while owners were measured\n"
    "  verdict                  pass: at most 150 ns with 1000 queued, 300 ns with 100000, three\n"
    "                           random accesses with 1000000, and no allocation; of each load";

constexpr double kMostNsWith1e3 = 150;
constexpr double kMostNsWith1e5 = 300;
constexpr double kMostAccessesWith1e6 = 3;

struct CoreOptions {
  std::uint64_t owners = 1'000'000;
  std::string load = "all";
};

bool within_bound(const CoreBenchRow& row) {
  switch (row.queued) {
    case 1'000: return row.ns_per_owner <= kMostNsWith1e3;
    case 100'000: return row.ns_per_owner <= kMostNsWith1e5;
    case 1'000'000: return row.ns_per_owner <= kMostAccessesWith1e6 * row.random_access_ns;
    default: return true;
  }
}

// Adds the keys of a load to `figures`; false when something was allocated.
bool add_load(Json* figures, CoreLoad load, std::uint64_t owners) {
  const CoreBenchResult result = run_core_bench(load, owners);
  Json ns_per_owner = Json::object();
  Json random_access_ns = Json::object();
  Json expired_percent = Json::object();
  const bool allocates = result.allocations_after_start != 0;
  bool pass = !allocates;
  for (const CoreBenchRow& row : result.rows) {
    const std::string queued = std::to_string(row.queued);
    ns_per_owner[queued] = row.ns_per_owner;
    random_access_ns[queued] = row.random_access_ns;
    expired_percent[queued] = row.expired_percent;
    pass = pass && within_bound(row);
  }
  (*figures)["ns_per_owner"] = std::move(ns_per_owner);
  (*figures)["random_access_ns"] = std::move(random_access_ns);
  if (load != CoreLoad::plain) (*figures)["expired_percent"] = std::move(expired_percent);
  (*figures)["allocations_after_start"] = result.allocations_after_start;
  (*figures)["verdict"] = pass ? "pass" : "fail";
  return !allocates;
}

Outcome run_core(const CoreOptions& options) {
  const std::pair<std::string, CoreLoad> loads[] = {
      {"plain", CoreLoad::plain}, {"leaf", CoreLoad::leaf}, {"spread", CoreLoad::spread}};
  Outcome outcome;
  outcome.figures = Json::object();
  for (const auto& [name, load] : loads) {
    if (options.load != "all" && options.load != name) continue;
    Json* figures = &outcome.figures;
    if (load != CoreLoad::plain) figures = &(outcome.figures[name] = Json::object());
    outcome.correct = add_load(figures, load, options.owners) && outcome.correct;
  }
  return outcome;
}

}  // namespace

void add_core(CLI::App& app, CommonOptions* common, int* exit_code) {
  const auto options = std::make_shared<CoreOptions>();
  CLI::App* command =
      add_command(app, common, exit_code, "core", "What an owner costs the core alone", kFormulas,
                  [=] { return run_core(*options); });
  command->add_option("--owners", options->owners, "Most owners queued")
      ->check(CLI::Range(1'000, 1'000'000))
      ->capture_default_str();
  command->add_option("--load", options->load, "plain, leaf, spread or all")
      ->check(CLI::IsMember({"plain", "leaf", "spread", "all"}))
      ->capture_default_str();
}

}  // namespace tentq::bench
