// `tentq-bench qos`: what a foreground feels of a flood under each policy, and who gets how much.
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <stdexcept>

#include "tests/bench/commands.h"
#include "tests/bench/qos/help.h"
#include "tests/bench/qos/segment.h"

namespace tentq::bench {
namespace qos {

double Run::mean_gap_ns() const {
  const QosOptions& options = setup.options;
  return static_cast<double>(options.size * options.foreground_clients) / (rate() * options.load) *
         1e9;
}

void Run::say(const char* format, ...) const {
  if (setup.options.quiet) return;
  char text[256];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof(text), format, values);
  va_end(values);
  std::fprintf(stderr, "qos: %s\n", text);
}

namespace {

constexpr double kLongestSegmentSeconds = 90;
constexpr double kMeasureRateMs = 1500;

// What lane shm moves when only the flood is there.
void measure_rate(Run& run) {
  use({"wdrr", "wdrr"}, run.stage);
  Bulk flood(run.setup, flood_of(run.setup));
  flood.begin();
  run.stage.await_outstanding(flood.outstanding_bytes() / 10 * 9);
  const std::uint64_t before = run.stage.transferred_bytes();
  let_run(kMeasureRateMs);
  const std::uint64_t moved = run.stage.transferred_bytes() - before;
  flood.end();
  run.stage.await_quiet();
  flood.stop();
  run.setup.options.rate =
      static_cast<std::uint64_t>(static_cast<double>(moved) / (kMeasureRateMs / 1e3));
  if (run.setup.options.rate == 0) throw std::runtime_error("the flood moved nothing");
  run.say("the lane moves %.2f GB/s", run.rate() / 1e9);
}

// Enough buffers for what is outstanding while a transfer waits behind the whole flood.
std::uint32_t buffers_for(const QosOptions& options) {
  const double behind_flood = static_cast<double>(options.flood) * options.load /
                              static_cast<double>(options.size * options.foreground_clients);
  return static_cast<std::uint32_t>(std::clamp(behind_flood * 1.5 + 32, 64.0, 2048.0));
}

void check(const QosOptions& options) {
  if (options.size > options.owner) {
    throw CLI::ValidationError("--size", "must be at most --owner");
  }
  if (options.flood < options.owner * options.flood_clients) {
    throw CLI::ValidationError("--flood",
                               "must hold an owner (--owner) of each of --flood-clients");
  }
}

void check_segment(const Run& run) {
  const double seconds = run.mean_gap_ns() * static_cast<double>(run.setup.samples_each) / 1e9;
  if (seconds > kLongestSegmentSeconds) {
    throw CLI::ValidationError("--samples",
                               "a segment would take " + std::to_string(std::lround(seconds)) +
                                   " s: more --rounds, a higher --load or fewer --samples");
  }
}

Json json_of(const Verdicts& verdicts) {
  Json json = Json::object();
  for (const Verdict& verdict : verdicts.all()) {
    Json& row = json[verdict.name];
    row["figure"] = verdict.figure ? Json(*verdict.figure) : Json();
    row["goal"] = to_string(verdict.goal);
    row["pass"] = verdict.figure ? Json(verdict.pass()) : Json();
    if (!verdict.figure) row["why"] = verdict.why;
  }
  return json;
}

void show(const Run& run) {
  for (const Verdict& verdict : run.verdicts.all()) {
    if (!verdict.figure) {
      run.say("%-28s not measured: %s", verdict.name.c_str(), verdict.why.c_str());
      continue;
    }
    run.say("%-28s %10.4g  goal %-8s %s", verdict.name.c_str(), *verdict.figure,
            to_string(verdict.goal).c_str(), verdict.pass() ? "pass" : "FAIL");
  }
}

Outcome run_qos(const CommonOptions& common, const QosOptions& options) {
  if (!common.socket.empty()) {
    throw CLI::ValidationError(
        "--socket", "qos changes the policy and paces the lane: it needs a private daemon");
  }
  check(options);
  const std::uint64_t per_sample = std::uint64_t{options.rounds} * options.foreground_clients;
  Setup setup(options, common.seed, (options.samples + per_sample - 1) / per_sample);
  setup.foreground_buffers = buffers_for(options);
  Stage stage(common, &setup);
  Run run{setup, stage};
  if (options.lane == "shm") measure_rate(run);
  check_segment(run);
  run.figures = {{"lane", options.lane},
                 {"rate_bytes_per_s", setup.options.rate},
                 {"flood_bytes", options.flood},
                 {"seed", common.seed}};
  if (options.wants("policies")) compare_policies(run);
  if (options.wants("small")) measure_small(run);
  if (options.wants("shares")) measure_shares(run);
  if (options.wants("death")) measure_death(run);
  show(run);
  run.figures["errors"] = run.errors;
  run.figures["verdicts"] = json_of(run.verdicts);
  run.figures["verdict"] = run.verdicts.pass() ? "pass" : "fail";
  return {run.figures, run.errors == 0};
}

void add_load_options(CLI::App* command, QosOptions* options) {
  command->add_option("--lane", options->lane, "A link of --rate, or memory as fast as it is")
      ->check(CLI::IsMember({"paced", "shm"}))
      ->capture_default_str();
  add_size(command, "--rate", &options->rate, "Bytes per second of the paced lane")
      ->check(CLI::Range(std::uint64_t{1} << 20, std::uint64_t{1} << 40))
      ->capture_default_str();
  add_size(command, "--flood", &options->flood, "Bytes that the background keeps outstanding")
      ->check(CLI::Range(std::uint64_t{1} << 20, std::uint64_t{16} << 30))
      ->capture_default_str();
  add_size(command, "--owner", &options->owner, "Bytes of a background transfer")
      ->check(CLI::Range(std::uint64_t{64} << 10, kSourceBytes))
      ->check(multiple_of(4096))
      ->capture_default_str();
  command->add_option("--flood-clients", options->flood_clients, "Background processes")
      ->check(CLI::Range(1u, kMostBulkClients))
      ->capture_default_str();
  add_size(command, "--size", &options->size, "Bytes of a foreground transfer")
      ->check(CLI::Range(std::uint64_t{4096}, kSourceBytes))
      ->check(multiple_of(4096))
      ->capture_default_str();
  command->add_option("--foreground-clients", options->foreground_clients, "Foreground processes")
      ->check(CLI::Range(1u, kMostForegroundClients))
      ->capture_default_str();
  command->add_option("--load", options->load, "Of the rate, by the foreground")
      ->check(CLI::Range(0.001, 0.9))
      ->capture_default_str();
  command->add_option("--arrivals", options->arrivals, "Gaps between foreground transfers")
      ->check(CLI::IsMember({"poisson", "fixed"}))
      ->capture_default_str();
}

}  // namespace
}  // namespace qos

