// One run of a network: who is next, what it leads to, and changes. See network.h.
#include "tests/sim/net/network.h"

#include <algorithm>
#include <utility>

namespace tentq::sim {
namespace {

constexpr std::int64_t kPatienceNs = 600'000'000'000;  // for what is left at the end

}  // namespace

Network::Network(const Scenario& scenario)
    : scenario_(scenario), changes_actor_(agenda_.add()), random_(scenario.seed) {
  enter_actor(changes_actor_, nullptr, nullptr);
  build_nodes();
  if (!scenario_.changes.empty()) agenda_.set(changes_actor_, scenario_.changes.front().at_ns);
}

Record Network::run() {
  for (const auto& node : nodes_) {
    touch(node->number());
    for (const std::uint32_t sender : node->senders) say_hello(sender, node->number());
  }
  settle();
  for (;;) {
    const Agenda::Turn turn = agenda_.next();
    const std::int64_t at_ns = std::min(turn.at_ns, timeline_.next_ns());
    if (at_ns == kNeverNs || (at_ns >= scenario_.duration_ns && idle())) break;
    if (at_ns > scenario_.duration_ns + kPatienceNs) {
      record_.violations.add(now_ns_, "work is left that does not end");
      break;
    }
    now_ns_ = at_ns;
    if (timeline_.next_ns() == at_ns) {
      happen(timeline_.take());
    } else if (turn.actor == changes_actor_) {
      apply_changes();
    } else if (by_actor_[turn.actor] != nullptr) {
      touch(actor_nodes_[turn.actor]->number());
      by_actor_[turn.actor]->act();
    } else {
      touch(actor_nodes_[turn.actor]->number());
      actor_nodes_[turn.actor]->host().step();
    }
    settle();
  }
  finish();
  return std::move(record_);
}

void Network::happen(const Timeline::Event& event) {
  switch (event.what) {
    case Happening::arrives: return arrives(event.index);
    case Happening::is_in: return is_in(event.index);
    case Happening::is_done: return is_done(event.index);
    case Happening::asked: return asked(event.index);
    case Happening::message: return message_arrives(event.index);
    case Happening::way_over: return way_over(event.index);
    case Happening::way_back: return way_back(event.index);
    case Happening::given_up: return given_up(event.index);
  }
}

// Before anything happens to it: its time goes on.
void Network::touch(std::uint32_t number) {
  Node& node = *nodes_[number];
  node.host().advance(now_ns_);
  if (std::exchange(node.touched, true)) return;
  touched_.push_back(number);
}

// What one does at this time may be something for another.
void Network::settle() {
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    Node& node = *nodes_[touched_[i]];
    node.touched = false;
    settle(node);
  }
  touched_.clear();
}

void Network::settle(Node& node) {
  node.host().settle();
  settle_credits(node);
  agenda_.set(node.actor, std::max(now_ns_, std::min(node.host().next_ns(), node.credit_due_ns)));
}

bool Network::idle() {
  return std::all_of(nodes_.begin(), nodes_.end(),
                     [](const auto& node) { return node->host().broken() || node->host().idle(); });
}

void Network::apply_changes() {
  const std::vector<Change>& changes = scenario_.changes;
  while (next_change_ < changes.size() && changes[next_change_].at_ns <= now_ns_) {
    apply(changes[next_change_++]);
  }
  agenda_.set(changes_actor_,
              next_change_ < changes.size() ? changes[next_change_].at_ns : kNeverNs);
}

void Network::apply(const Change& change) {
  const auto group_of = [this](std::uint32_t number) { return record_.hosts[number].group; };
  if (change.kind == ChangeKind::partition) {
    for (std::uint32_t index = 0; index < ways_.count(); ++index) {
      const std::uint32_t low = group_of(ways_[index].low);
      const std::uint32_t high = group_of(ways_[index].high);
      const bool meant = (low == change.hosts && high == change.others) ||
                         (low == change.others && high == change.hosts);
      if (meant) block(index, change.duration_ns);
    }
    return;
  }
  const HostSpec& group = scenario_.net.hosts[change.hosts];
  for (std::uint32_t number = group.first; number < group.first + group.count; ++number) {
    Node& node = *nodes_[number];
    if (change.kind == ChangeKind::host_memory) {
      node.memory_per_ns = static_cast<double>(change.rate) / 1e9;
      record_.hosts[number].rates.push_back({now_ns_, change.rate});
    } else if (change.kind == ChangeKind::host_uplink) {
      node.uplink_per_ns = static_cast<double>(change.rate) / 1e9;
    } else if (change.kind == ChangeKind::host_jam) {
      node.jammed_until_ns = now_ns_ + change.duration_ns;
    } else {
      restart(node, change.duration_ns);
    }
  }
}

// What could not even be submitted has failed too.
void Network::finish() {
  for (const auto& node : nodes_) node->host().finish();
  for (std::size_t i = 0; i < loads_.size(); ++i) {
    Sample sample;
    sample.client = load_clients_[i];
    sample.intended_ns = scenario_.duration_ns - 1;
    sample.ended_ns = now_ns_;
    for (std::uint64_t n = loads_[i]->unsubmitted(); n > 0; --n) record_.samples.push_back(sample);
  }
  record_.end_ns = now_ns_;
}

}  // namespace tentq::sim
