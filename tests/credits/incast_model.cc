#include "tests/credits/incast_model.h"

#include <algorithm>

#include "daemon/core/hash.h"
#include "proto/check.h"

namespace tentq::core {

CreditRules model_rules(std::uint32_t ttl_ticks) {
  CreditRules rules;
  rules.chunk_bytes = 1;
  rules.legacy_bytes = 2;
  rules.boot_bytes = 2;  // P; 1.5 P is 3
  rules.demand_ns = rules.demand_gap_ns = IncastModel::kTick_ns;
  rules.ttl_ns = ttl_ticks * IncastModel::kTick_ns;
  rules.probe_ns = 8 * IncastModel::kTick_ns;
  return rules;
}

namespace {

// Only which lives are equal and which is later matters, not how many lie between: the rank of each
// among those that somebody still knows of.
class Lives {
 public:
  void add(std::uint64_t nonce) {
    const std::uint64_t life = nonce >> 32;
    const auto place = std::lower_bound(lives_.begin(), lives_.begin() + count_, life);
    if (place != lives_.begin() + count_ && *place == life) return;
    std::copy_backward(place, lives_.begin() + count_, lives_.begin() + count_ + 1);
    *place = life;
    count_ += 1;
  }
  // Of the newest: 1.
  std::uint64_t rank(std::uint64_t nonce) const {
    const auto place = std::lower_bound(lives_.begin(), lives_.begin() + count_, nonce >> 32);
    return static_cast<std::uint64_t>(lives_.begin() + count_ - place);
  }

