// See segment.h.
#include "tests/bench/qos/segment.h"

#include "tests/bench/clock.h"
#include "tests/bench/statistics.h"

namespace tentq::bench::qos {
namespace {

constexpr double kSettleMs = 300;             // of a flood before the foreground begins
constexpr std::int64_t kLeadNs = 20'000'000;  // from the order to the first arrival
constexpr std::uint64_t kPeersWindow = 64u << 20;
constexpr int kMeanwhileMs = 20;

}  // namespace

void use(const Side& side, Stage& stage) {
  stage.set("policy", side.policy);
  if (!side.peers_window) {
    stage.configure();
    return;
  }
  stage.set("shm.adaptive", "false");
  stage.set("shm.window_bytes", std::to_string(kPeersWindow));
}

void Segments::carry_out(const Side& side, std::uint64_t size, std::uint64_t count,
                         std::uint64_t seed, Measured* into,
                         const std::function<void()>& meanwhile) {
  Stage& stage = run_.stage;
  use(side, stage);
  if (side.flooded) {
    flood_.begin();
    stage.await_outstanding(flood_.outstanding_bytes() / 10 * 9);
    let_run(kSettleMs);
  }
  ForegroundPlan& plan = run_.setup.plan[0];
  plan.size = size;
  plan.count = count;
  plan.mean_gap_ns = run_.mean_gap_ns();
  plan.spacing = run_.setup.options.arrivals == "fixed" ? Spacing::fixed : Spacing::poisson;
  plan.seed = seed;
  const std::vector<double> flood_before = flood_.bytes();
  const std::uint64_t bytes_before = stage.transferred_bytes();
  const std::int64_t begin_ns = now_ns();
  plan.start_ns = begin_ns + kLeadNs;
  const std::vector<Report> reports = foreground_.run(
      meanwhile ? meanwhile : [] {}, kMeanwhileMs);
  const std::int64_t end_ns = now_ns();
  into->total_bytes += static_cast<double>(stage.transferred_bytes() - bytes_before);
  into->seconds += static_cast<double>(end_ns - begin_ns) / 1e9;
  const std::vector<double> flood_after = flood_.bytes();
  into->flood_bytes.resize(side.flooded ? flood_after.size() : 0);
  for (std::size_t i = 0; i < into->flood_bytes.size(); ++i) {
    into->flood_bytes[i] += flood_after[i] - flood_before[i];
  }
  for (const Report& report : reports) {
    into->refused += report.refused;
    into->errors += report.errors;
    into->foreground_bytes += static_cast<double>(report.count * size);
  }
  take_samples(count, into);
  if (side.flooded) flood_.end();
  stage.await_quiet();
}

void Segments::take_samples(std::uint64_t count, Measured* into) const {
  std::vector<double> observed;
  for (std::uint32_t client = 0; client < run_.setup.options.foreground_clients; ++client) {
    const ForegroundSample* samples = run_.setup.samples_of(client);
    for (std::uint64_t i = 0; i < count; ++i) {
      observed.push_back(samples[i].observed_us);
      into->daemon_us.push_back(samples[i].daemon_us);
      into->late_us.push_back(samples[i].late_us);
    }
  }
  into->segment_p99_us.push_back(percentile(observed, 0.99));
  into->observed_us.insert(into->observed_us.end(), observed.begin(), observed.end());
}

}  // namespace tentq::bench::qos
