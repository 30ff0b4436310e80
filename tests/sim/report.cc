// The runs of a report, and its JSON. See report.h.
#include "tests/sim/report.h"

#include <algorithm>

#include "tests/sim/figure_names.h"

namespace tentq::sim {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

// "p99-vs-reference" → "p99_vs_reference"; times say their unit.
std::string key_of(const FigureName& name) {
  std::string key(name.name);
  std::replace(key.begin(), key.end(), '-', '_');
  if (name.unit == Unit::time) key += "_us";
  if (name.unit == Unit::bytes) key += "_bytes";
  return key;
}

Json figures_json(const Outcome& outcome, const Subject& subject, const Interval& in,
                  bool whole_run) {
  Json json = Json::object();
  for (const FigureName& name : figure_names()) {
    const bool clients = subject.kind == SubjectKind::client || subject.kind == SubjectKind::cls;
    const bool hosts = subject.kind == SubjectKind::hosts;
    const bool belongs = clients ? name.of_clients : hosts ? name.of_hosts : name.of_lane;
    if (!belongs || (name.needs_reference && outcome.reference == nullptr)) continue;
    if (!whole_run && !name.in_phase) continue;
    json[key_of(name)] = or_null(outcome.figures().value(subject, name.figure, in));
  }
  return json;
}

Json subjects_json(const Outcome& outcome, const Interval& in, bool whole_run) {
  const Scenario& scenario = outcome.scenario;
  Json json = Json::object();
  for (std::uint32_t i = 0; i < scenario.clients.size(); ++i) {
    json["clients"][scenario.clients[i].name] =
        figures_json(outcome, {SubjectKind::client, i}, in, whole_run);
  }
  for (std::uint32_t cls = 1; cls < kClassCount; ++cls) {
    const bool any =
        std::any_of(scenario.clients.begin(), scenario.clients.end(),
                    [&](const ClientSpec& client) { return index_of(client.cls) == cls; });
    if (!any) continue;
    json["classes"][std::string(kClassNames[cls])] =
        figures_json(outcome, {SubjectKind::cls, cls}, in, whole_run);
  }
  for (std::uint32_t i = 0; i < scenario.lanes.size(); ++i) {
    json["lanes"][scenario.lanes[i].name] =
        figures_json(outcome, {SubjectKind::lane, i}, in, whole_run);
  }
  for (std::uint32_t i = 0; i < scenario.net.hosts.size(); ++i) {
    json["hosts"][scenario.net.hosts[i].name] =
        figures_json(outcome, {SubjectKind::hosts, i}, in, whole_run);
  }
  return json;
}

Json json_of_one(const Outcome& outcome) {
  const Scenario& scenario = outcome.scenario;
  const Figures figures = outcome.figures();
  const Interval in = measured_time(scenario);
  const Subject host{SubjectKind::host, 0};
  Json json = {{"policy", outcome.side.name},
               {"peak_outstanding", outcome.record.peak_outstanding_bytes},
               {"peak_outstanding_owners", outcome.record.peak_outstanding_owners},
               {"violations", outcome.violations()},
               {"p50_us", figures.urgent_percentile_us(0.5)},
               {"p99_us", figures.urgent_percentile_us(0.99)},
               {"p999_us", figures.urgent_percentile_us(0.999)},
               {"goodput", or_null(figures.value(host, Figure::goodput, in))},
               {"goodput_bytes_per_s", figures.goodput_bytes_per_s()},
               {"fairness", or_null(figures.value(host, Figure::fairness, in))},
               {"control_bytes_fraction", control_bytes_fraction(outcome.record)},
               {"events", outcome.record.events},
               {"checks", outcome.record.checks},
               {"violation_texts", outcome.record.violations.texts()}};
  json.update(subjects_json(outcome, in, true));
  for (const Phase& phase : scenario.phases) {
    json["phases"][phase.name] = subjects_json(outcome, {phase.from_ns, phase.to_ns}, false);
  }
  return json;
}

Json json_of_verdicts(const std::vector<Verdict>& verdicts) {
  Json json = Json::array();
  for (const Verdict& each : verdicts) {
    json.push_back({{"expect", each.text},
                    {"line", each.line},
                    {"value", or_null(each.value)},
                    {"met", each.met}});
  }
  return json;
}

}  // namespace

double control_bytes_fraction(const Record& record) {
  double data = 0;
  for (const Moved& each : record.moved) data += static_cast<double>(each.bytes);
  const double control = static_cast<double>(record.control_bytes);
  return control == 0 ? 0 : control / (control + data);
}

std::uint64_t Outcome::violations() const {
  return record.violations.count() + (reference ? reference->violations.count() : 0);
}

bool Outcome::met() const {
  return violations() == 0 && std::all_of(verdicts.begin(), verdicts.end(),
                                          [](const Verdict& each) { return each.met; });
}

Outcome run_side(const Scenario& scenario, const Side& side, bool judged) {
  Outcome outcome{side, on_side(scenario, side), {}, nullptr, {}};
  outcome.record = simulate(outcome.scenario);
  if (scenario.reference) {
    outcome.reference = std::make_unique<Record>(simulate(reference_of(outcome.scenario)));
  }
  if (judged) outcome.verdicts = judge(outcome.scenario, outcome.figures());
  return outcome;
}

Json json_of(const std::vector<Outcome>& outcomes) {
  const Outcome& own = outcomes.front();
  Json json = {{"scenario", own.scenario.path}, {"seed", own.scenario.seed}};
  json.update(json_of_one(own));
  json["expectations"] = json_of_verdicts(own.verdicts);
  if (outcomes.size() > 1) {
    for (const Outcome& each : outcomes) json["policies"][each.side.name] = json_of_one(each);
  }
  json["verdict"] =
      std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& each) { return each.met(); })
          ? "pass"
          : "fail";
  return json;
}

}  // namespace tentq::sim
