// Each figure beside its goal. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tentq::bench::qos {

struct Goal {
  enum class Kind { at_most, at_least } kind = Kind::at_most;
  double value = 0;
};

struct Verdict {
  std::string name;
  std::optional<double> figure;  // none: it could not be measured, `why` says why not
  Goal goal;
  std::string why;
  bool pass() const;
};

std::string to_string(const Goal& goal);  // "<= 2"

class Verdicts {
 public:
  void at_most(std::string name, std::optional<double> figure, double goal, std::string why = "");
  void at_least(std::string name, std::optional<double> figure, double goal, std::string why = "");
  const std::vector<Verdict>& all() const { return all_; }
  // Every figure that was measured reaches its goal.
  bool pass() const;

 private:
  std::vector<Verdict> all_;
};

}  // namespace tentq::bench::qos
