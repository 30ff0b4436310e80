// `expect SUBJECT FIGURE RELATION VALUE [in PHASE]`. See parse.h.
#include <algorithm>

#include "tests/sim/figure_names.h"
#include "tests/sim/parse.h"

namespace tentq::sim {
namespace {

bool belongs(const FigureName& figure, SubjectKind subject) {
  switch (subject) {
    case SubjectKind::client:
    case SubjectKind::cls: return figure.of_clients;
    case SubjectKind::lane: return figure.of_lane;
    case SubjectKind::host: return figure.of_host;
    case SubjectKind::hosts: return figure.of_hosts;
  }
  return false;
}

Figure take_figure(Words& words, SubjectKind subject) {
  std::vector<std::string_view> known;
  std::vector<Figure> figures;
  for (const FigureName& each : figure_names()) {
    if (!belongs(each, subject)) continue;
    known.push_back(each.name);
    figures.push_back(each.figure);
  }
  return figures[words.one_of("figure", known)];
}

double take_value(Words& words, Unit unit) {
  switch (unit) {
    case Unit::time: return static_cast<double>(words.duration_ns("time")) / 1e3;
    case Unit::bytes: return static_cast<double>(words.size("size", 0, std::uint64_t{1} << 60));
    case Unit::count: return static_cast<double>(words.number("number", 0, std::uint64_t{1} << 60));
    case Unit::ratio: return words.ratio("ratio");
  }
  return 0;
}

}  // namespace

Expectation parse_expectation(Words& words, const Scenario& scenario) {
  Expectation expected;
  expected.line = words.line();
  expected.text = words.text();
  expected.subject = static_cast<SubjectKind>(
      words.one_of("subject", {"client", "class", "lane", "host", "hosts"}));
  if (expected.subject == SubjectKind::client) {
    expected.index = take_client(words, scenario, words.word("a client's name"));
  } else if (expected.subject == SubjectKind::cls) {
    expected.index = static_cast<std::uint32_t>(index_of(take_class(words)));
  } else if (expected.subject == SubjectKind::lane) {
    expected.index = take_lane(words, scenario, words.word("a lane's name"));
  } else if (expected.subject == SubjectKind::hosts) {
    expected.index = take_hosts(words, scenario, words.word("a name of hosts"));
  }
  expected.figure = take_figure(words, expected.subject);
  const bool of_one = expected.figure == Figure::of_capacity ||
                      expected.figure == Figure::within_p8 ||
                      (expected.figure == Figure::goodput && expected.subject == SubjectKind::host);
  if (scenario.is_network() && of_one) {
    words.fail("`" + std::string(named(expected.figure).name) + "` is of one host and its lanes",
               "write a figure of `hosts NAME`, such as goodput");
  }
  const FigureName& name = named(expected.figure);
  expected.relation = static_cast<Relation>(words.one_of("relation", {"<=", ">=", "="}));
  expected.value = take_value(words, name.unit);
  if (words.empty()) return expected;
  words.keyword("in");
  if (!name.in_phase) {
    words.fail("`" + std::string(name.name) + "` is of the whole run", "delete the phase");
  }
  const std::string phase = words.name("a phase's name");
  const auto found = std::find_if(scenario.phases.begin(), scenario.phases.end(),
                                  [&](const Phase& each) { return each.name == phase; });
  if (found == scenario.phases.end()) {
    words.fail("there is no phase `" + phase + "` above",
               "add `phase " + phase + " from 1s to 2s` before");
  }
  expected.phase = static_cast<std::uint32_t>(found - scenario.phases.begin());
  return expected;
}

}  // namespace tentq::sim
