// Random schedules of many senders with losses, duplicates, late and overtaken messages, restarts
// and changes of rate: I1 to I5 after every event, and I6 once messages get through again, or never
// do. RapidCheck prints the seed and the shortest schedule that it finds. `--long` tries 20 times
// more.
#include <rapidcheck.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <vector>

#include "tests/credits/credit_net.h"

namespace tentq::core {
namespace {

constexpr std::int64_t kMs = 1'000'000;

enum class OpKind : std::uint8_t {
  wait,
  queue,
  faults,
  partition,
  heal,
  rate,
  restart_receiver,
  restart_sender,
};
struct Op {
  OpKind kind = OpKind::wait;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};
void showValue(const Op& op, std::ostream& to) {  // NOLINT: RapidCheck looks for this name
  static constexpr const char* kNames[] = {"wait", "queue", "faults",           "partition",
                                           "heal", "rate",  "restart receiver", "restart sender"};
  to << kNames[static_cast<std::size_t>(op.kind)] << " " << op.a << " " << op.b;
}

rc::Gen<Op> op_gen() {
  const auto number = rc::gen::inRange<std::uint32_t>(0, 1u << 20);
  const auto kind = rc::gen::weightedElement<OpKind>({{8, OpKind::wait},
                                                      {8, OpKind::queue},
                                                      {2, OpKind::faults},
                                                      {1, OpKind::partition},
                                                      {1, OpKind::heal},
                                                      {1, OpKind::rate},
                                                      {1, OpKind::restart_receiver},
                                                      {1, OpKind::restart_sender}});
  return rc::gen::build<Op>(rc::gen::set(&Op::kind, kind), rc::gen::set(&Op::a, number),
                            rc::gen::set(&Op::b, number));
}

NetShape any_shape() {
  NetShape shape;
  shape.senders = *rc::gen::inRange(1u, 33u);
  shape.rules.chunk_bytes = 64u << 10;
  shape.rules.boot_bytes = (64u << 10) * *rc::gen::inRange(2u, 17u);
  // Often less than a chunk for each.
  shape.ingest_per_ns = 0.02 * *rc::gen::inRange(1, 50);
  shape.uplink_per_ns = 0.05 * *rc::gen::inRange(1, 100);
  shape.delay_ns = *rc::gen::inRange<std::int64_t>(5'000, 3 * kMs);
  // Urgent work that would keep all others waiting, if they were not given a chunk before.
  shape.rules.weights[index_of(ClassId::foreground)] = *rc::gen::element(16u, 1'000'000u);
  shape.seed = *rc::gen::arbitrary<std::uint64_t>();
  return shape;
}

NetFaults some_faults(std::uint32_t a, std::uint32_t b) {
  NetFaults faults;
  faults.lost = a % 8 * 0.1;
  faults.doubled = b % 4 * 0.2;
  faults.late_ns = static_cast<std::int64_t>(a / 8 % 64) * 10 * kMs;  // up to three ttls
  return faults;
}

void apply(CreditNet& net, const NetShape& shape, const Op& op) {
  const std::uint32_t sender = op.a % shape.senders;
  switch (op.kind) {
    case OpKind::wait: net.run_until(net.now_ns() + op.a % 64 * kMs); break;
    case OpKind::queue:
      net.queue(sender, 1 + op.b % 400, static_cast<ClassId>(1 + op.b % 4));
      break;
    case OpKind::faults: net.set_faults(some_faults(op.a, op.b)); break;
    case OpKind::partition: net.set_faults({1, 0, 0}); break;
    case OpKind::heal: net.set_faults({}); break;
    case OpKind::rate: net.set_ingest(0.05 * (1 + op.a % 100)); break;
    case OpKind::restart_receiver: net.restart_receiver(); break;
    case OpKind::restart_sender: net.restart_sender(sender); break;
  }
}

double ns_of(double bytes, double per_ns) {
  return bytes / per_ns;
}

// Everybody has more than it can send. With messages: after what was late has come, each sender
// gets a chunk within N·S / rate + 40 ms, where the rate is that of the slower end. Then without:
// each goes on at its stale window.
void everybody_gets_on(CreditNet& net, const NetShape& shape, double ingest_per_ns) {
  const std::int64_t ttl_ns = shape.rules.receiver_ttl_ns();
  net.set_faults({});
  for (std::uint32_t s = 0; s < shape.senders; ++s) {
    net.queue(s, 1u << 20, s % 3 == 2 ? ClassId::background : ClassId::foreground);
  }
  net.run_until(net.now_ns() + 2 * ttl_ns + 700 * kMs);
  net.forget_figures();
  net.run_until(net.now_ns() + 200 * kMs);
  const double chunk = static_cast<double>(shape.rules.chunk_bytes);
  const double turn_ns =
      ns_of(shape.senders * chunk, ingest_per_ns) + ns_of(chunk, shape.uplink_per_ns);
  const double way_ns = 4.0 * static_cast<double>(shape.delay_ns);
  const double most_ns = turn_ns + 40.0 * kMs + way_ns;
  RC_ASSERT(static_cast<double>(net.longest_wait_ns()) <= most_ns);
  RC_ASSERT(net.violations() == 0u);

  net.set_faults({1, 0, 0});
  net.run_until(net.now_ns() + ttl_ns + 40 * kMs);
  net.forget_figures();
  net.run_until(net.now_ns() + 200 * kMs);
  double windows = 0;
  for (std::uint32_t s = 0; s < shape.senders; ++s) {
    RC_ASSERT(net.sender(s).state() == CreditState::stale);
    windows += static_cast<double>(net.sender(s).stale_window());
  }
  const double drain_ns = ns_of(windows, std::min(ingest_per_ns, shape.uplink_per_ns));
  RC_ASSERT(static_cast<double>(net.longest_wait_ns()) <= drain_ns + way_ns);
}

void holds_on_any_schedule() {
  const NetShape shape = any_shape();
  const auto ops = *rc::gen::resize(60, rc::gen::container<std::vector<Op>>(op_gen()));
  CreditNet net(shape);
  double ingest_per_ns = shape.ingest_per_ns;
  for (const Op& op : ops) {
    apply(net, shape, op);
    if (op.kind == OpKind::rate) ingest_per_ns = 0.05 * (1 + op.a % 100);
  }
  everybody_gets_on(net, shape, ingest_per_ns);
}

// Same seed, same decisions: not in the least message do two runs differ.
void decides_the_same() {
  const NetShape shape = any_shape();
  const auto ops = *rc::gen::resize(30, rc::gen::container<std::vector<Op>>(op_gen()));
  const auto run = [&] {
    CreditNet net(shape);
    for (const Op& op : ops) apply(net, shape, op);
    std::uint64_t hash = net.receiver().hash(net.messages(), net.now_ns());
    for (std::uint32_t s = 0; s < shape.senders; ++s) {
      hash = net.sender(s).hash(hash, net.now_ns());
    }
    return hash;
  };
  RC_ASSERT(run() == run());
}

template <class Property>
bool check(const char* name, const Property& property, std::uint64_t round) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.seed += round;
  rc::detail::TestMetadata metadata;
  metadata.id = metadata.description = name;
  std::cerr << "\n- " << name << ", seed " << params.seed << "\n";
  const auto result = rc::detail::checkTestable(property, metadata, params);
  rc::detail::printResultMessage(result, std::cerr);
  std::cerr << std::endl;
  return result.template is<rc::detail::SuccessResult>();
}

}  // namespace
}  // namespace tentq::core

int main(int argc, char** argv) {
  const bool is_long = argc > 1 && std::strcmp(argv[1], "--long") == 0;
  if (argc > (is_long ? 2 : 1)) {
    std::cerr << "usage: credits_property_test [--long]\n";
    return 2;
  }
  using namespace tentq::core;
  bool good = true;
  for (std::uint64_t round = 0; good && round < (is_long ? 20 : 1); ++round) {
    good = check("invariants hold on any schedule", holds_on_any_schedule, round) &&
           check("the same schedule decides the same", decides_the_same, round);
  }
  return good ? 0 : 1;
}
