// Hosts, lanes and clients of a network. See network.h.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "daemon/core/amounts.h"
#include "tests/sim/net/network.h"
#include "tests/sim/net/trace_plan.h"

namespace tentq::sim {
namespace {

constexpr std::uint32_t kLeastOwners = 256;  // of a host

double per_ns(std::uint64_t bytes_per_s) {
  return static_cast<double>(bytes_per_s) / 1e9;
}

// Of one session of an open load: the group shares the uplink of its host.
double mean_gap_ns(const ClientSpec& client, const HostSpec& host) {
  const double sum = std::accumulate(client.sizes.begin(), client.sizes.end(), 0.0);
  const double mean = sum / static_cast<double>(client.sizes.size());
  return mean * client.session_count() / (client.share * per_ns(host.uplink));
}

template <class Visit>
void for_each_host(const HostSpec& group, const Visit& visit) {
  for (std::uint32_t i = 0; i < group.count; ++i) visit(group.first + i, i);
}

// Part of a group, spread evenly over it.
bool is_among(double part, std::uint32_t place) {
  return std::floor((place + 1) * part) > std::floor(place * part);
}

}  // namespace

std::uint32_t Network::lane_between(std::uint32_t from, std::uint32_t to, LaneKind kind) {
  std::vector<FarLane>& lanes = planned_[from];
  const auto [found, fresh] = lane_numbers_.try_emplace(
      {from, to, static_cast<std::uint32_t>(kind)}, static_cast<std::uint32_t>(lanes.size()));
  if (fresh) lanes.push_back({kind, to, ways_.between(from, to)});
  return found->second;
}

// In the order of the clients; a READ needs a lane for its answer, too.
void Network::plan_lanes() {
  const NetSpec& net = scenario_.net;
  client_lanes_.resize(scenario_.clients.size());
  for (std::uint32_t group = 0; group < scenario_.clients.size(); ++group) {
    const ClientSpec& client = scenario_.clients[group];
    client_lanes_[group].resize(net.hosts[client.on].count);
    for_each_host(net.hosts[client.on], [&](std::uint32_t from, std::uint32_t place) {
      for_each_host(net.hosts[client.to], [&](std::uint32_t to, std::uint32_t) {
        if (to == from) return;
        std::vector<std::uint32_t>& lanes = client_lanes_[group][place];
        if (client.ops != Ops::write) {
          lanes.push_back(lane_between(from, to, LaneKind::read));
          lane_between(to, from, LaneKind::serve);
        }
        if (client.ops != Ops::read) lanes.push_back(lane_between(from, to, LaneKind::write));
      });
    });
  }
}

// Each pair of hosts that data goes between: a host's own READs ask itself.
void Network::plan_credits() {
  planned_links_.resize(planned_.size());
  planned_senders_.resize(planned_.size());
  if (!scenario_.net.credits) return;
  for (std::uint32_t from = 0; from < planned_.size(); ++from) {
    for (FarLane& lane : planned_[from]) {
      if (lane.kind == LaneKind::serve) continue;
      const std::uint32_t to = lane.kind == LaneKind::read ? from : lane.other;
      std::vector<CreditLink>& links = planned_links_[from];
      const auto found = std::find_if(links.begin(), links.end(),
                                      [to](const CreditLink& each) { return each.host == to; });
      lane.receiver = ReceiverId{static_cast<std::uint16_t>(found - links.begin())};
      if (found != links.end()) continue;
      links.push_back({to, static_cast<std::uint32_t>(planned_senders_[to].size())});
      planned_senders_[to].push_back(from);
    }
  }
}

void Network::make_pools(Node& node) {
  node.pools.clear();
  if (node.legacy || node.senders.empty()) return;
  for (const CreditPool pool : {CreditPool::user, CreditPool::internal}) {
    node.pools.push_back(std::make_unique<core::CreditReceiver>(
        scenario_.net.rules, pool, static_cast<std::uint32_t>(node.senders.size()), node.epoch(),
        now_ns_));
    node.pools.back()->set_round_trip(2 * scenario_.net.delay_ns);
  }
}

core::HardMaxima Network::maxima_of_node(std::uint32_t number) const {
  core::HardMaxima maxima;
  maxima.sessions = maxima.clients = 0;
  std::uint64_t slots = 0;
  maxima.slots = Serving::kMostReads;
  for (const ClientSpec& client : scenario_.clients) {
    const HostSpec& on = scenario_.net.hosts[client.on];
    if (number < on.first || number >= on.first + on.count) continue;
    maxima.sessions += client.session_count();
    maxima.clients += client.count;
    slots += std::uint64_t{client.session_count()} * slots_of(client);
    maxima.slots = std::max(maxima.slots, slots_of(client));
  }
  for (const FarLane& lane : planned_[number]) {
    if (lane.kind != LaneKind::serve) continue;
    maxima.sessions += 1;
    maxima.clients += 1;
    slots += Serving::kMostReads;
  }
  maxima.sessions = std::max(1u, maxima.sessions);
  maxima.clients = std::max(1u, maxima.clients);
  maxima.lanes = std::max(1u, static_cast<std::uint32_t>(planned_[number].size()));
  // Twice, so that credit need not be taken back to be given to another session.
  maxima.owners = static_cast<std::uint32_t>(std::min<std::uint64_t>(
      scenario_.limits.host.owners, std::max<std::uint64_t>(kLeastOwners, 2 * slots)));
  return maxima;
}

void Network::build_nodes() {
  const NetSpec& net = scenario_.net;
  planned_.resize(net.host_count());
  plan_lanes();
  plan_credits();
  stranded_.resize(ways_.count());
  for (std::uint32_t group = 0; group < scenario_.clients.size(); ++group) {
    const ClientSpec& client = scenario_.clients[group];
    const std::uint32_t count = client.count * net.hosts[client.on].count;
    record_.clients.resize(record_.clients.size() + count, {group, client.weight});
  }
  served_client_ = static_cast<std::uint32_t>(record_.clients.size());
  record_.clients.push_back({kNoGroup, 1});
  for (std::uint32_t group = 0; group < net.hosts.size(); ++group) {
    for_each_host(net.hosts[group], [&](std::uint32_t number, std::uint32_t place) {
      add_node(number, group, is_among(net.hosts[group].legacy, place));
    });
  }
  std::uint32_t first_client = 0;
  for (std::uint32_t group = 0; group < scenario_.clients.size(); ++group) {
    open_group(group, first_client);
    first_client += scenario_.clients[group].count * net.hosts[scenario_.clients[group].on].count;
  }
}

void Network::add_node(std::uint32_t number, std::uint32_t group, bool legacy) {
  const HostSpec& spec = scenario_.net.hosts[group];
  HostRecord record;
  record.group = group;
  record.rates.push_back({0, spec.memory});
  record_.hosts.push_back(record);
  HostShape shape;
  shape.limits = scenario_.limits;
  shape.maxima = maxima_of_node(number);
  shape.limits.host.owners = shape.maxima.owners;
  shape.limits.internal_reserve =
      core::least(shape.limits.internal_reserve, core::share(shape.limits.host, 16));
  shape.policy = scenario_.policy;
  shape.seed = mixed(scenario_.seed, 0x40'0000 + number);
  shape.check_every = scenario_.check_every;
  shape.first_lane = static_cast<std::uint32_t>(record_.lanes.size());
  record_.lanes.resize(record_.lanes.size() + planned_[number].size());
  // A host that does not speak credits asks for none.
  if (legacy) {
    for (FarLane& lane : planned_[number]) lane.receiver = ReceiverId{};
    planned_links_[number].clear();
  }
  shape.credits.rules = scenario_.net.rules;
  shape.credits.receivers = static_cast<std::uint32_t>(planned_links_[number].size());
  shape.credits.epoch = Node::epoch_of(number, 1);
  nodes_.push_back(std::make_unique<Node>(number, shape, &record_, this));
  Node& node = *nodes_.back();
  node.legacy = legacy;
  node.links = planned_links_[number];
  node.senders = planned_senders_[number];
  make_pools(node);
  node.uplink_per_ns = per_ns(spec.uplink);
  node.memory_per_ns = per_ns(spec.memory);
  node.actor = agenda_.add();
  enter_actor(node.actor, nullptr, &node);
  open_lanes(node, shape.first_lane);
}

void Network::open_lanes(Node& node, std::uint32_t first_lane) {
  const LaneSpec& path = scenario_.far_lane;
  for (std::uint32_t lane = 0; lane < planned_[node.number()].size(); ++lane) {
    const FarLane& far = planned_[node.number()][lane];
    node.lanes.push_back(far);
    record_.lanes[first_lane + lane].to_host =
        far.kind == LaneKind::read ? node.number() : far.other;
    node.host().open_far_lane(
        core::LaneOpened{LaneId{static_cast<std::uint16_t>(lane)}, path.window_bytes,
                         path.window_chunks, path.chunk_bytes, path.rules, far.receiver},
        far.kind == LaneKind::read ? Op::read : Op::write);
    if (far.kind != LaneKind::serve) continue;
    const ClientKey key{node.next_key++};
    node.serving[far.other] = std::make_unique<Serving>(&node.host(), served_client_, key, lane);
  }
}

void Network::enter_actor(std::uint32_t actor, Load* load, Node* node) {
  by_actor_.resize(actor + 1);
  actor_nodes_.resize(actor + 1);
  by_actor_[actor] = load;
  actor_nodes_[actor] = node;
}

void Network::open_group(std::uint32_t group, std::uint32_t first_client) {
  const ClientSpec& client = scenario_.clients[group];
  const HostSpec& on = scenario_.net.hosts[client.on];
  std::vector<std::vector<TraceStep>> steps;
  if (client.kind == LoadKind::trace) {
    steps = plan_trace(scenario_.trace, client, client_lanes_[group], scenario_.duration_ns);
  }
  for_each_host(on, [&](std::uint32_t number, std::uint32_t place) {
    Node& node = *nodes_[number];
    const std::uint32_t first_key = node.next_key;
    node.next_key += client.count;
    if (client.silent || client_lanes_[group][place].empty()) return;
    for (std::uint32_t k = 0; k < client.session_count(); ++k) {
      LoadShape shape;
      shape.client = client;
      shape.client.lanes = client_lanes_[group][place];
      shape.number = place * client.session_count() + k;
      shape.seed = mixed(scenario_.seed, std::uint64_t{group} << 20 | shape.number);
      shape.mean_gap_ns = client.kind == LoadKind::open ? mean_gap_ns(client, on) : 0;
      shape.end_ns = scenario_.duration_ns;
      if (client.kind == LoadKind::trace) shape.steps = std::move(steps[shape.number]);
      const std::uint32_t of_host = k / client.sessions;
      open_session(shape, node, first_client + place * client.count + of_host,
                   ClientKey{first_key + of_host});
    }
  });
}

void Network::open_session(const LoadShape& shape, Node& node, std::uint32_t client,
                           ClientKey key) {
  loads_.push_back(make_load(shape, &node.host(), &agenda_));
  Load* load = loads_.back().get();
  load_clients_.push_back(client);
  load->attach(node.host().open_session(
      {client, key, shape.client.in_flight_bytes, slots_of(shape.client)}, load));
  enter_actor(load->actor(), load, &node);
}

}  // namespace tentq::sim
