// The formulas; each stands in the command's help too.
#include "tests/bench/qos/figures.h"

#include <algorithm>

#include "proto/check.h"
#include "tests/bench/statistics.h"

namespace tentq::bench::qos {

double jain(std::span<const double> shares) {
  double sum = 0;
  double squares = 0;
  for (const double share : shares) {
    sum += share;
    squares += share * share;
  }
  if (squares == 0) return 1;
  return sum * sum / (static_cast<double>(shares.size()) * squares);
}

double jain_weighted(std::span<const double> bytes, std::span<const double> weights) {
  TENTQ_CHECK(bytes.size() == weights.size());
  std::vector<double> shares;
  for (std::size_t i = 0; i < bytes.size(); ++i) shares.push_back(bytes[i] / weights[i]);
  return jain(shares);
}

Figures figures_of(const Measured& side, double rate, const Measured* alone,
                   const Measured* direct) {
  Figures figures;
  figures.p50_us = percentile(side.observed_us, 0.5);
  figures.p99_us = percentile(side.observed_us, 0.99);
  figures.daemon_p99_us = percentile(side.daemon_us, 0.99);
  figures.late_p99_us = percentile(side.late_us, 0.99);
  if (side.seconds > 0) figures.total_gb_per_s = side.total_bytes / side.seconds / 1e9;
  figures.utilisation = figures.total_gb_per_s * 1e9 / rate;
  figures.jain = jain(side.flood_bytes);
  if (direct != nullptr && direct->total_bytes > 0) {
    figures.utilisation_vs_direct =
        figures.total_gb_per_s * 1e9 / (direct->total_bytes / direct->seconds);
  }
  if (alone == nullptr || alone->observed_us.empty() || side.observed_us.empty()) return figures;
  const double alone_p99 = percentile(alone->observed_us, 0.99);
  figures.slowdown_p99 = figures.p99_us / alone_p99;
  const double objective = kObjective * alone_p99;
  const auto met =
      static_cast<double>(std::count_if(side.observed_us.begin(), side.observed_us.end(),
                                        [&](double sample) { return sample <= objective; }));
  figures.slo_attainment = met / static_cast<double>(side.observed_us.size());
  const double background = side.total_bytes - side.foreground_bytes;
  figures.goodput_gb_per_s =
      (background + side.foreground_bytes * *figures.slo_attainment) / side.seconds / 1e9;
  if (direct == nullptr || direct->observed_us.empty()) return figures;
  const double harm = percentile(direct->observed_us, 0.99) - alone_p99;
  if (harm > 0) figures.isolation_leakage = (figures.p99_us - alone_p99) / harm;
  return figures;
}

double delay_bound_us(double background_in_flight_bytes, double chunk_bytes, double size,
                      double rate) {
  return (background_in_flight_bytes + chunk_bytes + size) / rate * 1e6;
}

}  // namespace tentq::bench::qos
