#include "tests/credits/credit_net.h"

#include <algorithm>
#include <utility>

#include "proto/check.h"

namespace tentq::core {

CreditNet::CreditNet(const NetShape& shape)
    : shape_(shape),
      random_(shape.seed),
      receiver_(shape.rules, CreditPool::user, shape.senders, receiver_epoch_, 0),
      sender_counters_(shape.senders),
      entry_counters_(shape.senders) {
  receiver_.set_round_trip(2 * shape.delay_ns);
  for (std::uint32_t s = 0; s < shape.senders; ++s) {
    hosts_.emplace_back(shape_.rules, next_epoch_++);
    hello(s);
  }
}

void CreditNet::at(std::int64_t at_ns, std::function<void()> act) {
  events_.push({std::max(at_ns, now_ns_), next_order_++, std::move(act)});
}

void CreditNet::send(std::function<void()> arrive) {
  messages_ += 1;
  const auto chance = [this](double share) {
    return std::uniform_real_distribution<double>(0, 1)(random_) < share;
  };
  const auto delay_ns = [this] {
    return shape_.delay_ns + (faults_.late_ns == 0 ? 0
                                                   : std::uniform_int_distribution<std::int64_t>(
                                                         0, faults_.late_ns)(random_));
  };
  if (chance(faults_.doubled)) at(now_ns_ + delay_ns(), arrive);
  if (!chance(faults_.lost)) at(now_ns_ + delay_ns(), std::move(arrive));
}

void CreditNet::hello(std::uint32_t s) {
  Host& host = hosts_[s];
  receiver_.attach(s, host.epoch, true);
  host.credit.connect(receiver_epoch_, true, now_ns_);
  pump_sender(s);
}

void CreditNet::queue(std::uint32_t s, std::uint32_t chunks, ClassId cls) {
  Host& host = hosts_[s];
  if (host.queued == 0) host.waits_since_ns = now_ns_;
  host.queued += chunks;
  host.cls = cls;
  pump_sender(s);
}

void CreditNet::note_wait(Host& host) const {
  host.longest_wait_ns = std::max(host.longest_wait_ns, now_ns_ - host.waits_since_ns);
  host.waits_since_ns = now_ns_;
}

std::int64_t CreditNet::longest_wait_ns() const {
  std::int64_t longest_ns = 0;
  for (const Host& host : hosts_) {
    longest_ns = std::max(longest_ns, host.longest_wait_ns);
    if (host.queued != 0) longest_ns = std::max(longest_ns, now_ns_ - host.waits_since_ns);
  }
  return longest_ns;
}

void CreditNet::forget_figures() {
  peak_ = in_flight_;
  violations_ = ingested_ = messages_ = 0;
  for (Host& host : hosts_) {
    host.longest_wait_ns = 0;
    host.waits_since_ns = now_ns_;
    host.ingested = 0;
  }
}

void CreditNet::pump_sender(std::uint32_t s) {
  Host& host = hosts_[s];
  host.credit.set_waiting(host.queued != 0, now_ns_);
  const std::uint64_t chunk = shape_.rules.chunk_bytes;
  while (host.queued != 0) {
    const bool has_room = shape_.fixed_window != 0
                              ? (host.chunks_in_flight + 1) * chunk <= shape_.fixed_window
                              : host.credit.room(now_ns_) >= chunk;
    if (!has_room) break;
    hand_over(s);
  }
  host.credit.set_waiting(host.queued != 0, now_ns_);
  if (shape_.fixed_window != 0) return;
  while (host.credit.demand_due_ns() <= now_ns_) {
    CreditWant want;
    want.wanted[index_of(host.cls)] = host.queued * chunk;
    const PeerDemand demand = host.credit.take_demand(want, now_ns_);
    send([this, s, demand] {
      receiver_.take_demand(s, demand, now_ns_);
      pump_receiver();
    });
  }
  const std::int64_t due_ns = host.credit.next_deadline_ns();
  if (due_ns == kNever_ns || due_ns == host.timer_ns) return;
  host.timer_ns = due_ns;
  at(due_ns, [this, s] {
    hosts_[s].timer_ns = kNever_ns;
    hosts_[s].credit.advance(now_ns_);
    pump_sender(s);
  });
}

void CreditNet::pump_receiver() {
  std::uint32_t s = 0;
  while (const auto grant = receiver_.next_grant(&s)) {
    send([this, s, grant = *grant] {
      hosts_[s].credit.take_grant(grant, now_ns_);
      pump_sender(s);
    });
  }
  const std::int64_t due_ns = receiver_.next_deadline_ns();
  if (due_ns == kNever_ns || due_ns == receiver_timer_ns_) return;
  receiver_timer_ns_ = due_ns;
  at(due_ns, [this] {
    receiver_timer_ns_ = kNever_ns;
    receiver_.advance(now_ns_);
    pump_receiver();
  });
}

void CreditNet::hand_over(std::uint32_t s) {
  Host& host = hosts_[s];
  const std::uint64_t bytes = shape_.rules.chunk_bytes;
  host.marks.push_back(shape_.fixed_window != 0 ? CreditMark{}
                                                : host.credit.consume(bytes, now_ns_));
  host.queued -= 1;
  host.chunks_in_flight += 1;
  note_wait(host);
  in_flight_ += bytes;
  peak_ = std::max(peak_, in_flight_);
  if (in_flight_ > receiver_.exposure().bound) violations_ += 1;
  host.uplink_free_ns =
      std::max(host.uplink_free_ns, now_ns_) +
      static_cast<std::int64_t>(static_cast<double>(bytes) / shape_.uplink_per_ns);
  at(host.uplink_free_ns + shape_.delay_ns, [this, s, link = host.link] { arrive(s, link); });
}

// Into the queue of what the receiver's memory takes in.
void CreditNet::arrive(std::uint32_t s, std::uint64_t link) {
  if (hosts_[s].link != link) return;
  const double bytes = static_cast<double>(shape_.rules.chunk_bytes);
  ingest_free_ns_ =
      std::max(ingest_free_ns_, now_ns_) + static_cast<std::int64_t>(bytes / shape_.ingest_per_ns);
  at(ingest_free_ns_, [this, s, link] {
    if (hosts_[s].link != link) return;
    ingested_ += shape_.rules.chunk_bytes;
    hosts_[s].ingested += shape_.rules.chunk_bytes;
    receiver_.ingested(shape_.rules.chunk_bytes, now_ns_);
    pump_receiver();
    at(now_ns_ + shape_.delay_ns, [this, s, link] { finish(s, link); });
  });
}

void CreditNet::finish(std::uint32_t s, std::uint64_t link) {
  Host& host = hosts_[s];
  if (host.link != link) return;
  const std::uint64_t bytes = shape_.rules.chunk_bytes;
  if (shape_.fixed_window == 0) host.credit.freed(host.marks.front(), bytes);
  host.marks.pop_front();
  host.chunks_in_flight -= 1;
  in_flight_ -= bytes;
  pump_sender(s);
}

// Fenced: nothing of it is applied any more.
void CreditNet::lose_link(std::uint32_t s) {
  Host& host = hosts_[s];
  host.link += 1;
  host.uplink_free_ns = now_ns_;
  while (!host.marks.empty()) {
    host.credit.freed(host.marks.front(), shape_.rules.chunk_bytes);
    host.marks.pop_front();
    in_flight_ -= shape_.rules.chunk_bytes;
  }
  if (host.queued == 0) host.waits_since_ns = now_ns_;
  host.queued += std::exchange(host.chunks_in_flight, 0);
}

void CreditNet::restart_receiver() {
  receiver_epoch_ += 1;
  receiver_ =
      CreditReceiver(shape_.rules, CreditPool::user, shape_.senders, receiver_epoch_, now_ns_);
  receiver_.set_round_trip(2 * shape_.delay_ns);
  std::fill(entry_counters_.begin(), entry_counters_.end(), CreditCounters{});
  ingest_free_ns_ = now_ns_;
  for (std::uint32_t s = 0; s < hosts_.size(); ++s) {
    at(now_ns_ + shape_.delay_ns * (1 + s), [this, s] {
      lose_link(s);
      hello(s);
    });
  }
  pump_receiver();
}

void CreditNet::restart_sender(std::uint32_t s) {
  lose_link(s);
  Host fresh(shape_.rules, next_epoch_++);
  fresh.link = hosts_[s].link;
  fresh.queued = hosts_[s].queued;
  fresh.cls = hosts_[s].cls;
  fresh.waits_since_ns = now_ns_;
  fresh.ingested = hosts_[s].ingested;
  hosts_[s] = fresh;
  sender_counters_[s] = {};
  at(now_ns_ + shape_.delay_ns, [this, s] { hello(s); });
}

void CreditNet::run_until(std::int64_t until_ns) {
  while (!events_.empty() && events_.top().at_ns <= until_ns) {
    const Event event = events_.top();
    events_.pop();
    now_ns_ = event.at_ns;
    event.act();
    audit();
  }
  now_ns_ = until_ns;
}

void CreditNet::audit() {
  receiver_.check_invariants();
  std::uint64_t in_flight = 0;
  for (std::uint32_t s = 0; s < hosts_.size(); ++s) {
    const Host& host = hosts_[s];
    host.credit.check_invariants();
    const CreditCounters sender = CreditCounters::of(host.credit);
    const CreditCounters entry = CreditCounters::of(receiver_.of(s));
    check_monotone(sender_counters_[s], sender);
    check_monotone(entry_counters_[s], entry);
    sender_counters_[s] = sender;
    entry_counters_[s] = entry;
    in_flight += host.chunks_in_flight * shape_.rules.chunk_bytes;
    if (shape_.fixed_window != 0 || receiver_.of(s).epoch != host.epoch) continue;
    TENTQ_CHECK(host.credit.in_flight() == host.chunks_in_flight * shape_.rules.chunk_bytes);
    check_credit_between(host.credit, receiver_, s, receiver_epoch_, now_ns_);
    if (host.credit.receiver_epoch() != receiver_epoch_) continue;
    TENTQ_CHECK(host.credit.in_flight() <= receiver_.most_in_flight_of(s));
  }
  TENTQ_CHECK(in_flight == in_flight_);
}

}  // namespace tentq::core
