// What tentq-sim prints of its runs: one JSON object, or tables for people. Pure.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/sim/figures.h"
#include "tests/sim/simulation.h"

namespace tentq::sim {

// A scenario run under one policy, and what its `reference` leaves of it.
struct Outcome {
  Side side;
  Scenario scenario;  // on that side
  Record record;
  std::unique_ptr<Record> reference;  // null: the scenario names none
  std::vector<Verdict> verdicts;      // empty for a side that is only compared

  Figures figures() const { return {scenario, record, reference.get()}; }
  std::uint64_t violations() const;
  bool met() const;  // every expectation, and nothing was violated
};

// `judged`: its expectations are looked at.
Outcome run_side(const Scenario& scenario, const Side& side, bool judged);

// Bytes of messages between daemons / all bytes between hosts; 0 without any.
double control_bytes_fraction(const Record& record);

// `outcomes`: the first one speaks for the scenario.
nlohmann::ordered_json json_of(const std::vector<Outcome>& outcomes);
std::string table_of(const std::vector<Outcome>& outcomes);

}  // namespace tentq::sim
