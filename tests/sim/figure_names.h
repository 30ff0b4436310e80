// The figures that a scenario can expect: how they are called, what they are of, in which unit they
// are written. The report and `--help` use the same names.
#pragma once

#include <string_view>
#include <vector>

#include "tests/sim/scenario.h"

namespace tentq::sim {

enum class Unit : std::uint8_t { time, bytes, count, ratio };

struct FigureName {
  Figure figure;
  std::string_view name;
  Unit unit;
  bool of_clients;
  bool of_lane;
  bool of_host;
  bool of_hosts;  // of a network
  bool needs_reference;
  bool in_phase;  // false: of the whole run alone
  std::string_view meaning;
};

const std::vector<FigureName>& figure_names();
const FigureName& named(Figure figure);

}  // namespace tentq::sim
