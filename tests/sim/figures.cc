// See figures.h.
#include "tests/sim/figures.h"

#include <algorithm>
#include <cmath>

#include "tests/bench/qos/figures.h"
#include "tests/bench/statistics.h"

namespace tentq::sim {
namespace {

bool lies_in(std::int64_t at_ns, const Interval& in) {
  return at_ns >= in.from_ns && at_ns < in.to_ns;
}

std::optional<double> part(double of, double all) {
  if (all <= 0) return std::nullopt;
  return of / all;
}

bool keeps_work(const ClientSpec& client) {
  return !client.silent && (client.kind == LoadKind::closed || client.kind == LoadKind::flood);
}

}  // namespace

Interval measured_time(const Scenario& scenario) {
  return {scenario.warmup_ns, scenario.duration_ns};
}

bool Figures::concerns(const Subject& subject, std::uint32_t client) const {
  const std::uint32_t group = record_.clients[client].group;
  if (group == kNoGroup) return false;
  switch (subject.kind) {
    case SubjectKind::client: return group == subject.index;
    case SubjectKind::cls: return index_of(scenario_.clients[group].cls) == subject.index;
    case SubjectKind::lane:
    case SubjectKind::host:
    case SubjectKind::hosts: return true;
  }
  return false;
}

std::optional<double> Figures::value(const Subject& subject, Figure figure,
                                     const Interval& in) const {
  const auto percentile = [&](double rank) -> std::optional<double> {
    const std::vector<double> times = times_us(subject, in);
    if (times.empty()) return std::nullopt;
    return bench::percentile(times, rank);
  };
  switch (figure) {
    case Figure::p50: return percentile(0.5);
    case Figure::p99: return percentile(0.99);
    case Figure::p999: return percentile(0.999);
    case Figure::samples: return count(subject, in, true);
    case Figure::failed: return count(subject, in, false);
    case Figure::moved: return moved(subject, in);
    case Figure::share: return part(moved(subject, in), moved({SubjectKind::host, 0}, in));
    case Figure::of_capacity:
    case Figure::utilisation: return part(moved(subject, in), capacity_of(subject, in));
    case Figure::jain: return jain_of(subject, in);
    case Figure::within_p8: return within_p8(subject, in);
    case Figure::p99_vs_reference:
    case Figure::moved_vs_reference: return compared(subject, figure, in);
    case Figure::goodput: return goodput(subject, in);
    case Figure::fairness: return fairness(in);
    case Figure::refused:
    case Figure::largest_chunk:
    case Figure::peak_in_flight:
    case Figure::peak_outstanding:
    case Figure::over_slots:
    case Figure::peak_granted:
    case Figure::over_bound:
    case Figure::longest_wait: return of_peaks(subject, figure);
  }
  return std::nullopt;
}

// Owners that were to be submitted in that time, whenever they ended.
std::vector<double> Figures::times_us(const Subject& subject, const Interval& in) const {
  std::vector<double> times;
  for (const Sample& sample : record_.samples) {
    if (!sample.completed || !lies_in(sample.intended_ns, in)) continue;
    if (!concerns(subject, sample.client)) continue;
    times.push_back(static_cast<double>(sample.ended_ns - sample.intended_ns) / 1e3);
  }
  return times;
}

double Figures::count(const Subject& subject, const Interval& in, bool completed) const {
  return static_cast<double>(
      std::count_if(record_.samples.begin(), record_.samples.end(), [&](const Sample& sample) {
        return sample.completed == completed && lies_in(sample.intended_ns, in) &&
               concerns(subject, sample.client);
      }));
}

double Figures::moved(const Subject& subject, const Interval& in) const {
  double sum = 0;
  for (const Moved& each : record_.moved) {
    if (!lies_in(each.at_ns, in)) continue;
    bool counts = concerns(subject, each.client);
    if (subject.kind == SubjectKind::lane) counts = each.lane == subject.index;
    if (subject.kind == SubjectKind::hosts) counts = reaches(subject, each.lane);
    if (counts) sum += static_cast<double>(each.bytes);
  }
  return sum;
}

// The lane's data goes to one of the hosts.
bool Figures::reaches(const Subject& hosts, std::uint32_t lane) const {
  return record_.hosts[record_.lanes[lane].to_host].group == hosts.index;
}

double Figures::capacity(const std::vector<RateStep>& rates, const Interval& in) const {
  double sum = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const std::int64_t from = std::max(in.from_ns, rates[i].from_ns);
    const std::int64_t next = i + 1 < rates.size() ? rates[i + 1].from_ns : in.to_ns;
    const std::int64_t to = std::min(in.to_ns, next);
    if (to > from) sum += static_cast<double>(to - from) * static_cast<double>(rates[i].rate) / 1e9;
  }
  return sum;
}

// Of the lane, or of the hosts' memories; else of all lanes that the clients use, each once.
double Figures::capacity_of(const Subject& subject, const Interval& in) const {
  if (subject.kind == SubjectKind::lane) return capacity(record_.lanes[subject.index].rates, in);
  double sum = 0;
  for (const HostRecord& host : record_.hosts) {
    if (subject.kind == SubjectKind::hosts && host.group == subject.index) {
      sum += capacity(host.rates, in);
    }
  }
  for (std::uint32_t lane = 0; lane < scenario_.lanes.size(); ++lane) {
    bool used = subject.kind == SubjectKind::host;
    for (std::uint32_t client = 0; client < record_.clients.size() && !used; ++client) {
      const std::vector<std::uint32_t>& lanes =
          scenario_.clients[record_.clients[client].group].lanes;
      used =
          concerns(subject, client) && std::find(lanes.begin(), lanes.end(), lane) != lanes.end();
    }
    if (used) sum += capacity(record_.lanes[lane].rates, in);
  }
  return sum;
}

