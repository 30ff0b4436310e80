#include "daemon/core/credits/receiver.h"

#include <algorithm>

#include "daemon/core/amounts.h"
#include "proto/check.h"

namespace tentq::core {

CreditReceiver::CreditReceiver(const CreditRules& rules, CreditPool pool, std::uint32_t senders,
                               std::uint64_t epoch, std::int64_t now_ns)
    : rules_(rules),
      pool_(pool),
      epoch_(epoch),
      senders_(senders),
      turns_(senders, rules.weights, rules.chunk_bytes),
      owed_(1, senders),
      boot_ends_ns_(now_ns + rules.receiver_ttl_ns()) {
  rate_.reset(now_ns);
  follow_rate();
}

void CreditReceiver::count(const Sender& sender) {
  outstanding_ += sender.outstanding();
  held_ += sender.held();
}

void CreditReceiver::uncount(const Sender& sender) {
  TENTQ_CHECK(sender.outstanding() <= outstanding_ && sender.held() <= held_);
  outstanding_ -= sender.outstanding();
  held_ -= sender.held();
}

void CreditReceiver::attach(std::uint32_t sender, std::uint64_t sender_epoch, bool speaks_credits) {
  if (senders_[sender].attached && senders_[sender].epoch == sender_epoch) return;
  detach(sender);
  senders_[sender].attached = true;
  senders_[sender].speaks = speaks_credits;
  senders_[sender].epoch = sender_epoch;
  senders_[sender].window = 2 * rules_.chunk_bytes;
  (speaks_credits ? speaking_ : legacy_) += 1;
}

void CreditReceiver::detach(std::uint32_t sender) {
  if (!senders_[sender].attached) return;
  end_life(sender);
  (senders_[sender].speaks ? speaking_ : legacy_) -= 1;
  senders_[sender] = {};
  allocate();
}

// Everything from outside; an honest sender's counters only rise, and within what it was granted.
bool CreditReceiver::is_news(const Sender& sender, const PeerDemand& demand) const {
  if (!sender.attached || demand.sender_epoch != sender.epoch) return false;
  if (demand.receiver_epoch != epoch_ || demand.pool != pool_) return false;
  if (demand.nonce <= sender.nonce || demand.freed > demand.sent) return false;
  if (demand.nonce >> 32 != sender.life()) return demand.sent == 0;
  // Its life has ended here: what was granted in it counts no more, so neither does it.
  if (!sender.live) return false;
  return demand.sent <= sender.limit && demand.sent >= sender.sent && demand.freed >= sender.freed;
}

bool CreditReceiver::take_demand(std::uint32_t index, const PeerDemand& demand,
                                 std::int64_t now_ns) {
  advance(now_ns);
  if (index >= senders_.size() || !is_news(senders_[index], demand)) {
    dropped_demands_ += 1;
    return false;
  }
  Sender& sender = senders_[index];
  uncount(sender);
  // No honest one has more beside its credit than the largest window or credit that it had.
  const std::uint64_t most_beside =
      std::max({rules_.legacy_bytes, sender.window, sender.carried, sender.outstanding()});
  sender.uncredited = sender.carried = std::min(demand.uncredited, most_beside);
  if (demand.nonce >> 32 != sender.life()) sender.limit = 0;
  sender.nonce = demand.nonce;
  sender.sent = demand.sent;
  sender.freed = demand.freed;
  sender.heard_ns = now_ns;
  sender.live = true;
  count(sender);
  over_ = std::min(over_, outstanding_);
  if (!sender.speaks) {
    sender.speaks = true;
    legacy_ -= 1;
    speaking_ += 1;
  }
  next_end_ns_ = std::min(next_end_ns_, now_ns + rules_.receiver_ttl_ns());
  take_wants(sender, demand);
  stand_in_turns(index);
  owed_.add(0, index);  // also when there is nothing to give: it is a word of the receiver
  if (held_ == 0) rate_.resume(now_ns);
  allocate();
  note_wants(now_ns);
  return true;
}

// Credit that it has covers its most urgent work first. Who could not use more gets a chunk to go
// on with, and no more.
void CreditReceiver::take_wants(Sender& sender, const PeerDemand& demand) {
  const std::uint64_t unused = sender.limit - sender.sent;
  std::uint64_t covered = unused;
  std::uint64_t wanted = 0;
  for (std::size_t c = 0; c < kMaxClasses; ++c) {
    const std::uint64_t part = std::min(covered, demand.wanted[c]);
    covered -= part;
    sender.unmet[c] = demand.uplink_busy != 0 ? 0 : demand.wanted[c] - part;
    wanted = plus_saturating(wanted, demand.wanted[c]);
  }
  const bool idle = sender.sent == sender.freed && sender.uncredited == 0;
  sender.need = idle ? minus_saturating(std::min(wanted, rules_.chunk_bytes), unused) : 0;
}

void CreditReceiver::stand_in_turns(std::uint32_t index) {
  const Sender& sender = senders_[index];
  turns_.set_hungry(index, sender.need != 0);
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    turns_.set_wanting(index, c, sender.unmet[c] != 0);
  }
}

// What it had returns to the pool: every grant of this life has ended at the sender, too, since it
// counts its ttl from the sending of the demand that was heard here last, or of an earlier one.
void CreditReceiver::end_life(std::uint32_t index) {
  Sender& sender = senders_[index];
  uncount(sender);
  sender.carried = std::max(sender.carried, sender.outstanding());
  sender.limit = sender.sent = sender.freed = sender.uncredited = sender.need = 0;
  sender.unmet = {};
  sender.live = false;
  over_ = std::min(over_, outstanding_);
  stand_in_turns(index);
  owed_.remove(0, index);
}

