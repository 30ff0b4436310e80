// `tentq-bench latency`: one small transfer at a time, from submit to its terminal status, against
// two processes that do nothing but the copy.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

#include "tests/bench/commands.h"
#include "tests/bench/host_pair.h"
#include "tests/bench/orders.h"
#include "tests/bench/pair.h"
#include "tests/bench/pattern.h"
#include "tests/bench/raw_tcp.h"
#include "tests/bench/wire.h"

namespace tentq::bench {
namespace {

constexpr char kFormulas[] =
    "Two processes: an exporter that only registered its memory, and a client. Client and daemon\n"
    "spin (shm) or wait (tcp, whose two daemons serve one side each). One transfer at a time, "
    "another of 16 patterns each time, all bytes compared after it.\n"
    "  p50_us p99_us p999_us  of (terminal status seen by spinning - before submit), all rounds;\n"
    "                         exact percentiles by nearest rank\n"
    "  limit_p50_us           the same of the limit: the client's process and one other, a ring "
    "of\n"
    "                         cache lines each way, one memcpy over the same two mappings; "
    "tcp:\n"
    "                         one request and its answer between two processes by raw sockets\n"
    "  ratio_p50              median over the interleaved rounds of (round's p50 / limit's p50)\n"
    "  interval               90 % bootstrap interval of ratio_p50\n"
    "  verdict                pass when the interval lies at or below --bound, fail when above,\n"
    "                         else inconclusive (after at most 3 repeats)\n"
    "  verified               transfers whose bytes were right; errors: those whose were not";

constexpr std::uint64_t kPatterns = 16;

struct LatencyOptions {
  HostChoice hosts;
  std::string op = "read";
  std::uint64_t size = 4096;
  std::uint64_t count = 36'000;
  RoundOptions rounds{kLeastRounds, 2.0};
};

std::uint64_t padded(std::uint64_t size) {
  return (size + 4095) / 4096 * 4096;
}

// The client's process: the subject through the daemon, the limit through the wire.
class LatencyClient {
 public:
  LatencyClient(const HostPair& hosts, const PairMemory& memory, Wire* wire,
                const LatencyOptions& options, std::uint64_t seed, std::span<double> samples,
                const RawTcpPlace& raw)
      : options_(options),
        reading_(options.op == "read"),
        spins_(!hosts.between_hosts()),
        mapped_(memory),
        attached_(hosts.client_socket(), memory, mapped_, hosts.segment("bench")),
        caller_(wire),
        samples_(samples),
        source_(reading_ ? mapped_.remote.data() : mapped_.local.data()),
        destination_(reading_ ? mapped_.local.data() : mapped_.remote.data()) {
    for (std::uint64_t i = 0; i < kPatterns; ++i) {
      patterns_.emplace_back(seed, i);
      patterns_[i].fill({source_ + i * padded(options.size), options.size});
    }
    if (raw.port == 0) return;
    raw_.emplace(raw, 1, std::span(mapped_.local.data(), memory.bytes));
  }

  Report carry_out(const Order& order) {
    Report report;
    for (std::uint64_t i = 0; i < order.count; ++i) {
      const std::uint64_t which = transfers_++ % kPatterns;
      const std::int64_t took =
          order.kind == OrderKind::subject ? through_daemon(which, &report) : through_wire(which);
      samples_[i] = static_cast<double>(took) / 1e3;
      if (!patterns_[which].matches({destination_, options_.size})) ++report.errors;
      ++report.count;
    }
    return report;
  }

 private:
  std::int64_t through_daemon(std::uint64_t which, Report* report) {
    Batch batch = value_of(attached_.client.allocate_batch(1), "allocate_batch");
    const std::uint64_t offset = which * padded(options_.size);
    const Request request = {reading_ ? Opcode::read : Opcode::write,
                             mapped_.local.data() + (reading_ ? 0 : offset), attached_.segment,
                             reading_ ? offset : 0, options_.size};
    SpinLimit limit;
    std::int64_t begin = now_ns();
    for (;;) {
      const Status status = attached_.client.submit(batch, {&request, 1}, submit_);
      if (status.ok()) break;
      if (!status.may_retry()) check_ok(status, "submit");
      ++report->refused;
      limit.turn();
      begin = now_ns();
    }
    if (spins_) {
      while (!batch.done()) limit.turn();
    } else {
      check_ok(batch.wait(kOrderLimit), "wait");
    }
    const std::int64_t took = now_ns() - begin;
    const TaskStatus status = batch.status(0);
    if (status.state != State::completed) {
      throw std::runtime_error("a transfer ended " + std::string(to_string(status.state)) + ": " +
                               std::string(to_string(status.reason)));
    }
    return took;
  }

  std::int64_t through_wire(std::uint64_t which) {
    const std::int64_t begin = now_ns();
    if (raw_) {
      const std::uint64_t at = which * padded(options_.size);
      raw_->exchange(reading_, reading_ ? 0 : at, reading_ ? at : 0, options_.size);
      return now_ns() - begin;
    }
    caller_.copy(0, which * padded(options_.size), options_.size);
    return now_ns() - begin;
  }

  const LatencyOptions& options_;
  const bool reading_;
  const bool spins_;  // else more processes than cores would, and it waits
  MappedPair mapped_;
  AttachedClient attached_;
  WireCaller caller_;
  std::optional<RawTcpClient> raw_;  // the limit of tcp
  std::span<double> samples_;
  std::byte* source_;
  std::byte* destination_;
  std::vector<Pattern> patterns_;
  std::uint64_t transfers_ = 0;
  const SubmitOptions submit_ = {.cls = Class::foreground};
};

class LatencyRounds : public RoundPair {
 public:
  // `peer`: the other process of the limit; null when it needs no orders.
  LatencyRounds(test::Role* client, test::Role* peer, std::uint64_t count, std::span<double> shared)
      : client_(client), peer_(peer), count_(count), shared_(shared) {}

