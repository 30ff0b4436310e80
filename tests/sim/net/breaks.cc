// Ways that break and hosts that start anew. See network.h.
#include <utility>

#include "tests/sim/net/network.h"

namespace tentq::sim {
namespace {

constexpr std::int64_t kPeerTimeoutNs = 3'000'000'000;  // silence for so long is loss

}  // namespace

void Network::set_away(const Way& way, std::uint32_t index, bool away) {
  for (const std::uint32_t number : {way.low, way.high}) {
    Node& node = *nodes_[number];
    touch(number);
    for (std::uint32_t lane = 0; lane < node.lanes.size(); ++lane) {
      if (node.lanes[lane].way == index) node.host().set_away(lane, away);
    }
  }
}

// Both ends close their connections: nothing of them is applied any more. A sender learns that of
// the other end only from the next link; what it serves ends at once.
void Network::way_over(std::uint32_t index) {
  Way& way = ways_[index];
  if (!way.up) return;
  way.up = false;
  way.over_ns = now_ns_;
  set_away(way, index, true);
  for (Cargo& cargo : cargo_) {
    if (!cargo.live || cargo.fenced || cargo.way != index) continue;
    cargo.fenced = true;
    if (cargo.read == kNoRead) {
      nodes_[cargo.to]->towards_bytes -= cargo.bytes;
      stranded_[index].push_back({cargo.from, cargo.flight});
    } else {
      nodes_[cargo.from]->host().failed(cargo.flight, Reason::peer_lost);
    }
  }
  for (std::uint32_t i = 0; i < reads_.size(); ++i) {
    Read& read = reads_[i];
    if (!read.live || read.way != index) continue;
    read.live = false;
    nodes_[read.asker]->towards_bytes -= read.bytes - read.received;
    stranded_[index].push_back({read.asker, read.flight});
    if (read.arrived) free_reads_.push_back(i);
  }
  for (const std::uint32_t number : {way.low, way.high}) {
    const auto found = nodes_[number]->serving.find(way.other(number));
    if (found != nodes_[number]->serving.end()) found->second->drop();
  }
  timeline_.plan(now_ns_ + scenario_.limits.route_budget.count(), Happening::given_up, index);
}

// A new link: its handshake has fenced the earlier one.
void Network::way_back(std::uint32_t index) {
  Way& way = ways_[index];
  if (way.up || now_ns_ < way.back_ns || way.blocks(now_ns_)) return;
  way.up = true;
  for (const Stranded& each : std::exchange(stranded_[index], {})) {
    nodes_[each.node]->host().lost(each.flight);
  }
  say_hello(way.low, way.high);
  say_hello(way.high, way.low);
  set_away(way, index, false);
}

// No host confirmed that nothing of it can arrive: it must not go again.
void Network::given_up(std::uint32_t index) {
  const Way& way = ways_[index];
  if (way.up || now_ns_ < way.over_ns + scenario_.limits.route_budget.count()) return;
  for (const Stranded& each : std::exchange(stranded_[index], {})) {
    touch(each.node);
    nodes_[each.node]->host().failed(each.flight, Reason::peer_lost);
  }
}

void Network::block(std::uint32_t index, std::int64_t for_ns) {
  Way& way = ways_[index];
  way.blocked_from_ns = now_ns_;
  way.blocked_until_ns = now_ns_ + for_ns;
  if (for_ns < kPeerTimeoutNs) return;
  way.back_ns = way.blocked_until_ns + 2 * scenario_.net.delay_ns;
  timeline_.plan(now_ns_ + kPeerTimeoutNs, Happening::way_over, index);
  timeline_.plan(way.back_ns, Happening::way_back, index);
}

void Network::restart(Node& node, std::int64_t for_ns) {
  for (std::uint32_t index = 0; index < ways_.count(); ++index) {
    Way& way = ways_[index];
    if (way.low != node.number() && way.high != node.number()) continue;
    way_over(index);
    std::erase_if(stranded_[index],
                  [&](const Stranded& each) { return each.node == node.number(); });
    way.back_ns = now_ns_ + for_ns;
    timeline_.plan(way.back_ns, Happening::way_back, index);
  }
  node.begin_life();
  for (CreditLink& each : node.links) each.counters = {};
  node.uplink_free_ns = now_ns_;
  touch(node.number());
  node.host().restart(mixed(scenario_.seed, node.epoch()), node.epoch());
  make_pools(node);
  if (node.place_of(node.number())) say_hello(node.number(), node.number());
}

}  // namespace tentq::sim
