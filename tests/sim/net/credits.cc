// What the daemons of a network say to each other of credit, and its checks. See network.h.
#include <algorithm>
#include <utility>

#include "proto/check.h"
#include "tests/sim/broken_invariant.h"
#include "tests/sim/net/network.h"

namespace tentq::sim {
namespace {

constexpr std::uint32_t kUserPool = 0;

}  // namespace

// A HELLO each way: what each end is now, and whether it speaks credits.
void Network::say_hello(std::uint32_t from, std::uint32_t to) {
  Node& sender = *nodes_[from];
  Node& receiver = *nodes_[to];
  touch(from);
  touch(to);
  const bool speaks = scenario_.net.credits && !receiver.legacy;
  if (const auto link = sender.credit_link(to)) {
    sender.host().connect(ReceiverId{static_cast<std::uint16_t>(*link)}, receiver.epoch(), speaks);
  }
  const std::optional<std::uint32_t> place = receiver.place_of(from);
  if (!speaks || !place) return;
  for (const auto& pool : receiver.pools) {
    pool->attach(*place, sender.epoch(), !sender.legacy);
  }
}

void Network::demand(Node& node, std::uint32_t receiver, const PeerDemand& demand) {
  Message message;
  message.from = node.number();
  message.to = node.links[receiver].host;
  message.link = receiver;
  message.what = demand;
  node.links[receiver].changed = true;
  post_message(message, sizeof(PeerDemand));
}

void Network::grant(Node& node, const PeerGrant& grant, std::uint32_t place) {
  Message message;
  message.from = node.number();
  message.to = node.senders[place];
  message.what = grant;
  const auto link = nodes_[message.to]->credit_link(node.number());
  if (!link) return;
  message.link = *link;
  post_message(message, sizeof(PeerGrant));
}

// A host's own messages go round in the same turn, and none is lost.
void Network::post_message(const Message& message, std::uint64_t bytes) {
  if (message.from == message.to) return plan_message(message, 0);
  record_.control_messages += 1;
  record_.control_bytes += bytes;
  const NetSpec& net = scenario_.net;
  const Way& way = ways_[ways_.between(message.from, message.to)];
  if (!way.up || way.blocks(now_ns_)) return;
  const auto happens = [this](double chance) {
    return chance > 0 && static_cast<double>(random_() >> 11) * 0x1p-53 < chance;
  };
  const auto delay_ns = [&] {
    const std::uint64_t late =
        net.late_ns == 0 ? 0 : random_() % static_cast<std::uint64_t>(net.late_ns);
    return net.delay_ns + static_cast<std::int64_t>(late);
  };
  if (happens(net.doubled)) plan_message(message, delay_ns());
  if (!happens(net.lost)) plan_message(message, delay_ns());
}

void Network::plan_message(const Message& message, std::int64_t delay_ns) {
  std::uint32_t index = static_cast<std::uint32_t>(messages_.size());
  if (free_messages_.empty()) {
    messages_.push_back(message);
  } else {
    index = free_messages_.back();
    free_messages_.pop_back();
    messages_[index] = message;
  }
  timeline_.plan(now_ns_ + delay_ns, Happening::message, index);
}

// Also of an earlier life of either end: it has to be recognised by what it says.
void Network::message_arrives(std::uint32_t index) {
  const Message message = messages_[index];
  free_messages_.push_back(index);
  if (message.from != message.to && !ways_[ways_.between(message.from, message.to)].up) return;
  Node& to = *nodes_[message.to];
  touch(message.to);
  if (const auto* demand = std::get_if<PeerDemand>(&message.what)) {
    const std::optional<std::uint32_t> place = to.place_of(message.from);
    if (!place || to.pools.empty()) return;
    guarded([&] {
      to.pools[static_cast<std::uint32_t>(demand->pool)]->take_demand(*place, *demand, now_ns_);
    });
    nodes_[message.from]->links[message.link].changed = true;
    touch(message.from);
  } else {
    to.links[message.link].changed = true;
    to.host().take_grant(ReceiverId{static_cast<std::uint16_t>(message.link)},
                         std::get<PeerGrant>(message.what));
  }
}

void Network::settle_credits(Node& node) {
  std::int64_t due_ns = kNeverNs;
  for (const auto& pool : node.pools) {
    guarded([&] { pool->advance(now_ns_); });
    std::uint32_t place = 0;
    while (const auto each = pool->next_grant(&place)) grant(node, *each, place);
    due_ns = std::min(due_ns, pool->next_deadline_ns());
    guarded([&] { check_pool(node, *pool); });
  }
  if (!node.pools.empty()) {
    HostRecord& record = record_.hosts[node.number()];
    record.peak_granted = std::max(record.peak_granted, node.pools[kUserPool]->outstanding());
  }
  for (std::uint32_t link = 0; link < node.links.size(); ++link) {
    if (!std::exchange(node.links[link].changed, false)) continue;
    guarded([&] { check_link(node, link); });
  }
  node.credit_due_ns = std::min(due_ns, kNeverNs);
}

// I1 at every step; what it is the sum of as often as the core is checked.
void Network::check_pool(Node& node, const core::CreditReceiver& pool) {
  record_.checks += 1;
  if (pool.outstanding() > pool.cap_bytes()) {
    TENTQ_CHECK(pool.outstanding() <= pool.exposure().bound);
  }
  if (++node.since_check < scenario_.check_every) return;
  node.since_check = 0;
  pool.check_invariants();
}

// Between the sender and the receiver of credit; each has checked itself.
void Network::check_link(Node& node, std::uint32_t index) {
  CreditLink& link = node.links[index];
  const Node& to = *nodes_[link.host];
  if (to.pools.empty() || node.host().broken()) return;
  const ReceiverId id{static_cast<std::uint16_t>(index)};
  const core::ReceiverTotals sender = node.host().core().receiver_totals(id, CreditPool::user);
  const core::CreditReceiver& pool = *to.pools[kUserPool];
  const core::CreditReceiver::Sender& entry = pool.of(link.place);
  record_.checks += 1;
  TENTQ_CHECK(sender.freed <= sender.sent && sender.sent <= sender.limit);  // I2, I3
  const core::CreditCounters counters{sender.epoch, sender.life, sender.limit, sender.sent,
                                      sender.freed};
  core::check_monotone(link.counters, counters);  // I4
  link.counters = counters;
  if (entry.epoch != node.epoch() || sender.epoch != to.epoch()) return;
  const bool same_life = entry.live && entry.life() == sender.life;
  const bool may_use = sender.state == core::CreditState::active && sender.room != 0;
  TENTQ_CHECK(!may_use || same_life);  // I5
  if (same_life) {
    TENTQ_CHECK(sender.limit <= entry.limit);
    TENTQ_CHECK(sender.sent >= entry.sent && sender.freed >= entry.freed);
  }
  TENTQ_CHECK(sender.in_flight() <= pool.most_in_flight_of(link.place));
}

// What is in flight towards it is within what it handed out and what it states beside that (I1).
void Network::check_towards(const Node& receiver) {
  if (receiver.pools.empty()) return;
  const core::CreditReceiver& pool = *receiver.pools[kUserPool];
  if (receiver.towards_bytes <= pool.cap_bytes() || pool.is_booting()) return;
  const core::CreditExposure exposure = pool.exposure();
  const std::uint64_t most =
      exposure.bound + exposure.stale + exposure.legacy + exposure.uncredited;
  if (receiver.towards_bytes > most) record_.hosts[receiver.number()].over_bound += 1;
}

void Network::guarded(const std::function<void()>& body) {
  try {
    body();
  } catch (const BrokenInvariant& error) {
    record_.violations.add(now_ns_, error.what());
  }
}

}  // namespace tentq::sim
