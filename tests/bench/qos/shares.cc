// Who gets how much of the lane when all want more than there is.
#include <algorithm>
#include <numeric>

#include "daemon/settings.h"
#include "tests/bench/qos/segment.h"

namespace tentq::bench::qos {
namespace {

constexpr std::uint64_t kOutstanding = 16u << 20;  // of each client
constexpr double kSettleMs = 500;
constexpr std::uint32_t kEqualClients = 16;
constexpr std::uint32_t kManySessions = 50;
constexpr char kNeedsRoot[] = "needs root: clients are told apart by their user";

struct Case {
  const char* name;
  const char* policy;
  std::vector<BulkSpec> clients;
  std::vector<std::uint32_t> class_weights = {1, 1, 1, 1};  // foreground … background
};

BulkSpec client(std::uint32_t number, Class cls, std::uint64_t owner_bytes,
                std::uint32_t sessions = 1) {
  BulkSpec spec;
  spec.name = "share-" + std::to_string(number);
  spec.cls = cls;
  spec.owner_bytes = owner_bytes;
  spec.sessions = sessions;
  spec.depth = static_cast<std::uint32_t>(kOutstanding / owner_bytes);
  spec.depth = std::max(spec.depth, sessions);
  if (can_be_several_users()) spec.uid = uid_of_client(number);
  return spec;
}

// 64 KiB, 256 KiB, 1 MiB, 4 MiB in turn.
std::uint64_t mixed_size(std::uint32_t number) {
  return std::uint64_t{64u << 10} << (2 * (number % 4));
}

void set_weights(Stage& stage, const std::vector<std::uint32_t>& weights) {
  constexpr const char* kClasses[] = {"foreground", "default", "prefetch", "background"};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    stage.set(std::string("classes.") + kClasses[i] + ".weight", std::to_string(weights[i]));
  }
}

// Bytes of each client in options.seconds.
std::vector<double> measure(Run& run, const Case& one) {
  use({one.name, one.policy}, run.stage);
  set_weights(run.stage, one.class_weights);
  Bulk bulk(run.setup, one.clients);
  bulk.begin();
  run.stage.await_outstanding(bulk.outstanding_bytes() / 10 * 9);
  let_run(kSettleMs);
  const std::vector<double> before = bulk.bytes();
  let_run(run.setup.options.seconds * 1e3);
  std::vector<double> bytes = bulk.bytes();
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] -= before[i];
  bulk.end();
  run.stage.await_quiet();
  run.errors += bulk.errors();
  bulk.stop();
  run.figures["shares"][one.name] = {{"bytes", bytes}};
  run.say("shares, %s: done", one.name);
  return bytes;
}

double part_of_first(const std::vector<double>& bytes) {
  const double sum = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  return sum > 0 ? bytes.front() / sum : 0;
}

void measure_equal(Run& run) {
  Case mixed{"equal", "wdrr", {}};
  Case urgent{"all_foreground", "wdrr", {}};
  for (std::uint32_t i = 0; i < kEqualClients; ++i) {
    mixed.clients.push_back(client(i, Class::standard, mixed_size(i)));
    urgent.clients.push_back(client(i, Class::foreground, mixed_size(i)));
  }
  run.verdicts.at_least("jain_equal", jain(measure(run, mixed)), 0.99);
  run.verdicts.at_least("jain_all_foreground", jain(measure(run, urgent)), 0.99);
}

// Four clients in each of four classes that weigh 8:4:2:1; a client's weight is its class's, since
// the four of a class share it equally.
void measure_weighted(Run& run) {
  constexpr Class kClasses[] = {Class::foreground, Class::standard, Class::prefetch,
                                Class::background};
  Case weighted{"weighted", "wdrr", {}, {8, 4, 2, 1}};
  std::vector<double> weights;
  for (std::uint32_t i = 0; i < kEqualClients; ++i) {
    weighted.clients.push_back(client(i, kClasses[i / 4], mixed_size(i)));
    weights.push_back(weighted.class_weights[i / 4]);
  }
  run.verdicts.at_least("jain_weighted", jain_weighted(measure(run, weighted), weights), 0.98);
}

void measure_greed(Run& run) {
  constexpr double kAllowed = 1.02;  // of its share
  // Foreground and background weigh the same: half for the one that marks everything foreground,
  // however many others there are.
  Case urgent{"one_all_foreground", "wdrr", {client(0, Class::foreground, 1u << 20)}};
  for (std::uint32_t i = 1; i <= 3; ++i) {
    urgent.clients.push_back(client(i, Class::background, 1u << 20));
  }
  run.verdicts.at_most("one_all_foreground_vs_share", part_of_first(measure(run, urgent)) / 0.5,
                       kAllowed);
  if (!can_be_several_users()) {
    run.verdicts.at_most("many_sessions_vs_share", std::nullopt, kAllowed, kNeedsRoot);
    return;
  }
  const Case sessions{"many_sessions",
                      "wdrr",
                      {client(0, Class::standard, 256u << 10, kManySessions),
                       client(1, Class::standard, 256u << 10)}};
  run.verdicts.at_most("many_sessions_vs_share", part_of_first(measure(run, sessions)) / 0.5,
                       kAllowed);
}

void measure_lowest(Run& run) {
  Case aged{"lowest_class", "strict", {client(0, Class::background, 1u << 20)}};
  for (std::uint32_t i = 1; i <= 4; ++i) {
    aged.clients.push_back(client(i, Class::foreground, 1u << 20));
  }
  const std::vector<double> bytes = measure(run, aged);
  run.verdicts.at_least("lowest_class_vs_rate",
                        bytes.front() / run.setup.options.seconds / run.rate(), 0.09);
}

}  // namespace

void measure_shares(Run& run) {
  run.figures["shares"] = Json::object();
  if (can_be_several_users()) {
    measure_equal(run);
    measure_weighted(run);
  } else {
    for (const char* name : {"jain_equal", "jain_all_foreground"}) {
      run.verdicts.at_least(name, std::nullopt, 0.99, kNeedsRoot);
    }
    run.verdicts.at_least("jain_weighted", std::nullopt, 0.98, kNeedsRoot);
  }
  measure_greed(run);
  measure_lowest(run);
  const Settings defaults;
  std::vector<std::uint32_t> weights;
  for (const ClassId cls :
       {ClassId::foreground, ClassId::standard, ClassId::prefetch, ClassId::background}) {
    weights.push_back(defaults.limits.classes[index_of(cls)].weight);
  }
  set_weights(run.stage, weights);
}

}  // namespace tentq::bench::qos
