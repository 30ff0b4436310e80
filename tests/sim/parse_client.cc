// `lane` and `client`. See settings.h and parse.h.
#include <algorithm>

#include "daemon/core/client_caps.h"
#include "tests/sim/parse.h"
#include "tests/sim/settings.h"

namespace tentq::sim {

bool take_window(Words& words, const std::string& key, LaneSpec* lane) {
  if (key == "window") {
    lane->window_bytes = words.size("window", 4096, kMostBytes);
  } else if (key == "chunks") {
    lane->window_chunks = static_cast<std::uint32_t>(words.number("number of chunks", 1, 1u << 20));
  } else if (key == "chunk" && words.peek() == "auto") {
    words.keyword("auto");
    lane->chunk_bytes = 0;
  } else if (key == "chunk") {
    lane->chunk_bytes = words.size("chunk", 4096, std::uint64_t{1} << 30);
  } else if (key == "adaptive") {
    lane->rules.adaptive = true;
    lane->rules.delay_target = Duration{above_zero(words, "delay target")};
  } else if (key == "floor") {
    lane->rules.least_bytes = words.size("floor", 1, kMostBytes);
  } else {
    return false;
  }
  return true;
}

void parse_lane(Words& words, Scenario* scenario) {
  LaneSpec lane;
  lane.name = words.name("a lane's name");
  check_new(words, lane.name,
            std::any_of(scenario->lanes.begin(), scenario->lanes.end(),
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
    } else {
      take_window(words, key, &lane);
    }
  }
  settings.require("rate", "rate 500MB/s");
  if (settings.has("floor") && !lane.rules.adaptive) {
    words.fail("a fixed window has no floor", "add `adaptive 100us`, or delete `floor`");
  }
  scenario->lanes.push_back(lane);
}

namespace {

void take_load(Words& words, const std::string& key, ClientSpec* client) {
  if (key == "open") {
    client->kind = LoadKind::open;
    client->share = words.ratio("part of the rate");
    if (client->share <= 0 || client->share > 10) {
      words.fail("an open load of that part of the rate", "write more than 0 and at most 1000%");
    }
  } else if (key == "flood") {
    client->kind = LoadKind::flood;
    client->bytes = words.size("size", 1, kMostBytes);
  } else if (key == "trace") {
    client->kind = LoadKind::trace;
    client->speed = words.ratio("how many times faster than it was recorded");
    if (client->speed < 0.001 || client->speed > 1e6) {
      words.fail("a trace that fast", "write a number from 0.001 to 1000000, such as `trace 60`");
    }
  } else {
    client->kind = key == "closed" ? LoadKind::closed : LoadKind::once;
    client->depth = static_cast<std::uint32_t>(words.number("number of owners", 1, 4096));
  }
}

// Where it is and where its data goes.
bool take_place(Words& words, const Scenario& scenario, const std::string& key,
                ClientSpec* client) {
  if (key == "lane") {
    for (const std::string& name : words.names("lane")) {
      client->lanes.push_back(take_lane(words, scenario, name));
    }
  } else if (key == "on") {
    client->on = take_hosts(words, scenario, words.word("the name of hosts"));
  } else if (key == "to") {
    client->to = take_hosts(words, scenario, words.word("the name of hosts"));
  } else if (key == "op") {
    client->ops = static_cast<Ops>(words.one_of("operation", {"write", "read", "both"}));
  } else {
    return false;
  }
  return true;
}

void check_place(Words& words, const Scenario& scenario, const Settings& settings,
                 const ClientSpec& client) {
  if (!scenario.is_network()) {
    if (!settings.has("lane")) words.fail("`lane` is missing", "add `lane NAME`");
    for (const char* key : {"on", "to", "op"}) {
      if (settings.has(key)) {
        words.fail("`" + std::string(key) + "` is of clients of several hosts",
                   "write `hosts NAME count N` above, or delete it");
      }
    }
    return;
  }
  if (!settings.has("on") || !settings.has("to")) {
    words.fail("a client of several hosts says where it is and where its data goes",
               "add `on HOSTS to HOSTS`");
  }
  if (client.on == client.to && scenario.net.hosts[client.on].count == 1) {
    words.fail("the host has no other one to write to", "write other hosts behind `to`");
  }
}

void check_load(Words& words, const Settings& settings, const ClientSpec& client, int given) {
  if (given != 1) {
    words.fail("a client has one load, this one has " + std::to_string(given),
               "write one of `open 20%`, `closed 4`, `flood 1GiB`, `once 1`, `trace 60`");
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
  if (client.kind == LoadKind::trace &&
      (client.ops != Ops::both || client.to == kNoHosts || client.sizes.size() != 1)) {
    words.fail("a trace reads blocks of one size from other hosts, and writes them",
               "write `op both to HOSTS size 256KiB`");
  }
  const std::uint64_t least = std::uint64_t{client.session_count()} *
                              *std::max_element(client.sizes.begin(), client.sizes.end());
  if (client.kind == LoadKind::flood && client.bytes < least) {
    words.fail("the flood is smaller than one owner of each of its sessions",
               "write at least `flood " + std::to_string(least) + "`, or fewer clients");
  }
}

}  // namespace

void parse_client(Words& words, Scenario* scenario) {
  ClientSpec client;
  client.name = words.name("a client's name");
  check_new(words, client.name,
            std::any_of(scenario->clients.begin(), scenario->clients.end(),
                        [&](const ClientSpec& each) { return each.name == client.name; }));
  Settings settings(words);
  const std::vector<std::string_view> loads = {"open", "closed", "flood", "once", "trace"};
  std::vector<std::string_view> known = {"count", "class", "weight", "sessions", "in-flight",
                                         "lane",  "size",  "from",   "until",    "arrivals",
                                         "think", "on",    "to",     "op"};
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
    } else if (!take_place(words, *scenario, key, &client)) {
      given += 1;
      take_load(words, key, &client);
    }
  }
  settings.require("class", "class background");
  settings.require("size", "size 256KiB");
  check_place(words, *scenario, settings, client);
  check_load(words, settings, client, given);
  scenario->clients.push_back(client);
}

}  // namespace tentq::sim
