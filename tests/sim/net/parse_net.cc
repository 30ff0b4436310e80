// Statements of scenario files with several hosts. See settings.h and parse.h.
#include <algorithm>

#include "daemon/core/lane_set.h"
#include "tests/sim/parse.h"
#include "tests/sim/settings.h"

namespace tentq::sim {
namespace {

constexpr std::uint32_t kMostHosts = 4096;

// At most, on each host: to every other one that it writes to, reads from, or is read by.
void check_lanes(const Words& at_end, const Scenario& scenario) {
  const std::vector<HostSpec>& hosts = scenario.net.hosts;
  std::vector<std::uint64_t> lanes(hosts.size());
  for (const ClientSpec& client : scenario.clients) {
    lanes[client.on] += std::uint64_t{hosts[client.to].count} * (client.ops == Ops::both ? 2 : 1);
    if (client.ops != Ops::write) lanes[client.to] += hosts[client.on].count;
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (lanes[i] <= core::kMaxLanes) continue;
    at_end.fail("each of the hosts `" + hosts[i].name + "` has " + std::to_string(lanes[i]) +
                    " lanes, one for each host that it writes to, reads from or is read by",
                "leave at most " + std::to_string(core::kMaxLanes) + ": fewer hosts, or clients");
  }
}

}  // namespace

std::uint32_t take_hosts(Words& words, const Scenario& scenario, const std::string& name) {
  std::vector<std::string_view> known;
  for (std::uint32_t i = 0; i < scenario.net.hosts.size(); ++i) {
    if (scenario.net.hosts[i].name == name) return i;
    known.push_back(scenario.net.hosts[i].name);
  }
  words.fail("there are no hosts `" + name + "` above",
             known.empty() ? "add `hosts " + name + " count 2` before" : "write " + list_of(known));
}

// hosts senders count 16 uplink 1.25GB/s memory 1GB/s legacy 30%
void parse_hosts(Words& words, Scenario* scenario) {
  HostSpec hosts;
  hosts.name = words.name("a name of hosts");
  hosts.first = scenario->net.host_count();
  check_new(words, hosts.name,
            std::any_of(scenario->net.hosts.begin(), scenario->net.hosts.end(),
                        [&](const HostSpec& each) { return each.name == hosts.name; }));
  if (!scenario->lanes.empty()) {
    words.fail("the file has lanes of one host already",
               "delete `lane`: lanes between hosts are made by `client NAME on HOSTS to HOSTS`");
  }
  Settings settings(words);
  const std::vector<std::string_view> known = {"count", "uplink", "memory", "slots", "legacy"};
  for (std::string key = settings.next(known); !key.empty(); key = settings.next(known)) {
    if (key == "count") {
      hosts.count = static_cast<std::uint32_t>(words.number("number", 1, kMostHosts - hosts.first));
    } else if (key == "uplink") {
      hosts.uplink = words.rate("rate");
    } else if (key == "memory") {
      hosts.memory = words.rate("rate");
    } else if (key == "slots") {
      hosts.slots_bytes = words.size("size", 1, kMostBytes);
    } else {
      hosts.legacy = words.ratio("part of the hosts");
      if (hosts.legacy > 1) words.fail("more hosts than there are", "write at most 100%");
    }
  }
  scenario->net.hosts.push_back(hosts);
}

// network delay 100us lost 1% doubled 1% late 2ms
void parse_network(Words& words, Scenario* scenario) {
  NetSpec& net = scenario->net;
  Settings settings(words);
  const auto chance = [&words] {
    const double value = words.ratio("part of the messages");
    if (value > 1) words.fail("more messages than there are", "write at most 100%");
    return value;
  };
  const std::vector<std::string_view> known = {"delay", "lost", "doubled", "late"};
  for (std::string key = settings.next(known); !key.empty(); key = settings.next(known)) {
    if (key == "delay") {
      net.delay_ns = above_zero(words, "delay");
    } else if (key == "lost") {
      net.lost = chance();
    } else if (key == "doubled") {
      net.doubled = chance();
    } else {
      net.late_ns = words.duration_ns("time");
    }
  }
}

// credits on chunk 64KiB boot 512KiB; credits off
void parse_credits(Words& words, Scenario* scenario) {
  core::CreditRules& rules = scenario->net.rules;
  scenario->net.credits = words.one_of("answer", {"off", "on"}) == 1;
  Settings settings(words);
  const std::vector<std::string_view> known = {"chunk", "legacy", "boot",  "demand",
                                               "gap",   "ttl",    "probe", "queue"};
  for (std::string key = settings.next(known); !key.empty(); key = settings.next(known)) {
    if (key == "chunk") {
      rules.chunk_bytes = words.size("size", 4096, kMostBytes);
    } else if (key == "legacy") {
      rules.legacy_bytes = words.size("size", 1, kMostBytes);
    } else if (key == "boot") {
      rules.boot_bytes = words.size("size", 1, kMostBytes);
    } else if (key == "demand") {
      rules.demand_ns = above_zero(words, "time between demands");
    } else if (key == "gap") {
      rules.demand_gap_ns = above_zero(words, "gap between demands");
    } else if (key == "ttl") {
      rules.ttl_ns = above_zero(words, "time of a grant");
    } else if (key == "probe") {
      rules.probe_ns = above_zero(words, "time between probes");
    } else {
      rules.target_queue_ns = words.duration_ns("time that the queue may take");
    }
  }
  const std::string wrong = core::contradiction(rules);
  if (!wrong.empty()) words.fail("these rules contradict each other: " + wrong, "write others");
}

// path window 4MiB chunk 64KiB
void parse_path(Words& words, Scenario* scenario) {
  Settings settings(words);
  const std::vector<std::string_view> known = {"window", "chunks", "chunk", "adaptive", "floor"};
  for (std::string key = settings.next(known); !key.empty(); key = settings.next(known)) {
    take_window(words, key, &scenario->far_lane);
  }
}

// at 2s hosts sink memory 100MB/s; hosts sink jam 1s; hosts sink restart 100ms
void change_hosts(Words& words, const Scenario& scenario, Change* change) {
  change->hosts = take_hosts(words, scenario, words.word("a name of hosts"));
  switch (words.one_of("change of hosts", {"memory", "uplink", "jam", "restart"})) {
    case 0:
      change->kind = ChangeKind::host_memory;
      change->rate = words.rate("rate");
      break;
    case 1:
      change->kind = ChangeKind::host_uplink;
      change->rate = words.rate("rate");
      break;
    case 2:
      change->kind = ChangeKind::host_jam;
      change->duration_ns = above_zero(words, "time of the jam");
      break;
    default:
      change->kind = ChangeKind::host_restart;
      change->duration_ns = above_zero(words, "time that it takes");
  }
}

// at 2s partition sink from senders for 1s
void change_partition(Words& words, const Scenario& scenario, Change* change) {
  change->kind = ChangeKind::partition;
  change->hosts = take_hosts(words, scenario, words.word("a name of hosts"));
  words.keyword("from");
  change->others = take_hosts(words, scenario, words.word("a name of hosts"));
  words.keyword("for");
  change->duration_ns = above_zero(words, "time of the partition");
}

void check_network(const Words& at_end, const Scenario& scenario) {
  if (!scenario.lanes.empty()) {
    at_end.fail("lanes of one host stand beside several hosts",
                "delete `lane`: lanes between hosts are made by `client NAME on HOSTS to HOSTS`");
  }
  for (const Change& change : scenario.changes) {
    if (change.kind == ChangeKind::policy || change.kind == ChangeKind::class_weight) {
      at_end.fail("policies and weights of several hosts do not change",
                  "delete the change, or write a scenario of one host");
    }
  }
  check_lanes(at_end, scenario);
}

}  // namespace tentq::sim