  void begin_attempt() override { subjects_.clear(), limits_.clear(); }
  double subject(unsigned round) override {
    return take(order_one(*client_, {OrderKind::subject, round, count_}), &subjects_);
  }
  double limit(unsigned round) override {
    if (peer_ == nullptr) {
      return take(order_one(*client_, {OrderKind::limit, round, count_}), &limits_);
    }
    test::Role* both[] = {peer_, client_};
    return take(order_all(both, {OrderKind::limit, round, count_}).back(), &limits_);
  }

  std::vector<double> subjects_;  // all samples, µs
  std::vector<double> limits_;
  std::uint64_t verified_ = 0;  // over all attempts, as errors_
  std::uint64_t errors_ = 0;

 private:
  double take(const Report& report, std::vector<double>* samples) {
    errors_ += report.errors;
    if (samples == &subjects_) verified_ += report.count - report.errors;
    const std::span<double> round = shared_.first(report.count);
    samples->insert(samples->end(), round.begin(), round.end());
    return percentile(round, 0.5);
  }

  test::Role* client_;
  test::Role* peer_;
  std::uint64_t count_;
  std::span<double> shared_;
};

// Keeps the daemon awake within a round, asleep soon after it, so that it leaves its core to the
// limit's other process.
nlohmann::json spinning_config() {
  return {{"loop", {{"spin", "2ms"}}}};
}

Outcome run_latency(const CommonOptions& common, const LatencyOptions& options) {
  const bool spins = options.hosts.transport == "shm";
  const HostPair hosts(common, options.hosts, spins ? spinning_config() : nlohmann::json::object());
  const PairMemory memory(padded(options.size) * kPatterns);
  const std::uint64_t count = std::max<std::uint64_t>(options.count / options.rounds.rounds, 1);
  const test::SharedArray<double> samples(count);
  const test::SharedArray<Wire> wire(1);

  test::Role exporter = start_exporter(hosts.exporter_socket(), memory, "bench");
  await_ready(exporter);
  std::optional<test::Role> raw;
  if (hosts.between_hosts()) {
    raw.emplace(start_raw_server(memory, "bench-raw", hosts.exporters_place()));
  }
  const RawTcpPlace place{hosts.exporters_place().address, raw ? port_of(*raw) : std::uint16_t{0}};
  test::Role client("bench-client", kRoleLimit, [&](test::RoleChannel& channel) {
    move_to(hosts.clients_place());
    LatencyClient process(hosts, memory, wire.data(), options, common.seed, samples.span(), place);
    return serve_orders(channel, [&](const Order& order) { return process.carry_out(order); });
  });
  test::Role peer("bench-peer", kRoleLimit, [&](test::RoleChannel& channel) {
    const MappedPair mapped(memory);
    const bool reading = options.op == "read";
    WireServer server(wire.data(), (reading ? mapped.local : mapped.remote).data(),
                      (reading ? mapped.remote : mapped.local).data());
    return serve_orders(channel, [&](const Order& order) {
      server.serve(order.count);
      return Report{};
    });
  });
  await_ready(client);
  await_ready(peer);

  LatencyRounds rounds(&client, hosts.between_hosts() ? nullptr : &peer, count, samples.span());
  const Bound bound{Bound::Kind::at_most, options.rounds.bound};
  const Comparison comparison =
      compare(rounds, options.rounds.rounds, Basis::ratio, bound, common.seed);
  std::vector<test::Role*> roles = {&client, &peer, &exporter};
  if (raw) roles.push_back(&*raw);
  stop_all(roles);

  std::sort(rounds.subjects_.begin(), rounds.subjects_.end());
  Outcome outcome;
  outcome.correct = rounds.errors_ == 0;
  outcome.figures = {{"p50_us", percentile_of_sorted(rounds.subjects_, 0.5)},
                     {"p99_us", percentile_of_sorted(rounds.subjects_, 0.99)},
                     {"p999_us", percentile_of_sorted(rounds.subjects_, 0.999)},
                     {"limit_p50_us", percentile(rounds.limits_, 0.5)},
                     {"ratio_p50", comparison.ratio},
                     {"verified", rounds.verified_},
                     {"errors", rounds.errors_},
                     {"size", options.size},
                     {"transport", options.hosts.transport},
                     {"namespaces", options.hosts.namespaces}};
  add_verdict(&outcome.figures, comparison, bound);
  return outcome;
}

}  // namespace

void add_latency(CLI::App& app, CommonOptions* common, int* exit_code) {
  const auto options = std::make_shared<LatencyOptions>();
  CLI::App* command = add_command(app, common, exit_code, "latency",
                                  "Time of one transfer, from submit to its terminal status",
                                  kFormulas, [=] { return run_latency(*common, *options); });
  add_host_choice(command, &options->hosts);
  command->add_option("--op", options->op, "What the client does")
      ->check(CLI::IsMember({"read", "write"}))
      ->capture_default_str();
  add_size(command, "--size", &options->size, "Bytes of a transfer, a multiple of 8")
      ->check(CLI::Range(std::uint64_t{8}, std::uint64_t{64} << 20))
      ->check(multiple_of(8))
      ->capture_default_str();
  command->add_option("--count", options->count, "Transfers of each side, over all rounds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add_rounds(command, &options->rounds, "Verdict: ratio_p50 at most this");
}

}  // namespace tentq::bench
