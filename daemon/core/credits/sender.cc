#include "daemon/core/credits/sender.h"

#include <algorithm>

#include "daemon/core/amounts.h"
#include "daemon/core/hash.h"
#include "proto/check.h"

namespace tentq::core {

CreditSender::CreditSender(const CreditRules& rules, CreditPool pool, std::uint64_t epoch)
    : rules_(rules), pool_(pool), epoch_(epoch), stale_window_(2 * rules.chunk_bytes) {}

void CreditSender::connect(std::uint64_t receiver_epoch, bool speaks_credits, std::int64_t now_ns) {
  if (connected_ && receiver_epoch == receiver_epoch_) return;
  begin_life();
  connected_ = true;
  receiver_epoch_ = receiver_epoch;
  silent_ns_ = kNever_ns;
  stale_window_ = 2 * rules_.chunk_bytes;
  state_ = speaks_credits ? CreditState::active : CreditState::legacy;
  urgent_ = speaks_credits;
  last_demand_ns_ = now_ns - (speaks_credits ? rules_.demand_gap_ns : rules_.probe_ns);
}

void CreditSender::set_waiting(bool waiting, std::int64_t now_ns) {
  advance(now_ns);  // before there is work: nobody asked in vain
  if (waiting && !waiting_) urgent_ = true;
  waiting_ = waiting;
}

std::uint64_t CreditSender::room_of_life() const {
  if (!connected_) return 0;
  switch (state_) {
    case CreditState::legacy: return minus_saturating(rules_.legacy_bytes, in_flight());
    case CreditState::active: return minus_saturating(limit_ - sent_, uncredited_);
    case CreditState::stale: return minus_saturating(stale_window_, in_flight());
  }
  return 0;
}

std::uint64_t CreditSender::room(std::int64_t now_ns) {
  advance(now_ns);
  return room_of_life();
}

CreditMark CreditSender::consume(std::uint64_t bytes, std::int64_t now_ns) {
  advance(now_ns);
  TENTQ_CHECK(bytes != 0 && bytes <= room_of_life());
  if (state_ != CreditState::active) {
    uncredited_ += bytes;
    return {};
  }
  sent_ += bytes;
  return {life_};
}

void CreditSender::roll_back(CreditMark mark, std::uint64_t bytes) {
  // What a demand has told is not taken back: then the credit is returned instead.
  if (mark.life == life_ && sent_ - told_sent_ >= bytes && sent_ - freed_ >= bytes) {
    sent_ -= bytes;
    return;
  }
  freed(mark, bytes);
}

void CreditSender::freed(CreditMark mark, std::uint64_t bytes) {
  if (mark.life == life_) {
    TENTQ_CHECK(bytes <= sent_ - freed_);
    freed_ += bytes;
  } else {
    TENTQ_CHECK(bytes <= uncredited_);
    uncredited_ -= bytes;
  }
  // It has run dry: what was freed is worth a demand before its time.
  if (waiting_ && state_ == CreditState::active && room_of_life() < rules_.chunk_bytes) {
    urgent_ = true;
  }
  // Nothing of it is in use any more, and others may be waiting for it. A little may wait.
  const bool worth_it = freed_ - told_freed_ >= rules_.chunk_bytes / 4;
  if (!waiting_ && granted_ && sent_ == freed_ && worth_it) urgent_ = true;
}

// What is in flight stays so, beside the next life's credit.
void CreditSender::begin_life() {
  uncredited_ += sent_ - freed_;
  limit_ = sent_ = freed_ = told_sent_ = told_freed_ = 0;
  life_ += 1;
  TENTQ_CHECK(life_ != 0);
  serial_ = window_serial_ = 0;
  granted_ = false;
  life_ends_ns_ = kNever_ns;
  asked_ = {};
  next_asked_ = 0;
}

// The life's credit is void, or who had work asked and was not answered: both may come together.
void CreditSender::pass_time(std::int64_t now_ns) {
  const bool was_silent = now_ns >= silent_ns_;
  const bool asked_in_vain = was_silent && has_work();
  if (was_silent) silent_ns_ = kNever_ns;
  if (now_ns >= life_ends_ns_ || asked_in_vain) {
    const bool goes_on = has_work();
    begin_life();
    if (goes_on) urgent_ = true;
  }
  if (asked_in_vain && state_ == CreditState::active) state_ = CreditState::stale;
}

std::int64_t CreditSender::demand_due_ns() const {
  if (!connected_ || !has_work()) return kNever_ns;
  if (state_ == CreditState::legacy) return last_demand_ns_ + rules_.probe_ns;
  return last_demand_ns_ + (urgent_ ? rules_.demand_gap_ns : rules_.demand_ns);
}

std::int64_t CreditSender::next_deadline_ns() const {
  return std::min({demand_due_ns(), life_ends_ns_, silent_ns_});
}

void CreditSender::return_unused(const CreditWant& want) {
  std::uint64_t waits = 0;
  for (const std::uint64_t bytes : want.wanted) waits = plus_saturating(waits, bytes);
  if (want.uplink_busy) waits = std::min(waits, rules_.chunk_bytes);
  // What is in flight beside the credit lessens what can be used of it now, not what it is for.
  const std::uint64_t kept = waits == 0 ? 0 : plus_saturating(waits, uncredited_);
  const std::uint64_t returned = minus_saturating(limit_ - sent_, kept);
  sent_ += returned;
  freed_ += returned;
}

PeerDemand CreditSender::take_demand(const CreditWant& want, std::int64_t now_ns) {
  advance(now_ns);
  if (serial_ == UINT32_MAX) begin_life();
  return_unused(want);
  serial_ += 1;
  note_asked(now_ns);
  if (life_ends_ns_ == kNever_ns) life_ends_ns_ = now_ns + rules_.ttl_ns;
  if (silent_ns_ == kNever_ns) silent_ns_ = now_ns + rules_.ttl_ns;
  told_sent_ = sent_;
  told_freed_ = freed_;
  last_demand_ns_ = now_ns;
  urgent_ = false;

  PeerDemand demand;
  demand.sender_epoch = epoch_;
  demand.receiver_epoch = receiver_epoch_;
  demand.nonce = nonce();
  demand.pool = pool_;
  demand.uplink_busy = want.uplink_busy ? 1 : 0;
  demand.sent = sent_;
  demand.freed = freed_;
  demand.uncredited = uncredited_;
  demand.oldest_ns = want.oldest_ns;
  std::copy(want.wanted.begin(), want.wanted.end(), demand.wanted);
  return demand;
}

void CreditSender::note_asked(std::int64_t now_ns) {
  const Asked& last = asked_[(next_asked_ + kAsked - 1) % kAsked];
  if (last.serial != 0 && now_ns - last.at_ns < rules_.ttl_ns / 8) return;
  asked_[next_asked_] = {serial_, now_ns};
  next_asked_ = static_cast<std::uint32_t>((next_asked_ + 1) % kAsked);
}

const CreditSender::Asked* CreditSender::asked_at_or_before(std::uint32_t serial) const {
  const Asked* found = nullptr;
  for (const Asked& each : asked_) {
    if (each.serial == 0 || each.serial > serial) continue;
    if (found == nullptr || each.serial > found->serial) found = &each;
  }
  return found;
}

bool CreditSender::take_grant(const PeerGrant& grant, std::int64_t now_ns) {
  advance(now_ns);
  const std::uint32_t serial = static_cast<std::uint32_t>(grant.nonce);
  const bool is_ours = connected_ && grant.sender_epoch == epoch_ &&
                       grant.receiver_epoch == receiver_epoch_ && grant.pool == pool_ &&
                       grant.nonce >> 32 == life_ && serial <= serial_;
  const Asked* asked = is_ours ? asked_at_or_before(serial) : nullptr;
  const std::int64_t ttl_ns = std::min(std::int64_t{grant.ttl_ms} * 1'000'000, rules_.ttl_ns);
  if (asked == nullptr || now_ns >= asked->at_ns + ttl_ns) {
    dropped_grants_ += 1;
    return false;
  }
  limit_ = std::max(limit_, grant.limit);
  const std::int64_t ends_ns = asked->at_ns + ttl_ns;
  life_ends_ns_ = granted_ ? std::max(life_ends_ns_, ends_ns) : ends_ns;
  granted_ = true;
  silent_ns_ = serial == serial_ ? kNever_ns : now_ns + rules_.ttl_ns;
  if (serial >= window_serial_) {
    window_serial_ = serial;
    stale_window_ = std::max(2 * rules_.chunk_bytes, grant.window);
  }
  state_ = CreditState::active;
  return true;
}

void CreditSender::check_invariants() const {
  TENTQ_CHECK(sent_ <= limit_);                               // I2, I3
  TENTQ_CHECK(freed_ <= sent_);                               // I3
  TENTQ_CHECK(told_sent_ <= sent_ && told_freed_ <= freed_);  // I4
  TENTQ_CHECK(granted_ || limit_ == 0);
  TENTQ_CHECK(!granted_ || state_ == CreditState::active);
  TENTQ_CHECK(!granted_ || (serial_ != 0 && life_ends_ns_ != kNever_ns));
  TENTQ_CHECK(stale_window_ >= 2 * rules_.chunk_bytes);
}

std::uint64_t CreditSender::hash(std::uint64_t seed, std::int64_t now_ns) const {
  const auto distance = [now_ns](std::int64_t time_ns) {
    return time_ns == kNever_ns ? UINT64_MAX : static_cast<std::uint64_t>(time_ns - now_ns);
  };
  std::uint64_t hash = seed;
  for (const std::uint64_t value :
       {limit_ - freed_, sent_ - freed_, sent_ - told_sent_, freed_ - told_freed_, uncredited_,
        stale_window_, std::uint64_t{serial_ - window_serial_}, distance(life_ends_ns_),
        distance(silent_ns_)}) {
    hash = fold(hash, value);
  }
  hash = fold(hash, static_cast<std::uint64_t>(state_) | std::uint64_t{connected_} << 8 |
                        std::uint64_t{waiting_} << 9 | std::uint64_t{urgent_} << 10 |
                        std::uint64_t{granted_} << 11);
  // A demand that is due is due, however long ago the last one was.
  const std::int64_t longest_ns =
      state_ == CreditState::legacy ? rules_.probe_ns : rules_.demand_ns;
  hash = fold(hash, static_cast<std::uint64_t>(std::min(now_ns - last_demand_ns_, longest_ns)));
  for (std::size_t i = 0; i < kAsked; ++i) {
    const Asked& each = asked_[(next_asked_ + i) % kAsked];
    if (each.serial == 0 || now_ns >= each.at_ns + rules_.ttl_ns) continue;
    hash = fold(fold(hash, serial_ - each.serial), distance(each.at_ns));
  }
  return hash;
}

}  // namespace tentq::core
