// The arithmetic of `tentq-bench qos`: what was measured of each side, and the figures that follow.
// Pure; times in microseconds unless a name says otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tentq::bench::qos {

// (Σ x)² / (n · Σ x²): 1 when all are equal, 1/n when one has everything; 1 for no shares at all.
double jain(std::span<const double> shares);
// Of bytes[i] / weights[i]; both of one length, weights > 0.
double jain_weighted(std::span<const double> bytes, std::span<const double> weights);

// What was measured of one side (a policy, or the foreground alone), all its segments together.
struct Measured {
  std::vector<double> observed_us;     // intended submit to the terminal status seen
  std::vector<double> daemon_us;       // intended submit to the terminal status written
  std::vector<double> late_us;         // intended submit to the submit call
  std::vector<double> segment_p99_us;  // of observed_us, by segment
  std::vector<double> flood_bytes;     // by background client
  double foreground_bytes = 0;
  double total_bytes = 0;  // that the daemon moved
  double seconds = 0;
  std::uint64_t refused = 0;
  std::uint64_t errors = 0;
};

// The figures of one side against the foreground alone and against `direct`; those for which the
// other side was not run are absent.
struct Figures {
  double p50_us = 0;
  double p99_us = 0;
  double daemon_p99_us = 0;
  double late_p99_us = 0;
  double total_gb_per_s = 0;
  double utilisation = 0;  // of the rate
  double jain = 0;
  std::optional<double> slowdown_p99;
  std::optional<double> utilisation_vs_direct;
  std::optional<double> isolation_leakage;
  std::optional<double> slo_attainment;
  std::optional<double> goodput_gb_per_s;
};

// A foreground transfer meets its objective within this many times the p99 of the foreground alone.
inline constexpr double kObjective = 2.0;

Figures figures_of(const Measured& side, double rate, const Measured* alone,
                   const Measured* direct);

// P8: the longest delay of a foreground transfer of `size` bytes that finds no other foreground:
// (background in flight + S) / rate + size / rate.
double delay_bound_us(double background_in_flight_bytes, double chunk_bytes, double size,
                      double rate);

}  // namespace tentq::bench::qos