double Figures::jain_of(const Subject& subject, const Interval& in) const {
  std::vector<double> bytes(record_.clients.size());
  for (const Moved& each : record_.moved) {
    if (lies_in(each.at_ns, in)) bytes[each.client] += static_cast<double>(each.bytes);
  }
  std::vector<double> shares;
  for (std::uint32_t client = 0; client < bytes.size(); ++client) {
    if (concerns(subject, client)) shares.push_back(bytes[client] / record_.clients[client].weight);
  }
  return bench::qos::jain(shares);
}

double Figures::fairness(const Interval& in) const {
  double least = 1;
  for (std::uint32_t group = 0; group < scenario_.clients.size(); ++group) {
    if (!keeps_work(scenario_.clients[group])) continue;
    least = std::min(least, jain_of({SubjectKind::client, group}, in));
  }
  return least;
}

std::optional<double> Figures::within_p8(const Subject& subject, const Interval& in) const {
  double judged = 0;
  double within = 0;
  for (const Sample& sample : record_.samples) {
    if (!sample.completed || sample.bound_ns < 0 || !lies_in(sample.intended_ns, in)) continue;
    if (!concerns(subject, sample.client)) continue;
    judged += 1;
    within += sample.took_admitted_ns <= sample.bound_ns ? 1 : 0;
  }
  return part(within, judged);
}

std::optional<double> Figures::goodput(const Subject& subject, const Interval& in) const {
  const bool hosts = subject.kind == SubjectKind::hosts;
  return part(hosts ? moved(subject, in) : completed_bytes(in), capacity_of(subject, in));
}

std::optional<double> Figures::of_hosts(const Subject& subject, Figure figure) const {
  std::uint64_t most = 0;
  std::uint64_t sum = 0;
  for (const HostRecord& host : record_.hosts) {
    if (host.group != subject.index) continue;
    const bool credit = figure == Figure::peak_granted;
    most = std::max(most, credit ? host.peak_granted : host.peak_in_flight);
    sum += figure == Figure::over_slots ? host.over_slots : host.over_bound;
  }
  if (figure == Figure::over_slots || figure == Figure::over_bound) return static_cast<double>(sum);
  if (figure != Figure::longest_wait) return static_cast<double>(most);
  std::int64_t longest_ns = 0;
  for (std::uint32_t lane = 0; lane < record_.lanes.size(); ++lane) {
    if (reaches(subject, lane))
      longest_ns = std::max(longest_ns, record_.lanes[lane].longest_wait_ns);
  }
  return static_cast<double>(longest_ns) / 1e3;
}

std::optional<double> Figures::of_peaks(const Subject& subject, Figure figure) const {
  if (subject.kind == SubjectKind::hosts) return of_hosts(subject, figure);
  if (figure == Figure::peak_outstanding) {
    return static_cast<double>(record_.peak_outstanding_bytes);
  }
  if (figure == Figure::peak_in_flight) {
    return static_cast<double>(record_.lanes[subject.index].peak_in_flight);
  }
  std::uint64_t refused = 0;
  std::uint64_t largest = 0;
  for (std::uint32_t client = 0; client < record_.clients.size(); ++client) {
    if (!concerns(subject, client)) continue;
    refused += record_.clients[client].refused;
    largest = std::max(largest, record_.clients[client].largest_chunk);
  }
  return static_cast<double>(figure == Figure::refused ? refused : largest);
}

std::optional<double> Figures::compared(const Subject& subject, Figure figure,
                                        const Interval& in) const {
  if (reference_ == nullptr) return std::nullopt;
  const Figure plain = figure == Figure::p99_vs_reference ? Figure::p99 : Figure::moved;
  const std::optional<double> ours = value(subject, plain, in);
  const std::optional<double> theirs =
      Figures(scenario_, *reference_, nullptr).value(subject, plain, in);
  if (!ours || !theirs) return std::nullopt;
  return part(*ours, *theirs);
}

double Figures::completed_bytes(const Interval& in) const {
  double sum = 0;
  for (const Sample& sample : record_.samples) {
    if (sample.completed && lies_in(sample.ended_ns, in)) sum += static_cast<double>(sample.bytes);
  }
  return sum;
}

double Figures::goodput_bytes_per_s() const {
  const Interval in = measured_time(scenario_);
  return completed_bytes(in) / (static_cast<double>(in.to_ns - in.from_ns) / 1e9);
}

double Figures::urgent_percentile_us(double rank) const {
  for (std::uint32_t cls = 1; cls < kClassCount; ++cls) {
    const std::vector<double> times = times_us({SubjectKind::cls, cls}, measured_time(scenario_));
    if (!times.empty()) return bench::percentile(times, rank);
  }
  return 0;
}

std::vector<Verdict> judge(const Scenario& scenario, const Figures& figures) {
  std::vector<Verdict> verdicts;
  for (const Expectation& each : scenario.expectations) {
    Interval in = measured_time(scenario);
    if (each.phase) in = {scenario.phases[*each.phase].from_ns, scenario.phases[*each.phase].to_ns};
    Verdict verdict{each.text, each.line,
                    figures.value({each.subject, each.index}, each.figure, in)};
    if (verdict.value) {
      switch (each.relation) {
        case Relation::at_most: verdict.met = *verdict.value <= each.value; break;
        case Relation::at_least: verdict.met = *verdict.value >= each.value; break;
        case Relation::equal: verdict.met = std::abs(*verdict.value - each.value) < 1e-9; break;
      }
    }
    verdicts.push_back(verdict);
  }
  return verdicts;
}

}  // namespace tentq::sim
