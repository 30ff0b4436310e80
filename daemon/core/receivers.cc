// Credit of receivers, and the lanes that wait for it. See receivers.h.
#include "daemon/core/receivers.h"

#include <algorithm>

#include "daemon/core/amounts.h"
#include "daemon/core/hash.h"
#include "proto/check.h"

namespace tentq::core {
namespace {

constexpr std::uint32_t kInternalClass = static_cast<std::uint32_t>(ClassId::internal);
constexpr std::uint32_t kLeastUrgent = static_cast<std::uint32_t>(ClassId::background);

}  // namespace

Receivers::Receivers(const CreditTerms& terms, Lanes* lanes)
    : rules_(terms.rules), lanes_(lanes), receivers_(terms.receivers) {
  for (Receiver& receiver : receivers_) {
    receiver.pools.reserve(kPools);
    for (const CreditPool pool : {CreditPool::user, CreditPool::internal}) {
      receiver.pools.push_back({.credit = CreditSender(rules_, pool, terms.epoch)});
    }
  }
}

void Receivers::name(std::uint32_t lane, ReceiverId id) {
  const std::uint16_t before = (*lanes_)[lane].receiver;
  if (before == id.value()) return;
  TENTQ_CHECK(!id.valid() || id.value() < receivers_.size());
  for (const std::uint16_t each : {before, id.value()}) {
    if (each == kNoReceiver) continue;
    release(each, false);
    release(each, true);
  }
  if (before != kNoReceiver) receivers_[before].lanes.remove(lane);
  if (id.valid()) receivers_[id.value()].lanes.add(lane);
  lanes_->name_receiver(lane, id.value());
}

void Receivers::connect(ReceiverId id, std::uint64_t epoch, bool speaks_credits,
                        std::int64_t now_ns) {
  if (!id.valid() || id.value() >= receivers_.size()) return;
  for (Pool& pool : receivers_[id.value()].pools) {
    pool.credit.connect(epoch, speaks_credits, now_ns);
  }
  lanes_->touch(id.value());
  for (const bool internal : {false, true}) release_if_room(id.value(), internal, now_ns);
}

void Receivers::take_grant(ReceiverId id, const PeerGrant& grant, std::int64_t now_ns) {
  if (!id.valid() || id.value() >= receivers_.size()) return;
  const bool internal = grant.pool == CreditPool::internal;
  receivers_[id.value()].pools[internal ? 1 : 0].credit.take_grant(grant, now_ns);
  lanes_->touch(id.value());
  release_if_room(id.value(), internal, now_ns);
}

bool Receivers::admit(std::uint32_t lane, bool internal, std::uint64_t bytes, std::int64_t now_ns) {
  if (bytes <= pool_of(lane, internal).credit.room(now_ns)) return true;
  hold((*lanes_)[lane].receiver, internal, bytes);
  return false;
}

CreditMark Receivers::consume(std::uint32_t lane, bool internal, std::uint64_t bytes,
                              std::int64_t now_ns) {
  Pool& pool = pool_of(lane, internal);
  const std::int64_t age_ns = now_ns - pool.period_ns;
  if (age_ns >= rules_.demand_ns) {
    pool.sent_before = age_ns < 2 * rules_.demand_ns ? pool.sent_now : 0;
    pool.sent_now = 0;
    pool.period_ns = now_ns;
  }
  pool.sent_now += bytes;
  pool.told = minus_saturating(pool.told, bytes);
  lanes_->touch_receiver(lane);
  return pool.credit.consume(bytes, now_ns);
}

void Receivers::roll_back(std::uint32_t lane, bool internal, CreditMark mark, std::uint64_t bytes,
                          std::int64_t now_ns) {
  pool_of(lane, internal).credit.roll_back(mark, bytes);
  lanes_->touch_receiver(lane);
  release_if_room((*lanes_)[lane].receiver, internal, now_ns);
}

void Receivers::freed(std::uint32_t lane, bool internal, CreditMark mark, std::uint64_t bytes,
                      std::int64_t now_ns) {
  pool_of(lane, internal).credit.freed(mark, bytes);
  lanes_->touch_receiver(lane);
  release_if_room((*lanes_)[lane].receiver, internal, now_ns);
}

void Receivers::hold(std::uint32_t index, bool internal, std::uint64_t bytes) {
  Pool& pool = receivers_[index].pools[internal ? 1 : 0];
  pool.need = bytes;
  pool.ran_dry = true;
  receivers_[index].lanes.for_each(
      [&](std::uint32_t lane) { lanes_->set_dry(lane, internal, true); });
  lanes_->touch(index);
}

void Receivers::release(std::uint32_t index, bool internal) {
  Pool& pool = receivers_[index].pools[internal ? 1 : 0];
  if (pool.need == 0) return;
  pool.need = 0;
  receivers_[index].lanes.for_each(
      [&](std::uint32_t lane) { lanes_->set_dry(lane, internal, false); });
}

void Receivers::release_if_room(std::uint32_t index, bool internal, std::int64_t now_ns) {
  Pool& pool = receivers_[index].pools[internal ? 1 : 0];
  if (pool.need != 0 && pool.need <= pool.credit.room(now_ns)) release(index, internal);
}

void Receivers::let_go(std::uint32_t lane) {
  const std::uint16_t receiver = (*lanes_)[lane].receiver;
  if (receiver == kNoReceiver) return;
  release(receiver, false);
  release(receiver, true);
  lanes_->touch(receiver);
}

void Receivers::let_all_go() {
  for (std::uint32_t r = 0; r < receivers_.size(); ++r) {
    release(r, false);
    release(r, true);
  }
}

void Receivers::pass_time(std::int64_t now_ns) {
  next_ns_ = kNever_ns;
  for (std::uint32_t r = 0; r < receivers_.size(); ++r) {
    Receiver& receiver = receivers_[r];
    if (receiver.due_ns <= now_ns) {
      // What is due from now on is found by next_due().
      receiver.due_ns = kNever_ns;
      for (const bool internal : {false, true}) {
        receiver.pools[internal ? 1 : 0].credit.advance(now_ns);
        release_if_room(r, internal, now_ns);
      }
      lanes_->touch(r);
    }
    next_ns_ = std::min(next_ns_, receiver.due_ns);
  }
}

// It asks at once when it does not have what is queued, or not half of what it keeps: before it
// would have to wait.
void Receivers::ask_if_short(std::uint32_t index, bool internal, std::int64_t now_ns) {
  Pool& pool = receivers_[index].pools[internal ? 1 : 0];
  const std::uint64_t queued = queued_for(index, internal);
  const std::uint64_t room = pool.credit.room(now_ns);
  const bool is_low = room < kept_for(pool, queued, now_ns) / 2;
  pool.credit.set_waiting(queued > room || is_low, now_ns);
  // It has asked, but not for what has come since.
  if (queued > room && queued > pool.told) pool.credit.ask();
}

bool Receivers::next_due(std::int64_t now_ns, std::uint32_t* receiver, bool* internal) {
  const LaneSet& touched = lanes_->touched_receivers();
  while (!touched.empty()) {
    const std::uint32_t index = touched.next_common(touched, 0);
    std::int64_t due_ns = kNever_ns;
    for (const bool each : {false, true}) {
      ask_if_short(index, each, now_ns);
      const CreditSender& credit = receivers_[index].pools[each ? 1 : 0].credit;
      if (credit.demand_due_ns() <= now_ns) {
        *receiver = index;
        *internal = each;
        return true;
      }
      due_ns = std::min(due_ns, credit.next_deadline_ns());
    }
    lanes_->untouch(index);
    receivers_[index].due_ns = due_ns;
    next_ns_ = std::min(next_ns_, due_ns);
  }
  return false;
}

PeerDemand Receivers::take_demand(std::uint32_t index, bool internal, std::uint64_t oldest_ns,
                                  std::int64_t now_ns) {
  Pool& pool = receivers_[index].pools[internal ? 1 : 0];
  CreditWant want = want_of(index, internal, now_ns);
  want.oldest_ns = oldest_ns;
  // Nobody was short of credit: then it is the lanes' windows that bound.
  want.uplink_busy =
      !pool.ran_dry && sum_of(want) != 0 && pool.credit.room(now_ns) >= rules_.chunk_bytes;
  pool.ran_dry = pool.need != 0;
  pool.told = queued_for(index, internal);
  return pool.credit.take_demand(want, now_ns);
}

std::uint64_t Receivers::queued_for(std::uint32_t index, bool internal) const {
  std::uint64_t bytes = 0;
  receivers_[index].lanes.for_each([&](std::uint32_t l) {
    const Lane& lane = (*lanes_)[l];
    if (lane.away) return;
    const std::uint64_t of_internal = lane.classes[kInternalClass].queued;
    bytes += internal ? of_internal : lane.queued_bytes() - of_internal;
  });
  return bytes;
}

// Credit for what comes while more is asked for. What goes there soon is like what went there
// lately: an eighth of two periods is what goes in twice the least time between demands.
std::uint64_t Receivers::kept_for(const Pool& pool, std::uint64_t queued,
                                  std::int64_t now_ns) const {
  const std::int64_t age_ns = now_ns - pool.period_ns;
  std::uint64_t lately = 0;
  if (age_ns < 2 * rules_.demand_ns) lately = pool.sent_now;
  if (age_ns < rules_.demand_ns) lately += pool.sent_before;
  if (lately == 0 && queued == 0) return 0;
  return std::max(rules_.chunk_bytes / 4, lately / 8);
}

CreditWant Receivers::want_of(std::uint32_t index, bool internal, std::int64_t now_ns) const {
  const Receiver& receiver = receivers_[index];
  CreditWant want;
  receiver.lanes.for_each([&](std::uint32_t l) {
    const Lane& lane = (*lanes_)[l];
    if (lane.away) return;
    for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
      if ((c == kInternalClass) == internal) want.wanted[c] += lane.classes[c].queued;
    }
  });
  const Pool& pool = receiver.pools[internal ? 1 : 0];
  want.wanted[internal ? kInternalClass : kLeastUrgent] += kept_for(pool, sum_of(want), now_ns);
  return want;
}

