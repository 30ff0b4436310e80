// See verdicts.h.
#include "tests/bench/qos/verdicts.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace tentq::bench::qos {

bool Verdict::pass() const {
  if (!figure) return false;
  return goal.kind == Goal::Kind::at_most ? *figure <= goal.value : *figure >= goal.value;
}

std::string to_string(const Goal& goal) {
  char text[48];
  std::snprintf(text, sizeof(text), "%s %g",
                goal.kind == Goal::Kind::at_most ? "<=" : ">=", goal.value);
  return text;
}

void Verdicts::at_most(std::string name, std::optional<double> figure, double goal,
                       std::string why) {
  all_.push_back({std::move(name), figure, {Goal::Kind::at_most, goal}, std::move(why)});
}

void Verdicts::at_least(std::string name, std::optional<double> figure, double goal,
                        std::string why) {
  all_.push_back({std::move(name), figure, {Goal::Kind::at_least, goal}, std::move(why)});
}

bool Verdicts::pass() const {
  return std::all_of(all_.begin(), all_.end(), [](const Verdict& verdict) {
    return !verdict.figure.has_value() || verdict.pass();
  });
}

}  // namespace tentq::bench::qos