 private:
  std::array<std::uint64_t, 8> lives_{};
  std::ptrdiff_t count_ = 0;
};

}  // namespace

IncastModel::IncastModel(const IncastShape& shape)
    : shape_(shape),
      receiver_(model_rules(shape.ttl_ticks), CreditPool::user, kSenders, epoch_, 0),
      hosts_{Host(1, sender_rules()), Host(2, sender_rules())} {
  for (std::uint32_t s = 0; s < shape.senders; ++s) {
    hosts_[s].queued = shape.warm;
    hosts_[s].speaks = s != 0 || !shape.legacy_first;
    say_hello(s);
    hosts_[s].credit.set_waiting(shape.warm != 0, 0);
  }
  settle();
  for (std::uint32_t i = 0; i < shape.warm; ++i) step_fairly(true);
  for (std::uint32_t s = 0; s < shape.senders; ++s) {
    hosts_[s].queued = shape.chunks;
    hosts_[s].credit.set_waiting(true, now_ns_);
  }
  settle();
}

CreditRules IncastModel::sender_rules() const {
  return model_rules(shape_.ttl_ticks * (shape_.planted == Planted::long_ttl ? 2 : 1));
}

// Both shells do at once what is due.
void IncastModel::settle() {
  receiver_.advance(now_ns_);
  for (std::uint32_t s = 0; s < shape_.senders; ++s) {
    Host& host = hosts_[s];
    host.credit.advance(now_ns_);
    if (host.credit.demand_due_ns() > now_ns_) continue;
    CreditWant want;
    want.wanted[index_of(ClassId::standard)] = host.queued;
    host.demands.put(host.credit.take_demand(want, now_ns_));
  }
  std::uint32_t sender = 0;
  while (const auto grant = receiver_.next_grant(&sender)) hosts_[sender].grants.put(*grant);
}

void IncastModel::say_hello(std::uint32_t s) {
  Host& host = hosts_[s];
  receiver_.attach(s, host.epoch, host.speaks);
  host.credit.connect(epoch_, host.speaks, now_ns_);
  host.told = true;
}

bool IncastModel::can_dispatch(std::uint32_t s) const {
  CreditSender credit = hosts_[s].credit;
  return hosts_[s].queued != 0 && hosts_[s].in_flight.size() < 8 && credit.room(now_ns_) != 0;
}

void IncastModel::dispatch(std::uint32_t s) {
  Host& host = hosts_[s];
  host.in_flight.put({host.credit.consume(1, now_ns_), host.credit.receiver_epoch()});
  host.queued -= 1;
  if (host.queued == 0) host.credit.set_waiting(false, now_ns_);
}

void IncastModel::end_chunk(std::uint32_t s) {
  hosts_[s].credit.freed(hosts_[s].in_flight.take(0).mark, 1);
}

void IncastModel::take_demand(std::uint32_t s, PeerDemand demand) {
  if (shape_.planted == Planted::any_epoch) {
    demand.sender_epoch = hosts_[s].epoch;
    demand.receiver_epoch = epoch_;
  }
  receiver_.take_demand(s, demand, now_ns_);
}

void IncastModel::take_grant(std::uint32_t s, PeerGrant grant) {
  if (shape_.planted == Planted::any_epoch) {
    grant.sender_epoch = hosts_[s].epoch;
    grant.receiver_epoch = hosts_[s].credit.receiver_epoch();
    grant.nonce = hosts_[s].credit.nonce();
  }
  if (shape_.planted == Planted::long_ttl) grant.ttl_ms *= 2;
  hosts_[s].credit.take_grant(grant, now_ns_);
}

// What it had in flight is gone with its connections.
void IncastModel::restart_sender(std::uint32_t s) {
  Host fresh(hosts_[s].epoch + 10, sender_rules());
  fresh.queued = hosts_[s].queued + static_cast<std::uint32_t>(hosts_[s].in_flight.size());
  fresh.speaks = hosts_[s].speaks;
  fresh.restarts = hosts_[s].restarts + 1;
  fresh.demands = hosts_[s].demands;
  fresh.grants = hosts_[s].grants;
  hosts_[s] = fresh;
  hosts_[s].credit.set_waiting(fresh.queued != 0, now_ns_);
}

void IncastModel::restart_receiver() {
  receiver_restarts_ += 1;
  epoch_ += 1;
  receiver_ =
      CreditReceiver(model_rules(shape_.ttl_ticks), CreditPool::user, kSenders, epoch_, now_ns_);
  for (Host& host : hosts_) host.told = false;
}

void IncastModel::apply(const Action& action) {
  const std::uint32_t s = action.sender;
  Host& host = hosts_[s];
  std::array<CreditCounters, kSenders> senders;
  std::array<CreditCounters, kSenders> entries;
  for (std::uint32_t i = 0; i < shape_.senders; ++i) {
    senders[i] = CreditCounters::of(hosts_[i].credit);
    entries[i] = CreditCounters::of(receiver_.of(i));
  }
  switch (action.kind) {
    case Kind::tick: now_ns_ += kTick_ns; break;
    case Kind::restart_receiver: restart_receiver(); break;
    case Kind::dispatch: dispatch(s); break;
    case Kind::end: end_chunk(s); break;
    case Kind::hello: say_hello(s); break;
    case Kind::restart_sender: restart_sender(s); break;
    case Kind::demand: take_demand(s, host.demands.take(action.message)); break;
    case Kind::grant: take_grant(s, host.grants.take(action.message)); break;
    case Kind::demand_copy:
      copies_ += 1;
      take_demand(s, host.demands[action.message]);
      break;
    case Kind::grant_copy:
      copies_ += 1;
      take_grant(s, host.grants[action.message]);
      break;
  }
  settle();
  for (std::uint32_t i = 0; i < shape_.senders; ++i) {
    // A new object counts anew.
    if (action.kind != Kind::restart_sender || i != s) {
      check_monotone(senders[i], CreditCounters::of(hosts_[i].credit));
    }
    if (action.kind != Kind::restart_receiver) {
      check_monotone(entries[i], CreditCounters::of(receiver_.of(i)));
    }
  }
}

void IncastModel::audit() const {
  receiver_.check_invariants();
  for (std::uint32_t s = 0; s < shape_.senders; ++s) {
    const Host& host = hosts_[s];
    host.credit.check_invariants();
    TENTQ_CHECK(host.credit.in_flight() == host.in_flight.size());
    // Until the restarted host's HELLO nothing of it can be taken for its earlier life's.
    if (receiver_.of(s).epoch != host.epoch) continue;
    check_credit_between(host.credit, receiver_, s, epoch_, now_ns_);
    std::uint64_t in_flight = 0;
    for (std::size_t i = 0; i < host.in_flight.size(); ++i) {
      if (host.in_flight[i].receiver_epoch == epoch_) in_flight += 1;
    }
    TENTQ_CHECK(in_flight <= receiver_.most_in_flight_of(s));
    if (host.credit.receiver_epoch() == epoch_ && host.credit.uncredited() == 0) {
      TENTQ_CHECK(in_flight <= receiver_.outstanding_of(s));
    }
  }
}

// One tick in which every chunk ends, and all demands and grants arrive in order or none does.
// Links are there: without one there is nothing to send on.
void IncastModel::step_fairly(bool messages) {
  for (std::uint32_t s = 0; s < shape_.senders; ++s) {
    if (!hosts_[s].told) say_hello(s);
  }
  settle();
  for (std::uint32_t s = 0; messages && s < shape_.senders; ++s) {
    Host& host = hosts_[s];
    while (!host.demands.empty()) take_demand(s, host.demands.take(0));
    settle();
    while (!host.grants.empty()) take_grant(s, host.grants.take(0));
  }
  for (std::uint32_t s = 0; s < shape_.senders; ++s) {
    while (can_dispatch(s)) dispatch(s);
  }
  for (std::uint32_t s = 0; s < shape_.senders; ++s) {
    while (!hosts_[s].in_flight.empty()) end_chunk(s);
  }
  now_ns_ += kTick_ns;
  settle();
}

void IncastModel::must_proceed() {
  IncastModel(*this).must_proceed(false);
  must_proceed(true);
}

void IncastModel::must_proceed(bool messages) {
  // A life that ended at one end alone is noticed within a ttl, silence as well; then two demands,
  // and a turn for each of those before.
  const auto ttl = static_cast<std::uint32_t>(sender_rules().ttl_ns / kTick_ns);
  const std::uint32_t first = ttl + 2 + shape_.senders;
  std::array<std::uint32_t, kSenders> queued{};
  for (std::uint32_t s = 0; s < shape_.senders; ++s) queued[s] = hosts_[s].queued;
  for (std::uint32_t i = 0; i < first; ++i) step_fairly(messages);
  for (std::uint32_t s = 0; s < shape_.senders; ++s) {
    TENTQ_CHECK(queued[s] == 0 || hosts_[s].queued < queued[s]);
  }
  for (std::uint32_t i = 0; i < 2 * shape_.senders * shape_.chunks; ++i) step_fairly(messages);
  for (const Host& host : hosts_) TENTQ_CHECK(host.queued == 0);
  if (messages) TENTQ_CHECK(receiver_.outstanding() == 0);
}

// Numbers and counters as differences: two states that differ in nothing else go on alike.
std::uint64_t IncastModel::hash() const {
  std::uint64_t hash = receiver_.hash(0, now_ns_);
  for (std::uint32_t s = 0; s < shape_.senders; ++s) {
    const Host& host = hosts_[s];
    hash = host.credit.hash(hash, now_ns_);
    hash = fold(hash,
                host.queued | std::uint64_t{host.told} << 32 | std::uint64_t{host.restarts} << 40);
    hash = fold(hash, epoch_ - host.credit.receiver_epoch());
    for (std::size_t i = 0; i < host.in_flight.size(); ++i) {
      const Chunk& chunk = host.in_flight[i];
      hash = fold(hash, std::uint64_t{chunk.mark.life == host.credit.life()} << 32 |
                            (epoch_ - chunk.receiver_epoch));
    }
    hash = fold(hash, host.in_flight.size());
    hash = hash_messages(hash, s);
  }
  return fold(hash, copies_ << 8 | receiver_restarts_);
}

std::uint64_t IncastModel::hash_messages(std::uint64_t hash, std::uint32_t s) const {
  const Host& host = hosts_[s];
  const CreditReceiver::Sender& entry = receiver_.of(s);
  Lives lives;
  lives.add(host.credit.nonce());
  lives.add(entry.nonce);
  for (std::size_t i = 0; i < host.demands.size(); ++i) lives.add(host.demands[i].nonce);
  for (std::size_t i = 0; i < host.grants.size(); ++i) lives.add(host.grants[i].nonce);
  const auto add = [&](std::uint64_t nonce, std::uint64_t bytes) {
    hash = fold(hash, lives.rank(nonce));
    const bool same = nonce >> 32 == host.credit.life();
    hash = fold(hash, same ? host.credit.nonce() - nonce : nonce & 0xffff'ffff);
    hash = fold(hash, same ? host.credit.freed() - bytes : bytes);
  };
  hash = fold(hash, host.epoch - entry.epoch);
  add(entry.nonce, entry.freed);
  for (std::size_t i = 0; i < host.demands.size(); ++i) {
    const PeerDemand& demand = host.demands[i];
    hash = fold(hash, (host.epoch - demand.sender_epoch) << 32 | (epoch_ - demand.receiver_epoch));
    add(demand.nonce, demand.freed);
    hash = fold(fold(hash, demand.sent - demand.freed), demand.uncredited);
    for (const std::uint64_t wanted : demand.wanted) hash = fold(hash, wanted);
  }
  hash = fold(hash, host.demands.size());
  for (std::size_t i = 0; i < host.grants.size(); ++i) {
    const PeerGrant& grant = host.grants[i];
    hash = fold(hash, (host.epoch - grant.sender_epoch) << 32 | (epoch_ - grant.receiver_epoch));
    add(grant.nonce, grant.limit);
    hash = fold(hash, grant.window);
  }
  return fold(hash, host.grants.size());
}

std::string IncastModel::name(const Action& action) const {
  static constexpr const char* kNames[] = {"tick",           "receiver restarts",
                                           "dispatches",     "a chunk ends",
                                           "hears HELLO",    "sender restarts",
                                           "demand arrives", "demand arrives, a copy stays",
                                           "grant arrives",  "grant arrives, a copy stays"};
  const std::string what = kNames[static_cast<std::size_t>(action.kind)];
  if (action.kind == Kind::tick || action.kind == Kind::restart_receiver) return what;
  const std::string who = "sender " + std::to_string(action.sender) + ": " + what;
  return action.kind < Kind::demand ? who
                                    : who + " (number " + std::to_string(action.message) + ")";
}

std::string IncastModel::text() const {
  static constexpr const char* kStates[] = {"legacy", "active", "stale"};
  std::string all = "outstanding " + std::to_string(receiver_.outstanding());
  for (const Host& host : hosts_) {
    const CreditSender& credit = host.credit;
    all += std::string("; ") + kStates[static_cast<std::size_t>(credit.state())] + " life " +
           std::to_string(credit.life()) + " limit/sent/freed " + std::to_string(credit.limit()) +
           "/" + std::to_string(credit.sent()) + "/" + std::to_string(credit.freed()) + " beside " +
           std::to_string(credit.uncredited());
  }
  return all;
}

}  // namespace tentq::core
