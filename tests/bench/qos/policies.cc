// The policies beside each other in one run, in ABBA order, and the 4 KiB foreground.
#include <algorithm>
#include <map>

#include "tests/bench/qos/segment.h"
#include "tests/bench/statistics.h"

namespace tentq::bench::qos {
namespace {

constexpr char kAlone[] = "alone";
constexpr std::uint64_t kSmallSize = 4096;
constexpr std::uint64_t kMostSmallSamples = 2'000;

const Measured* find(const std::map<std::string, Measured>& sides, const std::string& name) {
  const auto found = sides.find(name);
  return found == sides.end() ? nullptr : &found->second;
}

Json or_null(const std::optional<double>& figure) {
  return figure ? Json(*figure) : Json();
}

Json json_of(const Measured& side, const Figures& figures) {
  return {{"fg_p50_us", figures.p50_us},
          {"fg_p99_us", figures.p99_us},
          {"fg_slowdown_p99", or_null(figures.slowdown_p99)},
          {"total_gb_per_s", figures.total_gb_per_s},
          {"utilisation", figures.utilisation},
          {"utilisation_vs_direct", or_null(figures.utilisation_vs_direct)},
          {"jain", figures.jain},
          {"isolation_leakage", or_null(figures.isolation_leakage)},
          {"slo_attainment", or_null(figures.slo_attainment)},
          {"goodput_gb_per_s", or_null(figures.goodput_gb_per_s)},
          {"fg_daemon_p99_us", figures.daemon_p99_us},
          {"fg_p99_us_by_segment", side.segment_p99_us},
          {"fg_late_p99_us", figures.late_p99_us},
          {"fg_samples", side.observed_us.size()},
          {"refused", side.refused},
          {"errors", side.errors}};
}

// p99 of `other` / p99 of wdrr.
std::optional<double> gain(const std::map<std::string, Figures>& figures, const char* other) {
  const auto ours = figures.find("wdrr");
  const auto theirs = figures.find(other);
  if (ours == figures.end() || theirs == figures.end()) return std::nullopt;
  return theirs->second.p99_us / ours->second.p99_us;
}

void judge(const std::map<std::string, Figures>& figures, Verdicts* verdicts) {
  constexpr char kNotRun[] = "needs the policies wdrr and that one: --policy all";
  const auto ours = figures.find("wdrr");
  const bool run = ours != figures.end();
  verdicts->at_most("fg_p99_vs_alone", run ? ours->second.slowdown_p99 : std::nullopt, 2.0,
                    kNotRun);
  verdicts->at_least("fg_p99_gain_vs_direct", gain(figures, "direct"), 100, kNotRun);
  verdicts->at_least("fg_p99_gain_vs_fifo", gain(figures, "fifo"), 100, kNotRun);
  verdicts->at_least("fg_p99_gain_vs_strict_64MiB", gain(figures, "strict_64MiB"), 10, kNotRun);
  verdicts->at_least("total_vs_direct", run ? ours->second.utilisation_vs_direct : std::nullopt,
                     0.98, kNotRun);
}

}  // namespace

std::vector<Side> sides_of(const std::vector<std::string>& chosen) {
  const std::vector<Side> all = {{"direct", "direct"},
                                 {"fifo", "fifo"},
                                 {"strict", "strict"},
                                 {"strict_64MiB", "strict", true, true},
                                 {"wdrr", "wdrr"}};
  std::vector<Side> sides = {{kAlone, "wdrr", false}};
  for (const Side& side : all) {
    if (std::any_of(chosen.begin(), chosen.end(),
                    [&](const std::string& name) { return name == "all" || name == side.name; })) {
      sides.push_back(side);
    }
  }
  return sides;
}

void compare_policies(Run& run) {
  const QosOptions& options = run.setup.options;
  std::vector<Side> order = sides_of(options.policies);
  Bulk flood(run.setup, flood_of(run.setup));
  ForegroundGroup foreground(run.setup);
  Segments segments(run, flood, foreground);
  std::map<std::string, Measured> sides;
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    for (const Side& side : order) {
      Measured& measured = sides[side.name];
      // The same arrivals for every side.
      segments.carry_out(side, options.size, run.setup.samples_each, run.setup.seed + round,
                         &measured);
      run.say("%-13s round %u of %u: foreground p99 %.0f us", side.name.c_str(), round + 1,
              options.rounds, measured.segment_p99_us.back());
    }
    std::reverse(order.begin(), order.end());
  }
  foreground.stop();
  run.errors += flood.errors();
  flood.stop();

  const Measured* alone = find(sides, kAlone);
  const Measured* direct = find(sides, "direct");
  std::map<std::string, Figures> figures;
  Json policies = Json::object();
  for (const Side& side : sides_of(options.policies)) {
    const Measured& measured = sides[side.name];
    run.errors += measured.errors;
    const Figures found = figures_of(measured, run.rate(), alone, direct);
    Json json = json_of(measured, found);
    if (side.name == kAlone) {
      run.figures["alone"] = std::move(json);
      continue;
    }
    policies[side.name] = std::move(json);
    figures[side.name] = found;
  }
  run.figures["policies"] = std::move(policies);
  judge(figures, &run.verdicts);
}

void measure_small(Run& run) {
  const QosOptions& options = run.setup.options;
  const std::uint64_t count =
      std::min(run.setup.samples_each,
               std::max<std::uint64_t>(kMostSmallSamples / options.foreground_clients, 1));
  Bulk flood(run.setup, flood_of(run.setup));
  ForegroundGroup foreground(run.setup);
  Segments segments(run, flood, foreground);
  Measured alone;
  Measured flooded;
  double in_flight = 0;
  segments.carry_out({kAlone, "wdrr", false}, kSmallSize, count, run.setup.seed, &alone);
  segments.carry_out({"wdrr", "wdrr"}, kSmallSize, count, run.setup.seed, &flooded, [&] {
    in_flight = std::max(in_flight, run.stage.lane().at("in_flight_bytes").get<double>());
  });
  const double chunk = run.stage.lane().at("chunk_bytes").get<double>();
  foreground.stop();
  run.errors += flood.errors() + alone.errors + flooded.errors;
  flood.stop();

  const double bound = delay_bound_us(in_flight, chunk, kSmallSize, run.rate());
  const auto within =
      static_cast<double>(std::count_if(flooded.observed_us.begin(), flooded.observed_us.end(),
                                        [&](double sample) { return sample <= bound; }));
  run.figures["small"] = {
      {"size", kSmallSize},
      {"fg_p50_us", percentile(flooded.observed_us, 0.5)},
      {"fg_p99_us", percentile(flooded.observed_us, 0.99)},
      {"fg_daemon_p99_us", percentile(flooded.daemon_us, 0.99)},
      {"alone_p99_us", percentile(alone.observed_us, 0.99)},
      {"bound_us", bound},
      {"within_bound", within / static_cast<double>(flooded.observed_us.size())},
      {"background_in_flight_bytes", in_flight},
      {"chunk_bytes", chunk},
      {"fg_samples", flooded.observed_us.size()}};
  run.say("a foreground of 4 KiB: p99 %.0f us, bound %.0f us",
          percentile(flooded.observed_us, 0.99), bound);
}

}  // namespace tentq::bench::qos
