// The figures of a run, each over an interval of time; formulas in figure_names.cc. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/sim/record.h"
#include "tests/sim/scenario.h"

namespace tentq::sim {

struct Interval {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
};
// From the warm-up to the end.
Interval measured_time(const Scenario& scenario);

struct Subject {
  SubjectKind kind = SubjectKind::host;
  std::uint32_t index = 0;
};

class Figures {
 public:
  // All outlive it. `reference` may be null: nothing is compared.
  Figures(const Scenario& scenario, const Record& record, const Record* reference)
      : scenario_(scenario), record_(record), reference_(reference) {}

  // Microseconds, bytes, numbers or ratios, as the figure's unit says; nullopt: there is nothing to
  // make it from.
  std::optional<double> value(const Subject& subject, Figure figure, const Interval& in) const;
  // Percentile of the owners of the most urgent class that has any.
  double urgent_percentile_us(double part) const;
  double goodput_bytes_per_s() const;

 private:
  bool concerns(const Subject& subject, std::uint32_t client) const;
  std::vector<double> times_us(const Subject& subject, const Interval& in) const;
  double count(const Subject& subject, const Interval& in, bool completed) const;
  double moved(const Subject& subject, const Interval& in) const;
  bool reaches(const Subject& hosts, std::uint32_t lane) const;
  double capacity(const std::vector<RateStep>& rates, const Interval& in) const;
  double capacity_of(const Subject& subject, const Interval& in) const;
  double jain_of(const Subject& subject, const Interval& in) const;
  double fairness(const Interval& in) const;
  std::optional<double> within_p8(const Subject& subject, const Interval& in) const;
  std::optional<double> goodput(const Subject& subject, const Interval& in) const;
  std::optional<double> of_hosts(const Subject& subject, Figure figure) const;
  std::optional<double> of_peaks(const Subject& subject, Figure figure) const;
  std::optional<double> compared(const Subject& subject, Figure figure, const Interval& in) const;
  double completed_bytes(const Interval& in) const;

  const Scenario& scenario_;
  const Record& record_;
  const Record* reference_;
};

struct Verdict {
  std::string text;  // of the expectation
  std::size_t line = 0;
  std::optional<double> value;
  bool met = false;
};
// One for each expectation of the scenario.
std::vector<Verdict> judge(const Scenario& scenario, const Figures& figures);

}  // namespace tentq::sim