std::uint64_t Receivers::sum_of(const CreditWant& want) {
  std::uint64_t sum = 0;
  for (const std::uint64_t bytes : want.wanted) sum = plus_saturating(sum, bytes);
  return sum;
}

// In flight with a receiver is what its lanes have in flight; who waits for room waits for more
// than there is, and for no more than will be asked for.
void Receivers::check() const {
  for (std::uint32_t r = 0; r < receivers_.size(); ++r) {
    for (const bool internal : {false, true}) {
      const Pool& pool = receivers_[r].pools[internal ? 1 : 0];
      std::uint64_t in_flight = 0;
      receivers_[r].lanes.for_each([&](std::uint32_t l) {
        const Lane& lane = (*lanes_)[l];
        TENTQ_CHECK(lane.receiver == r);
        TENTQ_CHECK((internal ? lane.internal_dry : lane.dry) == (pool.need != 0));
        in_flight += internal ? lane.internal_bytes : lane.in_flight_bytes - lane.internal_bytes;
      });
      pool.credit.check_invariants();
      TENTQ_CHECK(pool.credit.in_flight() == in_flight);
      TENTQ_CHECK(pool.need <= rules_.chunk_bytes);
      TENTQ_CHECK(pool.need <= queued_for(r, internal));
    }
  }
}

std::uint64_t Receivers::hash(std::uint64_t seed, std::int64_t now_ns) const {
  std::uint64_t hash = seed;
  for (const Receiver& receiver : receivers_) {
    for (const Pool& pool : receiver.pools) {
      hash = fold(pool.credit.hash(hash, now_ns), pool.need);
      hash = fold(fold(hash, pool.sent_now), pool.sent_before);
      hash = fold(fold(hash, static_cast<std::uint64_t>(pool.period_ns)), pool.ran_dry ? 1 : 0);
      hash = fold(hash, pool.told);
    }
  }
  return hash;
}

}  // namespace tentq::core
