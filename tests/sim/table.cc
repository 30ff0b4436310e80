// The tables of a report. See report.h.
#include <cstdio>

#include "tests/sim/figure_names.h"
#include "tests/sim/report.h"

namespace tentq::sim {
namespace {

template <class... Values>
void add(std::string* text, const char* format, Values... values) {
  char line[512];
  std::snprintf(line, sizeof(line), format, values...);
  *text += line;
}

std::string time_text(const std::optional<double>& us) {
  if (!us) return "-";
  char text[32];
  if (*us < 10'000) {
    std::snprintf(text, sizeof(text), "%.1f us", *us);
  } else {
    std::snprintf(text, sizeof(text), "%.2f ms", *us / 1e3);
  }
  return text;
}

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    unit += 1;
  }
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g %s", bytes, kUnits[unit]);
  return text;
}

std::string percent_text(const std::optional<double>& ratio) {
  if (!ratio) return "-";
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f %%", *ratio * 100);
  return text;
}

std::string ratio_text(const std::optional<double>& ratio) {
  if (!ratio) return "-";
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", *ratio);
  return text;
}

std::string text_of(const std::optional<double>& value, Unit unit) {
  switch (unit) {
    case Unit::time: return time_text(value);
    case Unit::bytes: return value ? bytes_text(*value) : "-";
    case Unit::count:
    case Unit::ratio: return ratio_text(value);
  }
  return "";
}

void add_clients_row(std::string* text, const Outcome& outcome, const std::string& name,
                     const Subject& subject, const Interval& in) {
  const Figures figures = outcome.figures();
  const auto of = [&](Figure figure) { return figures.value(subject, figure, in); };
  add(text, "  %-18s %8.0f %11s %11s %11s %9s %9s %7s %9s %9s\n", name.c_str(),
      of(Figure::samples).value_or(0), time_text(of(Figure::p50)).c_str(),
      time_text(of(Figure::p99)).c_str(), time_text(of(Figure::p999)).c_str(),
      bytes_text(of(Figure::moved).value_or(0)).c_str(), percent_text(of(Figure::share)).c_str(),
      ratio_text(of(Figure::jain)).c_str(), percent_text(of(Figure::within_p8)).c_str(),
      ratio_text(of(Figure::p99_vs_reference)).c_str());
}

void add_hosts_row(std::string* text, const Outcome& outcome, std::uint32_t group,
                   const Interval& in) {
  const Figures figures = outcome.figures();
  const auto of = [&](Figure figure) {
    return figures.value({SubjectKind::hosts, group}, figure, in);
  };
  add(text,
      "  hosts %-12s took in %s, goodput %s; at most %s in flight, %.0f over slots, %.0f over "
      "bound; at most %s granted; longest wait %s\n",
      outcome.scenario.net.hosts[group].name.c_str(),
      bytes_text(of(Figure::moved).value_or(0)).c_str(), percent_text(of(Figure::goodput)).c_str(),
      bytes_text(of(Figure::peak_in_flight).value_or(0)).c_str(),
      of(Figure::over_slots).value_or(0), of(Figure::over_bound).value_or(0),
      bytes_text(of(Figure::peak_granted).value_or(0)).c_str(),
      time_text(of(Figure::longest_wait)).c_str());
}

void add_subjects(std::string* text, const Outcome& outcome, const Interval& in) {
  const Scenario& scenario = outcome.scenario;
  add(text, "  %-18s %8s %11s %11s %11s %9s %9s %7s %9s %9s\n", "client", "owners", "p50", "p99",
      "p999", "moved", "share", "jain", "in P8", "vs ref");
  for (std::uint32_t i = 0; i < scenario.clients.size(); ++i) {
    add_clients_row(text, outcome, scenario.clients[i].name, {SubjectKind::client, i}, in);
  }
  for (std::uint32_t cls = 1; cls < kClassCount; ++cls) {
    const Subject subject{SubjectKind::cls, cls};
    for (const ClientSpec& client : scenario.clients) {
      if (index_of(client.cls) != cls) continue;
      add_clients_row(text, outcome, "all " + std::string(kClassNames[cls]), subject, in);
      break;
    }
  }
  for (std::uint32_t i = 0; i < scenario.lanes.size(); ++i) {
    const Subject subject{SubjectKind::lane, i};
    const Figures figures = outcome.figures();
    add(text, "  lane %-13s moved %s, utilisation %s, at most %s in flight\n",
        scenario.lanes[i].name.c_str(),
        bytes_text(figures.value(subject, Figure::moved, in).value_or(0)).c_str(),
        percent_text(figures.value(subject, Figure::utilisation, in)).c_str(),
        bytes_text(figures.value(subject, Figure::peak_in_flight, in).value_or(0)).c_str());
  }
  for (std::uint32_t i = 0; i < scenario.net.hosts.size(); ++i) {
    add_hosts_row(text, outcome, i, in);
  }
}

