// The same scenario on a real, private tentqd with client processes: one paced lane, all parties
// blocking. What it gives is a Record as of a run in virtual time, so that the same formulas hold.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/record.h"
#include "tests/sim/scenario.h"

namespace tentq::sim {

// Empty when it can be run; else what in it cannot, and what to write instead.
std::string why_not_real(const Scenario& scenario);

struct RealRun {
  Record record;
  // How long clients took from an end, as the daemon wrote it, to the submit that followed it.
  std::vector<double> thought_us;
};

// Takes the scenario's duration, and starts and stops all its processes itself. `tentqd`: the
// program; empty: found beside this one. Clients are users of their own where this process is root.
// Throws std::runtime_error when a process fails or a byte is wrong.
RealRun run_for_real(const Scenario& scenario, const std::string& tentqd);

}  // namespace tentq::sim
