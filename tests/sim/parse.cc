// The statements of a scenario file. See parse.h.
#include "tests/sim/parse.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "daemon/core/amounts.h"
#include "daemon/core/bounds.h"
#include "tests/sim/settings.h"
#include "tests/sim/simulation.h"

namespace tentq::sim {
namespace {

class Parser {
 public:
  explicit Parser(const std::string& path) { scenario_.path = path; }

  void statement(Words& words);
  Scenario finish(std::size_t lines);

 private:
  using Statement = void (Parser::*)(Words&);

  void duration(Words& words) { scenario_.duration_ns = above_zero(words, "duration"); }
  void warmup(Words& words) { scenario_.warmup_ns = words.duration_ns("warm-up"); }
  void seed(Words& words) { scenario_.seed = words.number("seed", 0, ~std::uint64_t{0}); }
  void policy(Words& words) { scenario_.policy = take_policy(words); }
  void check(Words& words);
  void limits(Words& words);
  void class_limits(Words& words);
  void lane(Words& words) { parse_lane(words, &scenario_); }
  void client(Words& words) { parse_client(words, &scenario_); }
  void hosts(Words& words) { parse_hosts(words, &scenario_); }
  void network(Words& words) { parse_network(words, &scenario_); }
  void credits(Words& words) { parse_credits(words, &scenario_); }
  void path(Words& words) { parse_path(words, &scenario_); }
  void change(Words& words);
  void change_lane(Words& words, Change* change);
  void phase(Words& words);
  void reference(Words& words);
  void expect(Words& words) {
    scenario_.expectations.push_back(parse_expectation(words, scenario_));
  }

  void check_times(const Words& at_end) const;
  void check_expectations(const Words& at_end) const;

