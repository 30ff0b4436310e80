// `tentq-bench shared-link`: foreground and background clients of one host send to another over one
// link, beside the foreground alone.
#include <algorithm>
#include <memory>

#include "tests/bench/commands.h"
#include "tests/bench/flows.h"

namespace tentq::bench {
namespace {

constexpr char kFormulas[] =
    "Two hosts in namespaces, the link between them held to --link-rate (tc tbf). --foreground\n"
    "clients WRITE --size at fixed times, all together --load of the rate; --background clients\n"
    "keep 4 WRITEs of 1 MiB outstanding each. Rounds of --seconds with and without the "
    "background,\n"
    "interleaved; every block that was moved is compared.\n"
    "  fg_p99_us       median over the rounds of the foreground's p99, from the time a WRITE was\n"
    "                  due to its terminal status; limit_fg_p99_us: the same alone; fg_p50_us, "
    "too\n"
    "  ratio           median over the interleaved rounds of (round's p99 / p99 alone)\n"
    "  gb_per_s        bytes of all clients / 1e9 / time, with the background\n"
    "  interval        90 % bootstrap interval of ratio\n"
    "  verdict         pass when the interval lies at or below --bound, fail when above, else\n"
    "                  inconclusive (after at most 3 repeats)";

constexpr std::uint64_t kBackgroundSize = 1u << 20;

struct SharedLinkOptions {
  HostChoice hosts{"tcp", true, 200'000'000};
  std::uint32_t foreground = 3;
  std::uint32_t background = 5;
  std::uint64_t size = 256u << 10;
  double load = 0.2;
  double seconds = 2;
  RoundOptions rounds{kLeastRounds, 2.5};
};

class SharedLinkRounds : public RoundPair {
 public:
  SharedLinkRounds(std::vector<Flow*> foreground, std::vector<Flow*> all, double seconds)
      : foreground_(std::move(foreground)),
        all_(std::move(all)),
        duration_ns_(static_cast<std::int64_t>(seconds * 1e9)) {}

  void begin_attempt() override {
    p50s_.clear();
    rates_.clear();
  }
  double subject(unsigned) override {
    const std::vector<FlowTotals> totals = run_flows(all_, duration_ns_);
    double bytes = 0;
    for (const FlowTotals& each : totals) bytes += each.bytes;
    rates_.push_back(bytes / static_cast<double>(duration_ns_));
    p50s_.push_back(percentile(latencies_of(totals), 0.5));
    return percentile(latencies_of(totals), 0.99);
  }
  double limit(unsigned) override {
    return percentile(latencies_of(run_flows(foreground_, duration_ns_)), 0.99);
  }

  std::uint64_t errors_ = 0;
  std::uint64_t samples_ = 0;
  std::vector<double> p50s_;
  std::vector<double> rates_;

 private:
  std::vector<double> latencies_of(const std::vector<FlowTotals>& totals) {
    std::vector<double> all;
    for (const FlowTotals& each : totals) {
      errors_ += each.errors;
      all.insert(all.end(), each.latencies_us.begin(), each.latencies_us.end());
    }
    samples_ += all.size();
    return all;
  }

  std::vector<Flow*> foreground_;
  std::vector<Flow*> all_;
  const std::int64_t duration_ns_;
};

FlowOptions flow_of(const SharedLinkOptions& options, std::uint32_t index, std::uint64_t seed) {
  const bool foreground = index < options.foreground;
  FlowOptions flow;
  flow.name = (foreground ? "foreground-" : "background-") + std::to_string(index);
  flow.op = Opcode::write;
  flow.cls = foreground ? Class::foreground : Class::background;
  flow.size = foreground ? options.size : kBackgroundSize;
  flow.depth = 4;
  flow.seed = seed + index;
  if (foreground) {
    const double rate = options.load * static_cast<double>(options.hosts.link_rate);
    flow.every_ns = static_cast<std::int64_t>(1e9 * options.foreground *
                                              static_cast<double>(options.size) / rate);
  }
  return flow;
}

Outcome run_shared_link(const CommonOptions& common, const SharedLinkOptions& options) {
  const HostPair hosts(common, options.hosts, nlohmann::json::object());
  std::vector<std::unique_ptr<Flow>> flows;
  std::vector<Flow*> foreground, all;
  for (std::uint32_t i = 0; i < options.foreground + options.background; ++i) {
    flows.push_back(std::make_unique<Flow>(hosts, flow_of(options, i, common.seed)));
    all.push_back(flows.back().get());
    if (i < options.foreground) foreground.push_back(flows.back().get());
  }
  SharedLinkRounds rounds(foreground, all, options.seconds);
  const Bound bound{Bound::Kind::at_most, options.rounds.bound};
  const Comparison comparison =
      compare(rounds, options.rounds.rounds, Basis::ratio, bound, common.seed);
  for (const auto& flow : flows) flow->stop();

  Outcome outcome;
  outcome.correct = rounds.errors_ == 0;
  outcome.figures = {{"fg_p99_us", median(comparison.subjects)},
                     {"limit_fg_p99_us", median(comparison.limits)},
                     {"ratio", comparison.ratio},
                     {"fg_p50_us", median(rounds.p50s_)},
                     {"gb_per_s", median(rounds.rates_)},
                     {"samples", rounds.samples_},
                     {"errors", rounds.errors_}};
  add_verdict(&outcome.figures, comparison, bound);
  return outcome;
}

}  // namespace

void add_shared_link(CLI::App& app, CommonOptions* common, int* exit_code) {
  const auto options = std::make_shared<SharedLinkOptions>();
  CLI::App* command = add_command(app, common, exit_code, "shared-link",
                                  "Foreground and background to another host over one link",
                                  kFormulas, [=] { return run_shared_link(*common, *options); });
  add_size(command, "--link-rate", &options->hosts.link_rate, "Bytes a second of the link")
      ->check(CLI::Range(std::uint64_t{1'000'000}, std::uint64_t{100'000'000'000}))
      ->capture_default_str();
  command->add_option("--foreground", options->foreground, "Foreground clients")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  command->add_option("--background", options->background, "Background clients")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  add_size(command, "--size", &options->size, "Bytes of a foreground WRITE, a multiple of 4096")
      ->check(multiple_of(4096))
      ->check(CLI::Range(std::uint64_t{4096}, std::uint64_t{16} << 20))
      ->capture_default_str();
  command->add_option("--load", options->load, "Part of the rate that the foreground asks for")
      ->check(CLI::Range(0.01, 0.9))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "Of each round")
      ->check(CLI::Range(0.05, 60.0))
      ->capture_default_str();
  add_rounds(command, &options->rounds, "Verdict: ratio at most this");
}

}  // namespace tentq::bench
