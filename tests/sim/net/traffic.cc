// The way of data from host to host. See network.h.
#include <algorithm>

#include "proto/check.h"
#include "tests/sim/net/network.h"

namespace tentq::sim {
namespace {

template <class Entry>
std::uint32_t place_in(std::vector<Entry>& entries, std::vector<std::uint32_t>& free) {
  if (free.empty()) {
    entries.emplace_back();
    return static_cast<std::uint32_t>(entries.size() - 1);
  }
  const std::uint32_t index = free.back();
  free.pop_back();
  return index;
}

std::int64_t time_for(std::uint64_t bytes, double per_ns) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(bytes) / per_ns));
}

}  // namespace

// Counted from the handing over on; of a READ from its asking on.
void Network::note_towards(Node& receiver, std::uint64_t bytes) {
  receiver.towards_bytes += bytes;
  HostRecord& record = record_.hosts[receiver.number()];
  record.peak_in_flight = std::max(record.peak_in_flight, receiver.towards_bytes);
  const std::uint64_t slots = scenario_.net.hosts[record.group].slots_bytes;
  if (slots != 0 && receiver.towards_bytes > slots) record.over_slots += 1;
  check_towards(receiver);
}

void Network::send(Node& node, const FarLane& lane, std::uint32_t flight,
                   const core::DispatchChunk& chunk) {
  record_.chunks += 1;
  if (lane.kind == LaneKind::read) return ask(node, lane, flight, chunk);
  Cargo cargo;
  cargo.from = node.number();
  cargo.to = lane.other;
  cargo.flight = flight;
  cargo.way = lane.way;
  cargo.bytes = chunk.length;
  if (lane.kind == LaneKind::serve) {
    cargo.read = chunk.remote_region.value();
  } else {
    note_towards(*nodes_[cargo.to], cargo.bytes);
  }
  cargo.live = true;
  node.uplink_free_ns =
      std::max(node.uplink_free_ns, now_ns_) + time_for(cargo.bytes, node.uplink_per_ns);
  cargo.leaves_ns = node.uplink_free_ns;
  const std::uint32_t index = place_in(cargo_, free_cargo_);
  cargo_[index] = cargo;
  timeline_.plan(cargo.leaves_ns + scenario_.net.delay_ns, Happening::arrives, index);
}

void Network::ask(Node& node, const FarLane& lane, std::uint32_t flight,
                  const core::DispatchChunk& chunk) {
  const std::uint32_t index = place_in(reads_, free_reads_);
  Read& read = reads_[index];
  read = Read{};
  read.asker = node.number();
  read.server = lane.other;
  read.flight = flight;
  read.way = lane.way;
  read.cls = chunk.cls;
  read.bytes = chunk.length;
  read.live = true;
  note_towards(node, read.bytes);
  timeline_.plan(ways_[lane.way].through_ns(now_ns_) + scenario_.net.delay_ns, Happening::asked,
                 index);
}

void Network::asked(std::uint32_t index) {
  Read& read = reads_[index];
  if (!read.live) {
    free_reads_.push_back(index);
    return;
  }
  read.arrived = true;
  Node& server = *nodes_[read.server];
  touch(read.server);
  server.serving.at(read.asker)->asked(index, read.cls, read.bytes);
}

void Network::drop(std::uint32_t index) {
  cargo_[index].live = false;
  free_cargo_.push_back(index);
}

void Network::arrives(std::uint32_t index) {
  const Cargo& cargo = cargo_[index];
  if (cargo.fenced) return drop(index);
  const std::int64_t through_ns =
      ways_[cargo.way].through_ns(cargo.leaves_ns) + scenario_.net.delay_ns;
  if (through_ns > now_ns_) return timeline_.plan(through_ns, Happening::arrives, index);
  Node& node = *nodes_[cargo_[index].to];
  node.arrived.push_back(index);
  if (!node.takes_in) take_in(node);
}

// The memory takes in what came first.
void Network::take_in(Node& node) {
  while (!node.arrived.empty() && cargo_[node.arrived.front()].fenced) {
    drop(node.arrived.front());
    node.arrived.pop_front();
  }
  node.takes_in = !node.arrived.empty();
  if (!node.takes_in) return;
  const std::int64_t begin_ns = std::max(now_ns_, node.jammed_until_ns);
  timeline_.plan(begin_ns + time_for(cargo_[node.arrived.front()].bytes, node.memory_per_ns),
                 Happening::is_in, node.number());
}

void Network::is_in(std::uint32_t number) {
  Node& node = *nodes_[number];
  // A jam came while it was at it.
  if (node.jammed_until_ns > now_ns_) return take_in(node);
  const std::uint32_t index = node.arrived.front();
  node.arrived.pop_front();
  if (cargo_[index].fenced) {
    drop(index);
    return take_in(node);
  }
  const Cargo cargo = cargo_[index];
  touch(number);
  if (!node.pools.empty()) guarded([&] { node.pools[0]->ingested(cargo.bytes, now_ns_); });
  if (cargo.read != kNoRead) {
    Read& read = reads_[cargo.read];
    TENTQ_CHECK(read.live && read.asker == number);
    read.received += cargo.bytes;
    node.towards_bytes -= cargo.bytes;
    if (read.received == read.bytes) {
      read.live = false;
      free_reads_.push_back(cargo.read);
      node.host().returned(read.flight);
    }
  }
  const Way& way = ways_[cargo.way];
  timeline_.plan(way.through_ns(now_ns_) + scenario_.net.delay_ns, Happening::is_done, index);
  take_in(node);
}

void Network::is_done(std::uint32_t index) {
  const Cargo cargo = cargo_[index];
  drop(index);
  if (cargo.fenced) return;
  if (cargo.read == kNoRead) nodes_[cargo.to]->towards_bytes -= cargo.bytes;
  touch(cargo.from);
  nodes_[cargo.from]->host().returned(cargo.flight);
}

}  // namespace tentq::sim
