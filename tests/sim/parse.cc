// The statements of a scenario file. See parse.h.
#include "tests/sim/parse.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "daemon/core/amounts.h"
#include "daemon/core/bounds.h"
#include "tests/sim/simulation.h"

namespace tentq::sim {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;
constexpr std::uint32_t kMostSessions = 4096;

// Settings of one statement, in any order, each at most once.
class Settings {
 public:
  explicit Settings(Words& words) : words_(words) {}
  // The next key; empty at the end of the line.
  std::string next(const std::vector<std::string_view>& known) {
    if (words_.empty()) return {};
    std::string key(known[words_.one_of("setting", known)]);
    if (!seen_.insert(key).second) words_.fail("`" + key + "` stands twice", "keep one of them");
    return key;
  }
  bool has(const std::string& key) const { return seen_.contains(key); }
  void require(const std::string& key, const std::string& example) {
    if (!has(key)) words_.fail("`" + key + "` is missing", "add `" + example + "`");
  }

 private:
  Words& words_;
  std::set<std::string> seen_;
};

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
  void lane(Words& words);
  void client(Words& words);
  void load(Words& words, const std::string& key, ClientSpec* client);
  void change(Words& words);
  void change_lane(Words& words, Change* change);
  void phase(Words& words);
  void reference(Words& words);
  void expect(Words& words) {
    scenario_.expectations.push_back(parse_expectation(words, scenario_));
  }

  static std::int64_t above_zero(Words& words, std::string_view what);
  static void check_new(Words& words, const std::string& name, bool exists);
  void check_times(const Words& at_end) const;
  void check_expectations(const Words& at_end) const;

  Scenario scenario_;
  std::set<std::string> once_;
};

std::int64_t Parser::above_zero(Words& words, std::string_view what) {
  const std::int64_t value = words.duration_ns(what);
  if (value == 0)
    words.fail("the " + std::string(what) + " is 0", "write a longer one, such as 1s");
  return value;
}

void Parser::check_new(Words& words, const std::string& name, bool exists) {
  if (exists) words.fail("`" + name + "` stands above already", "choose another name");
}

