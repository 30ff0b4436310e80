// The parts of a qos run. Each measures on the stage, adds its object to `figures`, its goals to
// `verdicts`, and bytes that were wrong to `errors`.
#pragma once

#include <cstdint>

#include "tests/bench/qos/figures.h"
#include "tests/bench/qos/stage.h"
#include "tests/bench/qos/verdicts.h"

namespace tentq::bench::qos {

struct Run {
  Setup& setup;
  Stage& stage;
  Json figures = Json::object();
  Verdicts verdicts = {};
  std::uint64_t errors = 0;

  double rate() const { return static_cast<double>(setup.options.rate); }
  // Mean time between two arrivals of one foreground client.
  double mean_gap_ns() const;
  // A line of progress on standard error.
  void say(const char* format, ...) const __attribute__((format(printf, 2, 3)));
};

// What the daemon is set to for a side of the comparison.
struct Side {
  std::string name;
  std::string policy;
  bool flooded = true;
  bool peers_window = false;  // 64 MiB in flight, fixed, as the in-process peer has it
};
// Those that `chosen` names ("all": every one) in the order of the report; the foreground alone is
// always the first.
std::vector<Side> sides_of(const std::vector<std::string>& chosen);

// Every policy beside the foreground alone, interleaved.
void compare_policies(Run& run);
// A 4 KiB foreground beside P8's bound.
void measure_small(Run& run);
// Who gets how much: equal clients, weighted ones, greedy ones, the lowest class.
void measure_shares(Run& run);
// A client killed in the middle of its flood.
void measure_death(Run& run);

}  // namespace tentq::bench::qos
