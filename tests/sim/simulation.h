// Runs a scenario in virtual time: builds host, lanes and loads, lets whoever is due act, applies
// changes at their times, and goes on until nothing is outstanding. Same scenario, seed and policy:
// the same record.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/sim/agenda.h"
#include "tests/sim/host.h"
#include "tests/sim/load.h"
#include "tests/sim/record.h"
#include "tests/sim/scenario.h"

namespace tentq::sim {

// What the core's slabs must hold for it.
core::HardMaxima maxima_of(const Scenario& scenario);

// How a scenario is run: the names are those of `tentq-bench qos`.
struct Side {
  std::string name;
  core::Policy policy = core::Policy::wdrr;
  std::uint64_t fixed_window = 0;  // of all lanes, instead of theirs; 0: as the scenario says
};
// direct, fifo, strict, strict_64MiB (what a queue inside one process does) and wdrr.
const std::vector<Side>& all_sides();
Side side_of(core::Policy policy);

// The scenario with that side's policy and windows.
Scenario on_side(const Scenario& scenario, const Side& side);
// What its `reference` leaves: the same seeds, so that the same owners come at the same times.
Scenario reference_of(const Scenario& scenario);

class Simulation {
 public:
  // Throws std::invalid_argument when the core does not take the limits.
  explicit Simulation(const Scenario& scenario);
  Record run();

 private:
  void open_lanes();
  void open_group(std::uint32_t group, std::uint32_t first_client);
  void apply_changes();
  void apply(const Change& change);
  void act(std::uint32_t actor);
  void finish();

  Scenario scenario_;
  Record record_;
  Agenda agenda_;
  std::unique_ptr<Host> host_;
  std::uint32_t host_actor_;
  std::uint32_t changes_actor_;
  std::size_t next_change_ = 0;
  std::vector<std::unique_ptr<Load>> loads_;
  std::vector<std::uint32_t> load_clients_;  // their numbers
  std::vector<Load*> by_actor_;
};

Record simulate(const Scenario& scenario);

}  // namespace tentq::sim