void CreditReceiver::advance(std::int64_t now_ns) {
  const bool boot_over = booting_ && now_ns >= boot_ends_ns_;
  if (boot_over) booting_ = false;
  if (now_ns < next_end_ns_ && !boot_over) return;
  next_end_ns_ = kNever_ns;
  for (std::uint32_t i = 0; i < senders_.size(); ++i) {
    if (!senders_[i].live) continue;
    const std::int64_t ends_ns = senders_[i].heard_ns + rules_.receiver_ttl_ns();
    if (now_ns >= ends_ns) {
      end_life(i);
    } else {
      next_end_ns_ = std::min(next_end_ns_, ends_ns);
    }
  }
  allocate();
}

std::int64_t CreditReceiver::next_deadline_ns() const {
  return booting_ ? std::min(next_end_ns_, boot_ends_ns_) : next_end_ns_;
}

void CreditReceiver::give(std::uint32_t index, std::uint64_t bytes, std::uint32_t first_class) {
  Sender& sender = senders_[index];
  uncount(sender);
  sender.limit += bytes;
  count(sender);
  sender.need = minus_saturating(sender.need, bytes);
  for (std::uint32_t c = first_class; c < kMaxClasses && bytes != 0; ++c) {
    const std::uint64_t part = std::min(bytes, sender.unmet[c]);
    sender.unmet[c] -= part;
    bytes -= part;
  }
  stand_in_turns(index);
  owed_.add(0, index);
}

// First a chunk for each that has nothing to go on with, in rotation and up to 1.5 P, so that
// nobody waits for longer than the others' chunks take. Then by class and turn, up to P, where what
// is in flight without credit counts.
void CreditReceiver::allocate() {
  for (std::uint32_t i = turns_.next_hungry(); i != kNone; i = turns_.next_hungry()) {
    if (outstanding_ + senders_[i].need > cap_bytes()) break;
    turns_.fed(i);
    give(i, senders_[i].need, 0);
  }
  if (booting_) return;  // a chunk each, until it is known who is there
  while (held_ < pool_bytes_) {
    const CreditTurns::Turn turn = turns_.next();
    if (turn.sender == kNone) return;
    // Chunk by chunk, or in longer steps where there is enough for many turns.
    const std::uint64_t chunk = rules_.chunk_bytes;
    const std::uint64_t left = pool_bytes_ - held_;
    const std::uint64_t step = left / (4 * turns_.wanting(turn.cls)) / chunk * chunk;
    const std::uint64_t bytes =
        std::min(senders_[turn.sender].unmet[turn.cls], std::max(step, chunk));
    if (bytes > left) return;
    turns_.pay(turn, bytes);
    give(turn.sender, bytes, turn.cls);
  }
}

void CreditReceiver::ingested(std::uint64_t bytes, std::int64_t now_ns) {
  advance(now_ns);
  const bool due = rate_.is_due(now_ns, LaneRate::kLeastPeriod_ns);
  if (due) {
    const bool bounded = unmet_since_ns_ <= period_ns_;
    if (bounded) bounded_ns_ = now_ns;
    period_ns_ = rate_.last_ns();
    rate_.close(bounded);
  }
  rate_.count(now_ns, bytes);
  if (!due) return;
  bounded_ = now_ns - bounded_ns_ < LaneRate::kRemembered_ns;
  follow_rate();
  allocate();
  note_wants(now_ns);
}

// From here on somebody wants more than it has, or nobody does.
void CreditReceiver::note_wants(std::int64_t now_ns) {
  if (!turns_.anybody()) {
    unmet_since_ns_ = kNever_ns;
  } else if (unmet_since_ns_ == kNever_ns) {
    unmet_since_ns_ = now_ns;
  }
}

void CreditReceiver::set_round_trip(std::int64_t round_trip_ns) {
  round_trip_ns_ = std::max<std::int64_t>(0, round_trip_ns);
  follow_rate();
  allocate();
}

void CreditReceiver::follow_rate() {
  constexpr double kMostPool = 1ull << 50;
  const double rate = rate_.highest();
  const double turnaround_ns = static_cast<double>(round_trip_ns_ + rules_.demand_gap_ns) +
                               static_cast<double>(rules_.target_queue_ns);
  const double in_time = std::min(kMostPool, rate * turnaround_ns);
  pool_bytes_ =
      rate == 0 ? rules_.boot_bytes : static_cast<std::uint64_t>(in_time) + 2 * rules_.chunk_bytes;
  // Where demand was the limit the rate says nothing of what memory could take in.
  if (!bounded_) pool_bytes_ = std::max(pool_bytes_, rules_.boot_bytes);
  over_ = outstanding_ > cap_bytes() ? outstanding_ : 0;
}

std::uint64_t CreditReceiver::stale_window() const {
  return std::max(2 * rules_.chunk_bytes, pool_bytes_ / std::max(1u, speaking_));
}

std::optional<PeerGrant> CreditReceiver::next_grant(std::uint32_t* sender) {
  const std::uint32_t index = owed_.next(0, last_owed_, [](std::uint32_t) { return true; });
  if (index == kNone) return std::nullopt;
  owed_.remove(0, index);
  last_owed_ = index;
  Sender& to = senders_[index];
  PeerGrant grant;
  grant.sender_epoch = to.epoch;
  grant.receiver_epoch = epoch_;
  grant.nonce = to.nonce;
  grant.pool = pool_;
  grant.ttl_ms = static_cast<std::uint32_t>(rules_.ttl_ns / 1'000'000);
  grant.limit = to.limit;
  grant.window = stale_window();
  to.window = std::max(to.window, grant.window);
  *sender = index;
  return grant;
}

}  // namespace tentq::core