void add_qos(CLI::App& app, CommonOptions* common, int* exit_code) {
  const auto options = std::make_shared<qos::QosOptions>();
  CLI::App* command = add_command(app, common, exit_code, "qos",
                                  "What a foreground feels of a flood, policy by policy",
                                  qos::kFormulas, [=] { return qos::run_qos(*common, *options); });
  qos::add_load_options(command, options.get());
  command->add_option("--policy", options->policies, "What is compared; several with commas")
      ->delimiter(',')
      ->check(CLI::IsMember({"all", "direct", "fifo", "strict", "strict_64MiB", "wdrr"}))
      ->capture_default_str();
  command->add_option("--part", options->parts, "What is measured; several with commas")
      ->delimiter(',')
      ->check(CLI::IsMember({"all", "policies", "small", "shares", "death"}))
      ->capture_default_str();
  command->add_option("--samples", options->samples, "Foreground transfers for each policy")
      ->check(CLI::Range(1u, 10'000'000u))
      ->capture_default_str();
  command->add_option("--rounds", options->rounds, "Segments of each policy; even, for ABBA")
      ->check(CLI::Range(1u, 100u))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "Of each measurement of shares")
      ->check(CLI::Range(0.05, 600.0))
      ->capture_default_str();
  command->add_option("--set", options->settings,
                      "KEY=VALUE of the daemon for all sides but strict_64MiB, e.g. "
                      "shm.adaptive=false; several times");
  command->add_flag("--quiet", options->quiet, "No progress on standard error");
}

}  // namespace tentq::bench
