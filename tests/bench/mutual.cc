// `tentq-bench mutual`: two hosts flood each other, beside one of them alone.
#include <algorithm>
#include <memory>
#include <numeric>

#include "tests/bench/commands.h"
#include "tests/bench/flows.h"

namespace tentq::bench {
namespace {

constexpr char kFormulas[] =
    "Two hosts. One way: a client of the first keeps --depth READs of --size outstanding. Both\n"
    "ways: so does a client of the second, and with --writes one of each host WRITEs beside it.\n"
    "All for --seconds each, interleaved; every block that was moved is compared.\n"
    "  gb_per_s        median over the rounds of the bytes of all clients / 1e9 / time, both ways\n"
    "  limit_gb_per_s  the same, one way\n"
    "  ratio           median over the interleaved rounds of (round's figure / limit's figure)\n"
    "  longest_gap_ms  longest time without a completion that any client has seen, both ways\n"
    "  interval        90 % bootstrap interval of ratio\n"
    "  verdict         pass when the interval lies at or above --bound, fail when below, else\n"
    "                  inconclusive (after at most 3 repeats)";

// Longer than any queue here lasts: who waits so long waits for a time limit.
constexpr double kStallMs = 2'000;

struct MutualOptions {
  HostChoice hosts{"tcp", false, 0};
  std::uint64_t size = 1u << 20;
  std::uint32_t depth = 16;
  double seconds = 1;
  bool writes = true;
  RoundOptions rounds{kLeastRounds, 0.9};
};

class MutualRounds : public RoundPair {
 public:
  MutualRounds(std::vector<Flow*> all, double seconds)
      : all_(std::move(all)), duration_ns_(static_cast<std::int64_t>(seconds * 1e9)) {}

  void begin_attempt() override {}
  double subject(unsigned) override { return rate(all_, &longest_gap_ns_); }
  double limit(unsigned) override {
    std::int64_t unused = 0;
    return rate({all_.front()}, &unused);
  }

  std::uint64_t errors_ = 0;
  std::int64_t longest_gap_ns_ = 0;

 private:
  double rate(const std::vector<Flow*>& flows, std::int64_t* longest_gap_ns) {
    double bytes = 0;
    std::int64_t took_ns = 1;
    for (const FlowTotals& totals : run_flows(flows, duration_ns_)) {
      bytes += totals.bytes;
      took_ns = std::max(took_ns, totals.took_ns);
      errors_ += totals.errors;
      *longest_gap_ns = std::max(*longest_gap_ns, totals.longest_gap_ns);
    }
    return bytes / static_cast<double>(took_ns);
  }

  std::vector<Flow*> all_;
  const std::int64_t duration_ns_;
};

Outcome run_mutual(const CommonOptions& common, const MutualOptions& options) {
  const HostPair hosts(common, options.hosts, nlohmann::json::object());
  std::vector<std::unique_ptr<Flow>> flows;
  std::vector<Flow*> all;
  for (const Opcode op : {Opcode::read, Opcode::write}) {
    if (op == Opcode::write && !options.writes) continue;
    for (const bool from_first : {true, false}) {
      FlowOptions flow;
      flow.name = "mutual-" + std::to_string(flows.size());
      flow.from_first = from_first;
      flow.op = op;
      flow.size = options.size;
      flow.depth = options.depth;
      flow.seed = common.seed + flows.size();
      flows.push_back(std::make_unique<Flow>(hosts, flow));
      all.push_back(flows.back().get());
    }
  }
  MutualRounds rounds(all, options.seconds);
  const Bound bound{Bound::Kind::at_least, options.rounds.bound};
  const Comparison comparison =
      compare(rounds, options.rounds.rounds, Basis::ratio, bound, common.seed);
  for (const auto& flow : flows) flow->stop();

  Outcome outcome;
  const double gap_ms = static_cast<double>(rounds.longest_gap_ns_) / 1e6;
  outcome.correct = rounds.errors_ == 0 && gap_ms < kStallMs + options.seconds * 1e3;
  outcome.figures = {{"gb_per_s", median(comparison.subjects)},
                     {"limit_gb_per_s", median(comparison.limits)},
                     {"ratio", comparison.ratio},
                     {"longest_gap_ms", gap_ms},
                     {"errors", rounds.errors_},
                     {"flows", flows.size()},
                     {"namespaces", options.hosts.namespaces}};
  add_verdict(&outcome.figures, comparison, bound);
  return outcome;
}

}  // namespace

void add_mutual(CLI::App& app, CommonOptions* common, int* exit_code) {
  const auto options = std::make_shared<MutualOptions>();
  CLI::App* command = add_command(app, common, exit_code, "mutual",
                                  "Two hosts that flood each other, beside one of them alone",
                                  kFormulas, [=] { return run_mutual(*common, *options); });
  add_namespaces(command, &options->hosts);
  add_size(command, "--size", &options->size, "Bytes of a transfer, a multiple of 4096")
      ->check(multiple_of(4096))
      ->check(CLI::Range(std::uint64_t{4096}, std::uint64_t{64} << 20))
      ->capture_default_str();
  command->add_option("--depth", options->depth, "Transfers outstanding of each client")
      ->check(CLI::Range(1, 128))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "Of each round")
      ->check(CLI::Range(0.01, 60.0))
      ->capture_default_str();
  command->add_flag("!--no-writes", options->writes, "READs only");
  add_rounds(command, &options->rounds, "Verdict: ratio at least this");
}

}  // namespace tentq::bench
