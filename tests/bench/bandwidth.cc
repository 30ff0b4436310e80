// `tentq-bench bandwidth`: large transfers with a fixed number outstanding, against the best single
// copy routine over the same two mappings.
#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>

#include "tests/bench/commands.h"
#include "tests/bench/copy_limit.h"
#include "tests/bench/host_pair.h"
#include "tests/bench/orders.h"
#include "tests/bench/pair.h"
#include "tests/bench/pattern.h"
#include "tests/bench/raw_tcp.h"

namespace tentq::bench {
namespace {

constexpr std::uint32_t kConnections = 2;  // peers.data_connections by default

constexpr char kFormulas[] =
    "Each client READs (or WRITEs) `depth` blocks of `size` from (to) an exporter of its own, "
    "keeps\n"
    "`depth` outstanding, and waits blocking. Blocks get another pattern before each round and "
    "are\n"
    "compared after it, outside of the timed part.\n"
    "  gb_per_s        median over the rounds of bytes / 1e9 / (last end - first begin), all "
    "clients\n"
    "  limit_gb_per_s  median of the limit: the best single copy routine of this processor, in "
    "the\n"
    "                  first client's process, over the same two mappings and the same ranges;\n"
    "                  tcp: two processes that only send and receive, as many connections as a "
    "link\n"
    "                  has for data, the same memory, sizes and depth\n"
    "  ratio           median over the interleaved rounds of (round's figure / limit's figure)\n"
    "  interval        90 % bootstrap interval of ratio\n"
    "  verdict         pass when the interval lies at or above --bound, fail when below, else\n"
    "                  inconclusive (after at most 3 repeats)\n"
    "  verified        blocks whose bytes were right after a round; errors: those whose were not";

struct BandwidthOptions {
  HostChoice hosts;
  std::string op = "read";
  std::uint64_t size = 16u << 20;
  std::uint32_t depth = 8;
  std::uint32_t clients = 1;
  std::uint64_t bytes = std::uint64_t{512} << 20;
  RoundOptions rounds{kLeastRounds, 0.9};

  std::uint64_t span() const { return size * depth; }  // bytes of each memory
  std::uint64_t passes() const { return std::max<std::uint64_t>(bytes / span(), 1); }
};

class BandwidthClient {
 public:
  BandwidthClient(const std::string& socket, const PairMemory& memory, const std::string& exporter,
                  const BandwidthOptions& options, std::uint64_t seed, const RawTcpPlace& raw)
      : options_(options),
        seed_(seed),
        reading_(options.op == "read"),
        mapped_(memory),
        attached_(socket, memory, mapped_, exporter),
        source_(reading_ ? mapped_.remote.data() : mapped_.local.data()),
        destination_(reading_ ? mapped_.local.data() : mapped_.remote.data()) {
    if (raw.port == 0) return;
    raw_.emplace(raw, kConnections, std::span(mapped_.local.data(), memory.bytes));
  }

  Report carry_out(const Order& order) {
    ++fills_;
    for (std::uint32_t i = 0; i < options_.depth; ++i) {
      pattern(i).fill(block(source_, i));
      poison(block(destination_, i));
    }
    Report report;
    if (order.kind == OrderKind::limit && raw_) {
      report.figure = raw_->move(reading_, options_.size, options_.depth,
                                 options_.passes() * options_.depth, options_.depth);
      report.text.assign("raw sockets");
    } else if (order.kind == OrderKind::limit) {
      const CopyLimit limit = measure_copy_limit(destination_, source_, options_.size,
                                                 options_.depth, options_.passes());
      report.figure = limit.gb_per_s;
      report.text.assign(limit.best_routine);
    } else {
      report.begin_ns = now_ns();
      move_all(&report);
      report.end_ns = now_ns();
    }
    for (std::uint32_t i = 0; i < options_.depth; ++i) {
      ++(pattern(i).matches(block(destination_, i)) ? report.count : report.errors);
    }
    return report;
  }

 private:
  Pattern pattern(std::uint32_t index) const { return {seed_, fills_ * options_.depth + index}; }
  std::span<std::byte> block(std::byte* memory, std::uint64_t index) const {
    return {memory + index * options_.size, options_.size};
  }

  void move_all(Report* report) {
    std::deque<Batch> outstanding;
    const std::uint64_t transfers = options_.passes() * options_.depth;
    for (std::uint64_t i = 0; i < transfers; ++i) {
      if (outstanding.size() == options_.depth) finish_oldest(&outstanding);
      outstanding.push_back(value_of(attached_.client.allocate_batch(1), "allocate_batch"));
      const std::uint64_t offset = i % options_.depth * options_.size;
      const Request request = {reading_ ? Opcode::read : Opcode::write,
                               mapped_.local.data() + offset, attached_.segment, offset,
                               options_.size};
      Status status = attached_.client.submit(outstanding.back(), {&request, 1});
      if (status.may_retry()) {
        ++report->refused;
        status = attached_.client.submit_wait(outstanding.back(), {&request, 1}, {}, kOrderLimit);
      }
      check_ok(status, "submit");
    }
    while (!outstanding.empty()) finish_oldest(&outstanding);
  }

  static void finish_oldest(std::deque<Batch>* outstanding) {
    check_ok(outstanding->front().wait(kOrderLimit), "wait");
    const BatchStatus status = outstanding->front().overall();
    if (status.state != State::completed) {
      throw std::runtime_error("a transfer ended " + std::string(to_string(status.state)) + ": " +
                               std::string(to_string(status.reason)));
    }
    outstanding->pop_front();
  }