  Scenario scenario_;
  std::set<std::string> once_;
};

void Parser::statement(Words& words) {
  static const std::map<std::string_view, Statement> statements = {
      {"at", &Parser::change},     {"check", &Parser::check},     {"class", &Parser::class_limits},
      {"client", &Parser::client}, {"credits", &Parser::credits}, {"duration", &Parser::duration},
      {"expect", &Parser::expect}, {"hosts", &Parser::hosts},     {"lane", &Parser::lane},
      {"limits", &Parser::limits}, {"network", &Parser::network}, {"path", &Parser::path},
      {"phase", &Parser::phase},   {"policy", &Parser::policy},   {"reference", &Parser::reference},
      {"seed", &Parser::seed},     {"warmup", &Parser::warmup}};
  static const std::set<std::string_view> only_once = {
      "check", "credits", "duration",  "limits", "network",
      "path",  "policy",  "reference", "seed",   "warmup"};
  std::vector<std::string_view> known;
  known.reserve(statements.size());
  for (const auto& [name, statement] : statements) known.push_back(name);
  const std::string_view name = known[words.one_of("statement", known)];
  if (only_once.contains(name) && !once_.insert(std::string(name)).second) {
    words.fail("`" + std::string(name) + "` stands above already", "keep one of them");
  }
  (this->*statements.at(name))(words);
  words.end();
}

void Parser::check(Words& words) {
  words.keyword("every");
  scenario_.check_every =
      static_cast<std::uint32_t>(words.number("number of events", 1, 1'000'000));
}

void Parser::limits(Words& words) {
  core::Limits& limits = scenario_.limits;
  Settings settings(words);
  if (words.empty()) words.fail("`limits` says nothing", "name one, such as `bytes 64GiB`");
  const std::vector<std::string_view> known = {"owners",          "bytes",   "client-owners",
                                               "client-bytes",    "age-max", "largest-owner",
                                               "client-in-flight"};
  for (std::string key = settings.next(known); !key.empty(); key = settings.next(known)) {
    if (key == "owners") {
      limits.host.owners = words.number("number of owners", 1, 1u << 24);
      limits.host.extents = std::max(limits.host.extents, limits.host.owners);
    } else if (key == "bytes") {
      limits.host.bytes = words.size("size", 1, kMostBytes);
    } else if (key == "client-owners") {
      limits.client.owners = words.number("number of owners", 1, 1u << 24);
    } else if (key == "client-bytes") {
      limits.client.bytes = words.size("size", 1, kMostBytes);
    } else if (key == "age-max") {
      limits.age_max = Duration{words.duration_ns("age")};
    } else if (key == "largest-owner") {
      limits.largest_owner_bytes = words.size("size", 1, kMostBytes);
    } else {
      limits.client_in_flight_bytes = words.size("size", 0, kMostBytes);
    }
  }
}

void Parser::class_limits(Words& words) {
  core::ClassLimits& limits = scenario_.limits.classes[index_of(take_class(words))];
  Settings settings(words);
  if (words.empty()) words.fail("`class` says nothing", "name a setting, such as `weight 4`");
  const std::vector<std::string_view> known = {"weight",  "strict", "in-flight",
                                               "reserve", "owners", "bytes"};
  for (std::string key = settings.next(known); !key.empty(); key = settings.next(known)) {
    if (key == "weight") {
      limits.weight = static_cast<std::uint32_t>(words.number("weight", 1, 1u << 16));
    } else if (key == "strict") {
      limits.strict = words.one_of("answer", {"no", "yes"}) == 1;
    } else if (key == "in-flight") {
      limits.in_flight_bytes = words.size("size", 0, kMostBytes);
    } else if (key == "reserve") {
      limits.reserve_bytes = words.size("size", 0, kMostBytes);
    } else if (key == "owners") {
      limits.outstanding.owners = words.number("number of owners", 0, 1u << 24);
    } else {
      limits.outstanding.bytes = words.size("size", 0, kMostBytes);
    }
  }
}

void Parser::change_lane(Words& words, Change* change) {
  change->lane = take_lane(words, scenario_, words.word("a lane's name"));
  switch (words.one_of("change of a lane", {"rate", "delay", "jam"})) {
    case 0:
      change->kind = ChangeKind::lane_rate;
      change->rate = words.rate("rate");
      break;
    case 1:
      change->kind = ChangeKind::lane_delay;
      change->duration_ns = words.duration_ns("delay");
      break;
    default:
      change->kind = ChangeKind::lane_jam;
      change->duration_ns = above_zero(words, "time of the jam");
  }
}

// at 2s lane shm rate 125MB/s; at 2s policy strict; at 2s class background weight 4
void Parser::change(Words& words) {
  Change change;
  change.at_ns = words.duration_ns("time");
  const std::size_t what =
      words.one_of("change", {"lane", "policy", "class", "hosts", "partition"});
  if (what == 0) {
    change_lane(words, &change);
  } else if (what == 1) {
    change.kind = ChangeKind::policy;
    change.policy = take_policy(words);
  } else if (what == 2) {
    change.kind = ChangeKind::class_weight;
    change.cls = take_class(words);
    words.keyword("weight");
    change.weight = static_cast<std::uint32_t>(words.number("weight", 1, 1u << 16));
  } else if (what == 3) {
    change_hosts(words, scenario_, &change);
  } else {
    change_partition(words, scenario_, &change);
  }
  if (!scenario_.changes.empty() && scenario_.changes.back().at_ns > change.at_ns) {
    words.fail("this change comes before the one above", "write changes in order of time");
  }
  scenario_.changes.push_back(change);
}

// phase NAME from 2020ms to 4s
void Parser::phase(Words& words) {
  Phase phase;
  phase.name = words.name("a phase's name");
  check_new(words, phase.name,
            std::any_of(scenario_.phases.begin(), scenario_.phases.end(),
                        [&](const Phase& each) { return each.name == phase.name; }));
  words.keyword("from");
  phase.from_ns = words.duration_ns("time");
  words.keyword("to");
  phase.to_ns = words.duration_ns("time");
  if (phase.to_ns <= phase.from_ns) {
    words.fail("the phase ends before it begins", "write a later time behind `to`");
  }
  scenario_.phases.push_back(phase);
}

// reference only NAME,NAME; reference without changes|credits
void Parser::reference(Words& words) {
  Reference reference;
  if (words.one_of("kind of reference", {"only", "without"}) == 1) {
    const bool credits = words.one_of("part", {"changes", "credits"}) == 1;
    (credits ? reference.without_credits : reference.without_changes) = true;
  } else {
    for (const std::string& name : words.names("client")) {
      reference.only.push_back(take_client(words, scenario_, name));
    }
  }
  scenario_.reference = reference;
}

void Parser::check_times(const Words& at_end) const {
  const std::string longer = "write a longer `duration`, or another time";
  if (scenario_.warmup_ns >= scenario_.duration_ns) {
    at_end.fail("the warm-up is as long as the duration", longer);
  }
  for (const Change& change : scenario_.changes) {
    if (change.at_ns >= scenario_.duration_ns) at_end.fail("a change comes after the end", longer);
  }
  for (const Phase& phase : scenario_.phases) {
    if (phase.to_ns > scenario_.duration_ns) {
      at_end.fail("phase `" + phase.name + "` ends after the end", longer);
    }
  }
  for (const ClientSpec& client : scenario_.clients) {
    if (client.from_ns >= scenario_.duration_ns) {
      at_end.fail("client `" + client.name + "` begins after the end", longer);
    }
  }
}

void Parser::check_expectations(const Words& at_end) const {
  for (const Expectation& each : scenario_.expectations) {
    const bool compared =
        each.figure == Figure::p99_vs_reference || each.figure == Figure::moved_vs_reference;
    if (compared && !scenario_.reference) {
      at_end.fail("`" + each.text + "` needs a run to compare with",
                  "add `reference only CLIENT` or `reference without changes`");
    }
  }
}

Scenario Parser::finish(std::size_t lines) {
  const Words at_end(scenario_.path, lines, "");
  if (scenario_.duration_ns == 0) at_end.fail("there is no `duration`", "add `duration 10s`");
  if (scenario_.is_network()) {
    check_network(at_end, scenario_);
  } else if (scenario_.lanes.empty()) {
    at_end.fail("there is no lane", "add `lane shm rate 500MB/s`, or `hosts a count 2`");
  }
  if (scenario_.clients.empty()) {
    at_end.fail("there is no client",
                "add `client bulk class background lane shm size 16MiB flood 1GiB`");
  }
  check_times(at_end);
  check_expectations(at_end);
  // No scenario has work of the daemon's own; what is kept for it leaves room under small limits.
  core::Amounts& reserve = scenario_.limits.internal_reserve;
  reserve = core::least(reserve, core::share(scenario_.limits.host, 16));
  std::uint32_t sessions = 0;
  for (const ClientSpec& client : scenario_.clients) sessions += client.session_count();
  if (sessions > kMostSessions) {
    at_end.fail("there are " + std::to_string(sessions) + " sessions",
                "leave at most " + std::to_string(kMostSessions));
  }
  const std::string text = core::contradiction(scenario_.limits, maxima_of(scenario_));
  if (!text.empty()) {
    at_end.fail("the core does not take these limits: " + text, "write others");
  }
  return scenario_;
}

}  // namespace

ClassId take_class(Words& words) {
  const std::vector<std::string_view> names(kClassNames.begin() + 1, kClassNames.end());
  return static_cast<ClassId>(words.one_of("class", names) + 1);
}

core::Policy take_policy(Words& words) {
  return static_cast<core::Policy>(words.one_of("policy", {"direct", "fifo", "strict", "wdrr"}));
}

std::uint32_t take_lane(Words& words, const Scenario& scenario, const std::string& name) {
  std::vector<std::string_view> known;
  for (std::uint32_t i = 0; i < scenario.lanes.size(); ++i) {
    if (scenario.lanes[i].name == name) return i;
    known.push_back(scenario.lanes[i].name);
  }
  words.fail("there is no lane `" + name + "` above",
             known.empty() ? "add `lane " + name + " rate 500MB/s` before" : list_of(known));
}

std::uint32_t take_client(Words& words, const Scenario& scenario, const std::string& name) {
  std::vector<std::string_view> known;
  for (std::uint32_t i = 0; i < scenario.clients.size(); ++i) {
    if (scenario.clients[i].name == name) return i;
    known.push_back(scenario.clients[i].name);
  }
  words.fail("there is no client `" + name + "` above",
             known.empty() ? "describe it with `client` before" : "write " + list_of(known));
}

Scenario parse_scenario(std::string_view text, const std::string& path) {
  Parser parser(path);
  std::size_t line = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    Words words(path, ++line, text.substr(0, end));
    if (!words.empty()) parser.statement(words);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parser.finish(std::max<std::size_t>(line, 1));
}

Scenario read_scenario(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    throw ScenarioError(path +
                        ": cannot be read, or is empty; name a scenario file, such as those "
                        "in tests/sim/scenarios");
  }
  return parse_scenario(text.str(), path);
}

}  // namespace tentq::sim
