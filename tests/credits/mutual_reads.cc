#include "tests/credits/mutual_reads.h"

#include <algorithm>

#include "daemon/core/hash.h"
#include "proto/check.h"
#include "tests/credits/incast_model.h"

namespace tentq::core {

MutualReads::Host::Host(std::uint64_t epoch_, std::uint64_t other)
    : epoch(epoch_),
      receiver(model_rules(), CreditPool::user, 2, epoch_, 0),
      reads(model_rules(), CreditPool::user, epoch_),
      writes(model_rules(), CreditPool::user, epoch_) {
  receiver.attach(kOwnReads, epoch, true);
  receiver.attach(kOthersWrites, other, true);
  reads.connect(epoch, true, 0);
  writes.connect(other, true, 0);
}

// Both windows are full of the other's data, and the requests behind it are as many as there may
// be.
MutualReads::MutualReads(const MutualShape& shape) : shape_(shape), hosts_{Host(1, 2), Host(2, 1)} {
  for (Host& host : hosts_) {
    host.reads_left = shape.reads;
    host.writes_left = shape.writes;
    host.reads.set_waiting(true, 0);
    host.writes.set_waiting(shape.writes != 0, 0);
  }
  settle();
  now_ns_ = 5 * IncastModel::kTick_ns;  // behind the boot
  settle();
  for (std::uint8_t h = 0; h < kHosts; ++h) {
    while (can(Kind::read, h)) apply({Kind::read, h});
  }
  for (std::uint8_t h = 0; h < kHosts; ++h) apply({Kind::serve, h});
}

bool MutualReads::can(Kind kind, std::uint32_t h) const {
  const Host& host = hosts_[h];
  switch (kind) {
    case Kind::read:
      return host.reads_left != 0 && host.asked.size() < kBudget && room(host.reads) != 0;
    case Kind::serve:
      if (shape_.server_asks && room(hosts_[1 - h].reads) == 0) return false;
      return host.requests != 0 && host.sending == Sending::nothing;
    case Kind::write:
      return host.writes_left != 0 && host.sending == Sending::nothing && room(host.writes) != 0;
    case Kind::arrive: return host.sending != Sending::nothing;
    case Kind::tick:
    case Kind::demand:
    case Kind::grant: return true;
  }
  return false;
}

void MutualReads::take_demand(std::uint32_t h, CreditSender& sender, std::uint32_t left, bool own) {
  sender.advance(now_ns_);
  if (sender.demand_due_ns() > now_ns_) return;
  CreditWant want;
  want.wanted[index_of(ClassId::standard)] = left;
  const PeerDemand demand = sender.take_demand(want, now_ns_);
  if (own) {
    hosts_[h].receiver.take_demand(kOwnReads, demand, now_ns_);
  } else {
    hosts_[h].demands.put(demand);
  }
}

void MutualReads::settle() {
  for (std::uint32_t h = 0; h < kHosts; ++h) {
    Host& host = hosts_[h];
    host.receiver.advance(now_ns_);
    take_demand(h, host.reads, host.reads_left, true);
    take_demand(h, host.writes, host.writes_left, false);
  }
  for (std::uint32_t h = 0; h < kHosts; ++h) {
    std::uint32_t sender = 0;
    while (const auto grant = hosts_[h].receiver.next_grant(&sender)) {
      if (sender == kOwnReads) {
        hosts_[h].reads.take_grant(*grant, now_ns_);
      } else {
        hosts_[1 - h].grants.put(*grant);
      }
    }
  }
}

void MutualReads::arrive(std::uint32_t h) {
  Host& host = hosts_[h];
  Host& other = hosts_[1 - h];
  if (host.sending == Sending::data) {
    other.reads.freed(other.asked.take(0), 1);
  } else {
    host.writes.freed(host.write_mark, 1);
  }
  host.sending = Sending::nothing;
}

void MutualReads::apply(const Action& action) {
  const std::uint32_t h = action.host;
  Host& host = hosts_[h];
  switch (action.kind) {
    case Kind::tick: now_ns_ += IncastModel::kTick_ns; break;
    case Kind::read:
      host.asked.put(host.reads.consume(1, now_ns_));
      host.reads_left -= 1;
      host.reads.set_waiting(host.reads_left != 0, now_ns_);
      hosts_[1 - h].requests += 1;
      break;
    case Kind::serve:
      host.requests -= 1;
      host.sending = Sending::data;
      break;
    case Kind::write:
      host.write_mark = host.writes.consume(1, now_ns_);
      host.writes_left -= 1;
      host.writes.set_waiting(host.writes_left != 0, now_ns_);
      host.sending = Sending::write;
      break;
    case Kind::arrive: arrive(h); break;
    case Kind::demand:
      hosts_[1 - h].receiver.take_demand(kOthersWrites, host.demands.take(action.message), now_ns_);
      break;
    case Kind::grant: host.writes.take_grant(host.grants.take(action.message), now_ns_); break;
  }
  settle();
}

void MutualReads::audit() const {
  for (std::uint32_t h = 0; h < kHosts; ++h) {
    const Host& host = hosts_[h];
    host.receiver.check_invariants();
    host.reads.check_invariants();
    host.writes.check_invariants();
    check_credit_between(host.reads, host.receiver, kOwnReads, host.epoch, now_ns_);
    check_credit_between(host.writes, hosts_[1 - h].receiver, kOthersWrites, hosts_[1 - h].epoch,
                         now_ns_);
    TENTQ_CHECK(host.reads.in_flight() == host.asked.size());
  }
}

void MutualReads::step_fairly() {
  for (std::uint8_t h = 0; h < kHosts; ++h) {
    while (!hosts_[h].demands.empty()) apply({Kind::demand, h});
    while (!hosts_[h].grants.empty()) apply({Kind::grant, h});
  }
  for (std::uint8_t h = 0; h < kHosts; ++h) {
    for (const Kind kind : {Kind::arrive, Kind::serve, Kind::write, Kind::read}) {
      if (can(kind, h)) apply({kind, h});
    }
  }
  apply({});
}

void MutualReads::must_proceed() {
  const std::uint32_t rounds = 8 + 3 * kHosts * (shape_.reads + shape_.writes);
  for (std::uint32_t i = 0; i < rounds; ++i) step_fairly();
  for (const Host& host : hosts_) {
    TENTQ_CHECK(host.reads_left == 0 && host.writes_left == 0);
    TENTQ_CHECK(host.asked.empty() && host.sending == Sending::nothing);
  }
}

std::uint64_t MutualReads::hash() const {
  std::uint64_t hash = 0;
  for (std::uint32_t h = 0; h < kHosts; ++h) {
    const Host& host = hosts_[h];
    hash = host.receiver.hash(hash, now_ns_);
    hash = host.reads.hash(host.writes.hash(hash, now_ns_), now_ns_);
    hash = fold(hash, host.reads_left | host.writes_left << 8 | host.requests << 16 |
                          static_cast<std::uint32_t>(host.sending) << 24);
    const CreditReceiver::Sender& entry = hosts_[1 - h].receiver.of(kOthersWrites);
    hash = fold(fold(hash, host.writes.nonce() - entry.nonce), host.writes.freed() - entry.freed);
    for (std::size_t i = 0; i < host.demands.size(); ++i) {
      const PeerDemand& demand = host.demands[i];
      hash = fold(fold(hash, host.writes.nonce() - demand.nonce), demand.sent);
      hash = fold(fold(hash, demand.freed), demand.wanted[index_of(ClassId::standard)]);
    }
    for (std::size_t i = 0; i < host.grants.size(); ++i) {
      hash = fold(fold(hash, host.writes.nonce() - host.grants[i].nonce), host.grants[i].limit);
    }
    hash = fold(hash, host.demands.size() << 8 | host.grants.size());
    for (std::size_t i = 0; i < host.asked.size(); ++i) {
      hash = fold(hash, host.reads.life() - host.asked[i].life);
    }
    hash = fold(hash, host.writes.life() - host.write_mark.life);
  }
  return hash;
}

std::string MutualReads::name(const Action& action) const {
  static constexpr const char* kNames[] = {
      "tick",           "asks for a READ",       "serves a READ",
      "WRITEs",         "what it sends arrives", "its demand arrives",
      "a grant arrives"};
  const std::string what = kNames[static_cast<std::size_t>(action.kind)];
  return action.kind == Kind::tick ? what : "host " + std::to_string(action.host) + ": " + what;
}

std::string MutualReads::text() const {
  std::string all;
  for (const Host& host : hosts_) {
    all += "outstanding " + std::to_string(host.receiver.outstanding()) + ", READs asked " +
           std::to_string(host.asked.size()) + ", to serve " + std::to_string(host.requests) +
           ", sending " + std::to_string(static_cast<int>(host.sending)) + "; ";
  }
  return all;
}

}  // namespace tentq::core