void Parser::statement(Words& words) {
  static const std::map<std::string_view, Statement> statements = {
      {"at", &Parser::change},           {"check", &Parser::check},
      {"class", &Parser::class_limits},  {"client", &Parser::client},
      {"duration", &Parser::duration},   {"expect", &Parser::expect},
      {"lane", &Parser::lane},           {"limits", &Parser::limits},
      {"phase", &Parser::phase},         {"policy", &Parser::policy},
      {"reference", &Parser::reference}, {"seed", &Parser::seed},
      {"warmup", &Parser::warmup}};
  static const std::set<std::string_view> only_once = {"check",     "duration", "limits", "policy",
                                                       "reference", "seed",     "warmup"};
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

void Parser::lane(Words& words) {
  LaneSpec lane;
  lane.name = words.name("a lane's name");
  check_new(words, lane.name,
            std::any_of(scenario_.lanes.begin(), scenario_.lanes.end(),
                        [&](const LaneSpec& each) { return each.name == lane.name; }));
  Settings settings(words);
  const std::vector<std::string_view> known = {"rate",   "delay", "jitter",   "window",
                                               "chunks", "chunk", "adaptive", "floor"};
  for (std::string key = settings.next(known); !key.empty(); key = settings.next(known)) {
    if (key == "rate") {
      lane.rate = words.rate("rate");
    } else if (key == "delay") {
      lane.delay_ns = words.duration_ns("delay");
    } else if (key == "jitter") {
      lane.jitter_ns = words.duration_ns("jitter");
    } else if (key == "window") {
      lane.window_bytes = words.size("window", 4096, kMostBytes);
    } else if (key == "chunks") {
      lane.window_chunks =
          static_cast<std::uint32_t>(words.number("number of chunks", 1, 1u << 20));
    } else if (key == "chunk" && words.peek() == "auto") {
      words.keyword("auto");
      lane.chunk_bytes = 0;
    } else if (key == "chunk") {
      lane.chunk_bytes = words.size("chunk", 4096, std::uint64_t{1} << 30);
    } else if (key == "adaptive") {
      lane.rules.adaptive = true;
      lane.rules.delay_target = Duration{above_zero(words, "delay target")};
    } else {
      lane.rules.least_bytes = words.size("floor", 1, kMostBytes);
    }
  }
  settings.require("rate", "rate 500MB/s");
  if (settings.has("floor") && !lane.rules.adaptive) {
    words.fail("a fixed window has no floor", "add `adaptive 100us`, or delete `floor`");
  }
  scenario_.lanes.push_back(lane);
}

void Parser::load(Words& words, const std::string& key, ClientSpec* client) {
  if (key == "open") {
    client->kind = LoadKind::open;
    client->share = words.ratio("part of the rate");
    if (client->share <= 0 || client->share > 10) {
      words.fail("an open load of that part of the rate", "write more than 0 and at most 1000%");
    }
  } else if (key == "flood") {
    client->kind = LoadKind::flood;
    client->bytes = words.size("size", 1, kMostBytes);
  } else {
    client->kind = key == "closed" ? LoadKind::closed : LoadKind::once;
    client->depth = static_cast<std::uint32_t>(words.number("number of owners", 1, 4096));
  }
}

void Parser::client(Words& words) {
  ClientSpec client;
  client.name = words.name("a client's name");
  check_new(words, client.name,
            std::any_of(scenario_.clients.begin(), scenario_.clients.end(),
                        [&](const ClientSpec& each) { return each.name == client.name; }));
  Settings settings(words);
  const std::vector<std::string_view> loads = {"open", "closed", "flood", "once"};
  std::vector<std::string_view> known = {"count",     "class",    "weight", "sessions",
                                         "in-flight", "lane",     "size",   "from",
                                         "until",     "arrivals", "think"};
  known.insert(known.end(), loads.begin(), loads.end());
  int given = 0;
  for (std::string key = settings.next(known); !key.empty(); key = settings.next(known)) {
    if (key == "count") {
      client.count = static_cast<std::uint32_t>(words.number("number", 1, kMostSessions));
    } else if (key == "class") {
      client.cls = take_class(words);
    } else if (key == "weight") {
      client.weight = static_cast<std::uint32_t>(words.number("weight", 1, 1u << 16));
    } else if (key == "sessions") {
      client.sessions = static_cast<std::uint32_t>(words.number("number of sessions", 1, 64));
    } else if (key == "in-flight") {
      client.in_flight_bytes = words.size("size", core::kLeastCap, kMostBytes);
    } else if (key == "lane") {
      for (const std::string& name : words.names("lane")) {
        client.lanes.push_back(take_lane(words, scenario_, name));
      }
    } else if (key == "size") {
      client.sizes = words.sizes("size");
    } else if (key == "think") {
      client.think_ns = words.duration_ns("time to think");
    } else if (key == "from") {
      client.from_ns = words.duration_ns("time");
    } else if (key == "until") {
      client.until_ns = words.duration_ns("time");
    } else if (key == "arrivals") {
      client.spacing = words.one_of("kind of arrivals", {"fixed", "poisson"}) == 0
                           ? bench::qos::Spacing::fixed
                           : bench::qos::Spacing::poisson;
    } else {
      given += 1;
      load(words, key, &client);
    }
  }
  settings.require("class", "class background");
  settings.require("lane", "lane NAME");
  settings.require("size", "size 256KiB");
  if (given != 1) {
    words.fail("a client has one load, this one has " + std::to_string(given),
               "write one of `open 20%`, `closed 4`, `flood 1GiB`, `once 1`");
  }
  if (settings.has("arrivals") && client.kind != LoadKind::open) {
    words.fail("only an open load has arrivals", "write `open 20%`, or delete `arrivals`");
  }
  if (settings.has("think") && client.kind != LoadKind::closed) {
    words.fail("only a closed load thinks", "write `closed 4`, or delete `think`");
  }
  if (client.until_ns <= client.from_ns) {
    words.fail("it stops before it begins", "write `until` later than `from`");
  }
  const std::uint64_t least = std::uint64_t{client.session_count()} *
                              *std::max_element(client.sizes.begin(), client.sizes.end());
  if (client.kind == LoadKind::flood && client.bytes < least) {
    words.fail("the flood is smaller than one owner of each of its sessions",
               "write at least `flood " + std::to_string(least) + "`, or fewer clients");
  }
  scenario_.clients.push_back(client);
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
  const std::size_t what = words.one_of("change", {"lane", "policy", "class"});
  if (what == 0) {
    change_lane(words, &change);
  } else if (what == 1) {
    change.kind = ChangeKind::policy;
    change.policy = take_policy(words);
  } else {
    change.kind = ChangeKind::class_weight;
    change.cls = take_class(words);
    words.keyword("weight");
    change.weight = static_cast<std::uint32_t>(words.number("weight", 1, 1u << 16));
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

// reference only NAME,NAME; reference without changes
void Parser::reference(Words& words) {
  Reference reference;
  if (words.one_of("kind of reference", {"only", "without"}) == 1) {
    words.keyword("changes");
    reference.without_changes = true;
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
  if (scenario_.lanes.empty()) {
    at_end.fail("there is no lane", "add `lane shm rate 500MB/s`");
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