void add_network(std::string* text, const Outcome& outcome) {
  const Record& record = outcome.record;
  add(text, "  network: %u hosts, %llu chunks, %llu messages between daemons, %s of all bytes\n",
      outcome.scenario.net.host_count(), static_cast<unsigned long long>(record.chunks),
      static_cast<unsigned long long>(record.control_messages),
      percent_text(control_bytes_fraction(record)).c_str());
}

void add_outcome(std::string* text, const Outcome& outcome) {
  const Scenario& scenario = outcome.scenario;
  const Figures figures = outcome.figures();
  const Subject host{SubjectKind::host, 0};
  const Interval in = measured_time(scenario);
  add(text, "%s, policy %s, seed %llu: %.3g s of virtual time, %llu events\n",
      scenario.path.c_str(), outcome.side.name.c_str(),
      static_cast<unsigned long long>(scenario.seed),
      static_cast<double>(scenario.duration_ns) / 1e9,
      static_cast<unsigned long long>(outcome.record.events));
  add_subjects(text, outcome, in);
  for (const Phase& phase : scenario.phases) {
    add(text, " phase %s\n", phase.name.c_str());
    add_subjects(text, outcome, {phase.from_ns, phase.to_ns});
  }
  if (scenario.is_network()) add_network(text, outcome);
  add(text, "  host: goodput %s, fairness %s, at most %s outstanding\n",
      percent_text(figures.value(host, Figure::goodput, in)).c_str(),
      ratio_text(figures.value(host, Figure::fairness, in)).c_str(),
      bytes_text(static_cast<double>(outcome.record.peak_outstanding_bytes)).c_str());
  add(text, "  %llu violations in %llu checks\n",
      static_cast<unsigned long long>(outcome.violations()),
      static_cast<unsigned long long>(outcome.record.checks));
  for (const std::string& each : outcome.record.violations.texts()) {
    *text += "    " + each + "\n";
  }
  for (std::size_t i = 0; i < outcome.verdicts.size(); ++i) {
    const Verdict& each = outcome.verdicts[i];
    const Unit unit = named(scenario.expectations[i].figure).unit;
    *text += std::string(each.met ? "  met   " : "  MISSED ") + each.text + ": " +
             text_of(each.value, unit) + "\n";
  }
}

}  // namespace

std::string table_of(const std::vector<Outcome>& outcomes) {
  std::string text;
  for (const Outcome& each : outcomes) add_outcome(&text, each);
  if (outcomes.size() == 1) return text;
  add(&text, "%-14s %11s %11s %11s %9s %9s\n", "policy", "p50", "p99", "p999", "goodput",
      "fairness");
  for (const Outcome& each : outcomes) {
    const Figures figures = each.figures();
    const Subject host{SubjectKind::host, 0};
    const Interval in = measured_time(each.scenario);
    add(&text, "%-14s %11s %11s %11s %9s %9s\n", each.side.name.c_str(),
        time_text(figures.urgent_percentile_us(0.5)).c_str(),
        time_text(figures.urgent_percentile_us(0.99)).c_str(),
        time_text(figures.urgent_percentile_us(0.999)).c_str(),
        percent_text(figures.value(host, Figure::goodput, in)).c_str(),
        ratio_text(figures.value(host, Figure::fairness, in)).c_str());
  }
  return text;
}

}  // namespace tentq::sim
