// See simulation.h.
#include "tests/sim/simulation.h"

#include <algorithm>
#include <numeric>

#include "daemon/core/amounts.h"
#include "tests/sim/net/network.h"

namespace tentq::sim {
namespace {

constexpr std::int64_t kPatienceNs = 3'600'000'000'000;  // for what is left at the end

double bytes_per_ns(std::uint64_t bytes_per_s) {
  return static_cast<double>(bytes_per_s) / 1e9;
}

// Of one session of an open load.
double mean_gap_ns(const ClientSpec& client, const LaneSpec& lane) {
  const double sum = std::accumulate(client.sizes.begin(), client.sizes.end(), 0.0);
  const double mean = sum / static_cast<double>(client.sizes.size());
  return mean * client.session_count() / (client.share * bytes_per_ns(lane.rate));
}

}  // namespace

core::HardMaxima maxima_of(const Scenario& scenario) {
  core::HardMaxima maxima;
  maxima.owners = static_cast<std::uint32_t>(scenario.limits.host.owners);
  maxima.sessions = 0;
  maxima.clients = 0;
  maxima.lanes = static_cast<std::uint32_t>(std::max<std::size_t>(1, scenario.lanes.size()));
  for (const ClientSpec& client : scenario.clients) {
    maxima.sessions += client.session_count();
    maxima.clients += client.count;
  }
  return maxima;
}

const std::vector<Side>& all_sides() {
  static const std::vector<Side> sides = {{"direct", core::Policy::direct},
                                          {"fifo", core::Policy::fifo},
                                          {"strict", core::Policy::strict},
                                          {"strict_64MiB", core::Policy::strict, 64u << 20},
                                          {"wdrr", core::Policy::wdrr}};
  return sides;
}

Side side_of(core::Policy policy) {
  const auto found = std::find_if(all_sides().begin(), all_sides().end(), [&](const Side& side) {
    return side.policy == policy && side.fixed_window == 0;
  });
  return *found;
}

Scenario on_side(const Scenario& scenario, const Side& side) {
  Scenario changed = scenario;
  changed.policy = side.policy;
  for (LaneSpec& lane : changed.lanes) {
    if (side.fixed_window == 0) continue;
    lane.window_bytes = side.fixed_window;
    lane.window_chunks = std::max<std::uint32_t>(lane.window_chunks, 1u << 16);
    lane.rules = {};
  }
  if (side.fixed_window != 0) {
    changed.far_lane.window_bytes = side.fixed_window;
    changed.far_lane.rules = {};
  }
  return changed;
}

Scenario reference_of(const Scenario& scenario) {
  Scenario changed = scenario;
  if (scenario.reference->without_changes) changed.changes.clear();
  if (scenario.reference->without_credits) changed.net.credits = false;
  const std::vector<std::uint32_t>& only = scenario.reference->only;
  for (std::uint32_t i = 0; i < changed.clients.size() && !only.empty(); ++i) {
    changed.clients[i].silent = std::find(only.begin(), only.end(), i) == only.end();
  }
  return changed;
}

Simulation::Simulation(const Scenario& scenario)
    : scenario_(scenario), host_actor_(agenda_.add()), changes_actor_(agenda_.add()) {
  HostShape shape;
  shape.limits = scenario_.limits;
  shape.maxima = maxima_of(scenario_);
  shape.policy = scenario_.policy;
  shape.seed = scenario_.seed;
  shape.check_every = scenario_.check_every;
  record_.lanes.resize(scenario_.lanes.size());
  for (std::uint32_t group = 0; group < scenario_.clients.size(); ++group) {
    const ClientSpec& client = scenario_.clients[group];
    record_.clients.resize(record_.clients.size() + client.count, {group, client.weight});
  }
  host_ = std::make_unique<Host>(shape, &record_);
  open_lanes();
  std::uint32_t first_client = 0;
  for (std::uint32_t group = 0; group < scenario_.clients.size(); ++group) {
    open_group(group, first_client);
    first_client += scenario_.clients[group].count;
  }
  if (!scenario_.changes.empty()) agenda_.set(changes_actor_, scenario_.changes.front().at_ns);
}

void Simulation::open_lanes() {
  for (std::uint32_t i = 0; i < scenario_.lanes.size(); ++i) {
    const LaneSpec& lane = scenario_.lanes[i];
    record_.lanes[i].rates.push_back({0, lane.rate});
    core::LinkShape link;
    link.bytes_per_ns = bytes_per_ns(lane.rate);
    link.delay_ns = lane.delay_ns;
    link.jitter_ns = lane.jitter_ns;
    link.seed = mixed(scenario_.seed, 0x1a4e + i);
    host_->open_lane(i, link,
                     core::LaneOpened{LaneId{static_cast<std::uint16_t>(i)}, lane.window_bytes,
                                      lane.window_chunks, lane.chunk_bytes, lane.rules});
  }
}

void Simulation::open_group(std::uint32_t group, std::uint32_t first_client) {
  const ClientSpec& client = scenario_.clients[group];
  if (client.silent) return;
  for (std::uint32_t number = 0; number < client.session_count(); ++number) {
    LoadShape shape;
    shape.client = client;
    shape.number = number;
    shape.seed = mixed(scenario_.seed, std::uint64_t{group} << 20 | number);
    shape.mean_gap_ns =
        client.kind == LoadKind::open ? mean_gap_ns(client, scenario_.lanes[client.lanes[0]]) : 0;
    shape.end_ns = scenario_.duration_ns;
    loads_.push_back(make_load(shape, host_.get(), &agenda_));
    Load* load = loads_.back().get();
    const std::uint32_t of_client = first_client + number / client.sessions;
    load_clients_.push_back(of_client);
    load->attach(host_->open_session(
        {of_client, ClientKey{of_client}, client.in_flight_bytes, slots_of(client)}, load));
    by_actor_.resize(load->actor() + 1);
    by_actor_[load->actor()] = load;
  }
}

Record Simulation::run() {
  host_->settle();
  agenda_.set(host_actor_, host_->next_ns());
  for (;;) {
    const Agenda::Turn turn = agenda_.next();
    const bool all_done = turn.at_ns >= scenario_.duration_ns && host_->idle();
    if (turn.at_ns == kNeverNs || all_done) break;
    if (turn.at_ns > scenario_.duration_ns + kPatienceNs) {
      record_.violations.add(host_->now_ns(), "work is left that does not end");
      break;
    }
    host_->advance(turn.at_ns);
    act(turn.actor);
    host_->settle();
    if (host_->broken()) break;
    agenda_.set(host_actor_, host_->next_ns());
  }
  finish();
  return std::move(record_);
}

void Simulation::act(std::uint32_t actor) {
  if (actor == host_actor_) {
    host_->step();
  } else if (actor == changes_actor_) {
    apply_changes();
  } else {
    by_actor_[actor]->act();
  }
}

void Simulation::apply_changes() {
  const std::vector<Change>& changes = scenario_.changes;
  while (next_change_ < changes.size() && changes[next_change_].at_ns <= host_->now_ns()) {
    apply(changes[next_change_++]);
  }
  agenda_.set(changes_actor_,
              next_change_ < changes.size() ? changes[next_change_].at_ns : kNeverNs);
}

void Simulation::apply(const Change& change) {
  switch (change.kind) {
    case ChangeKind::lane_rate: return host_->set_rate(change.lane, change.rate);
    case ChangeKind::lane_delay: return host_->set_delay(change.lane, change.duration_ns);
    case ChangeKind::lane_jam: return host_->jam(change.lane, change.duration_ns);
    case ChangeKind::policy: return host_->set_policy(change.policy);
    case ChangeKind::class_weight: return host_->set_class_weight(change.cls, change.weight);
    case ChangeKind::host_memory:
    case ChangeKind::host_uplink:
    case ChangeKind::host_jam:
    case ChangeKind::host_restart:
    case ChangeKind::partition: return;  // of several hosts
  }
}

// What could not even be submitted has failed too.
void Simulation::finish() {
  host_->finish();
  for (std::size_t i = 0; i < loads_.size(); ++i) {
    Sample sample;
    sample.client = load_clients_[i];
    sample.intended_ns = scenario_.duration_ns - 1;
    sample.ended_ns = host_->now_ns();
    for (std::uint64_t n = loads_[i]->unsubmitted(); n > 0; --n) record_.samples.push_back(sample);
  }
  record_.end_ns = host_->now_ns();
}

Record simulate(const Scenario& scenario) {
  return scenario.is_network() ? Network(scenario).run() : Simulation(scenario).run();
}

}  // namespace tentq::sim