  const BandwidthOptions& options_;
  const std::uint64_t seed_;
  const bool reading_;
  MappedPair mapped_;
  AttachedClient attached_;
  std::optional<RawTcpClient> raw_;  // the limit of tcp
  std::byte* source_;
  std::byte* destination_;
  std::uint64_t fills_ = 0;
};

class BandwidthRounds : public RoundPair {
 public:
  BandwidthRounds(std::vector<test::Role*> clients, std::uint64_t bytes)
      : clients_(std::move(clients)), bytes_(bytes) {}

  void begin_attempt() override {}
  double subject(unsigned round) override {
    const auto reports = order_all(clients_, {OrderKind::subject, round, 0});
    std::int64_t begin = reports.front().begin_ns, end = reports.front().end_ns;
    for (const Report& report : reports) {
      begin = std::min(begin, report.begin_ns);
      end = std::max(end, report.end_ns);
      verified_ += report.count;
      errors_ += report.errors;
    }
    return static_cast<double>(bytes_) / static_cast<double>(end - begin);
  }
  double limit(unsigned round) override {
    const Report report = order_one(*clients_.front(), {OrderKind::limit, round, 0});
    errors_ += report.errors;
    limit_routine_ = report.text.view();
    return report.figure;
  }

  std::uint64_t verified_ = 0;
  std::uint64_t errors_ = 0;
  std::string limit_routine_;  // of the last round

 private:
  std::vector<test::Role*> clients_;
  std::uint64_t bytes_;  // of all clients in a round
};

// One exporter and one client process.
struct Mover {
  Mover(const HostPair& hosts, const BandwidthOptions& options, std::uint64_t seed,
        std::uint32_t index)
      : memory(options.span()),
        exporter(start_exporter(hosts.exporter_socket(), memory, name(index))),
        client(start_client(hosts, options, seed, index)) {
    await_ready(client);
  }
  static std::string name(std::uint32_t index) { return "bench-" + std::to_string(index); }
  test::Role start_client(const HostPair& hosts, const BandwidthOptions& options,
                          std::uint64_t seed, std::uint32_t index) {
    await_ready(exporter);
    if (hosts.between_hosts()) {
      raw.emplace(start_raw_server(memory, name(index) + "-raw", hosts.exporters_place()));
    }
    const RawTcpPlace place{hosts.exporters_place().address,
                            raw ? port_of(*raw) : std::uint16_t{0}};
    return test::Role(
        name(index) + "-client", kRoleLimit, [&, index, place](test::RoleChannel& channel) {
          move_to(hosts.clients_place());
          BandwidthClient process(hosts.client_socket(), memory, hosts.segment(name(index)),
                                  options, seed + index, place);
          return serve_orders(channel,
                              [&](const Order& order) { return process.carry_out(order); });
        });
  }

  PairMemory memory;
  test::Role exporter;
  std::optional<test::Role> raw;  // the limit of tcp
  test::Role client;
};

Outcome run_bandwidth(const CommonOptions& common, const BandwidthOptions& options) {
  const HostPair hosts(common, options.hosts, nlohmann::json::object());
  std::vector<std::unique_ptr<Mover>> movers;
  std::vector<test::Role*> clients, exporters;
  for (std::uint32_t i = 0; i < options.clients; ++i) {
    movers.push_back(std::make_unique<Mover>(hosts, options, common.seed, i));
    clients.push_back(&movers.back()->client);
    exporters.push_back(&movers.back()->exporter);
    if (movers.back()->raw) exporters.push_back(&*movers.back()->raw);
  }
  BandwidthRounds rounds(clients, options.clients * options.passes() * options.span());
  const Bound bound{Bound::Kind::at_least, options.rounds.bound};
  const Comparison comparison =
      compare(rounds, options.rounds.rounds, Basis::ratio, bound, common.seed);
  stop_all(clients);
  stop_all(exporters);

  Outcome outcome;
  outcome.correct = rounds.errors_ == 0;
  outcome.figures = {{"gb_per_s", median(comparison.subjects)},
                     {"limit_gb_per_s", median(comparison.limits)},
                     {"limit_routine", rounds.limit_routine_},
                     {"ratio", comparison.ratio},
                     {"verified", rounds.verified_},
                     {"errors", rounds.errors_},
                     {"size", options.size},
                     {"depth", options.depth},
                     {"clients", options.clients},
                     {"transport", options.hosts.transport},
                     {"namespaces", options.hosts.namespaces}};
  add_verdict(&outcome.figures, comparison, bound);
  return outcome;
}

}  // namespace

void add_bandwidth(CLI::App& app, CommonOptions* common, int* exit_code) {
  const auto options = std::make_shared<BandwidthOptions>();
  CLI::App* command = add_command(app, common, exit_code, "bandwidth",
                                  "Bytes a second with a fixed number of transfers outstanding",
                                  kFormulas, [=] { return run_bandwidth(*common, *options); });
  add_host_choice(command, &options->hosts);
  command->add_option("--op", options->op, "What the clients do")
      ->check(CLI::IsMember({"read", "write"}))
      ->capture_default_str();
  add_size(command, "--size", &options->size, "Bytes of a transfer, a multiple of 4096")
      ->check(CLI::Range(std::uint64_t{4096}, std::uint64_t{1} << 30))
      ->check(multiple_of(4096))
      ->capture_default_str();
  command->add_option("--depth", options->depth, "Transfers outstanding of each client")
      ->check(CLI::Range(1, 512))
      ->capture_default_str();
  command->add_option("--clients", options->clients, "Client processes")
      ->check(CLI::Range(1, 32))
      ->capture_default_str();
  add_size(command, "--bytes", &options->bytes, "Moved by each client in a round, at least")
      ->capture_default_str();
  add_rounds(command, &options->rounds, "Verdict: ratio at least this");
}

}  // namespace tentq::bench
