// `tentq-bench core`: the decisions alone, without rings, copies or processes.
#include "tests/bench/commands.h"
#include "tests/bench/core_bench.h"

namespace tentq::bench {
namespace {

constexpr char kFormulas[] =
    "One thread drives the core with as many owners queued all the time as the key says; nothing "
    "is\n"
    "copied and no process is involved.\n"
    "  ns_per_owner             median over rounds of time / owners, each admitted, picked and\n"
    "                           completed; by number of owners queued\n"
    "  random_access_ns         the limit, in turns with it: one dependent access to a 64-byte "
    "record\n"
    "                           among as many\n"
    "  allocations_after_start  calls of operator new while owners were measured\n"
    "  verdict                  pass: at most 150 ns with 1000 queued, 300 ns with 100000, three\n"
    "                           random accesses with 1000000, and no allocation";

constexpr double kMostNsWith1e3 = 150;
constexpr double kMostNsWith1e5 = 300;
constexpr double kMostAccessesWith1e6 = 3;

bool within_bound(const CoreBenchRow& row) {
  switch (row.queued) {
    case 1'000: return row.ns_per_owner <= kMostNsWith1e3;
    case 100'000: return row.ns_per_owner <= kMostNsWith1e5;
    case 1'000'000: return row.ns_per_owner <= kMostAccessesWith1e6 * row.random_access_ns;
    default: return true;
  }
}

Outcome run_core(std::uint64_t owners) {
  Json ns_per_owner = Json::object();
  Json random_access_ns = Json::object();
  std::uint64_t allocations = 0;
  bool pass = true;
  for (const CoreBenchRow& row : run_core_bench(owners, &allocations)) {
    ns_per_owner[std::to_string(row.queued)] = row.ns_per_owner;
    random_access_ns[std::to_string(row.queued)] = row.random_access_ns;
    pass = pass && within_bound(row);
  }
  Outcome outcome;
  outcome.correct = allocations == 0;
  outcome.figures = {{"ns_per_owner", std::move(ns_per_owner)},
                     {"random_access_ns", std::move(random_access_ns)},
                     {"allocations_after_start", allocations},
                     {"verdict", pass && allocations == 0 ? "pass" : "fail"}};
  return outcome;
}

}  // namespace

void add_core(CLI::App& app, CommonOptions* common, int* exit_code) {
  const auto owners = std::make_shared<std::uint64_t>(1'000'000);
  CLI::App* command =
      add_command(app, common, exit_code, "core", "What an owner costs the core alone", kFormulas,
                  [=] { return run_core(*owners); });
  command->add_option("--owners", *owners, "Most owners queued")
      ->check(CLI::Range(1'000, 1'000'000))
      ->capture_default_str();
}

}  // namespace tentq::bench
