// The sending end of receiver credits: how much one host may have in flight towards one receiver's
// pool. Events in, a demand out when one is due; time is passed in. Conductor thread.
// Bytes and nanoseconds.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "daemon/core/credits/rules.h"
#include "proto/peer.h"

namespace tentq::core {

enum class CreditState : std::uint8_t {
  legacy,  // the receiver does not speak credits: a fixed window, and a demand now and then
  active,  // the receiver's grants are the window
  stale,   // it was asked and was silent for a ttl: the window that it told before
};

// What a chunk in flight was taken from; given back with freed().
struct CreditMark {
  std::uint32_t life = 0;  // 0: no credit
};

// What waits for this receiver and pool, when a demand is made.
struct CreditWant {
  std::array<std::uint64_t, kMaxClasses> wanted{};  // queued, by class
  std::uint64_t oldest_ns = 0;                      // age of the oldest
  bool uplink_busy = false;                         // more credit could not be used now
};

// Limit, Sent and Freed belong to a *life* of the credit and only ever rise in it. A life ends when
// nothing was heard for a ttl, or with an epoch: what was granted in it is void, messages of it are
// dropped, and what is still in flight of it stands beside the credit of the next one, which it
// lessens. So no message, however late, gives the same credit twice.
class CreditSender {
 public:
  // `epoch`: of this host. The object outlives links and the receiver's restarts: made anew in the
  // same epoch, it would number its lives from the start, and the receiver would drop its demands.
  CreditSender(const CreditRules& rules, CreditPool pool, std::uint64_t epoch);

  // A HELLO of the receiver; there is no room before the first. Another epoch than before voids
  // everything, also the window that was told; the same one changes nothing.
  void connect(std::uint64_t receiver_epoch, bool speaks_credits, std::int64_t now_ns);
  // Whether something waits to be dispatched there. Turning true asks at once.
  void set_waiting(bool waiting, std::int64_t now_ns);
  // More waits than the last demand said: one is due as soon as the gap allows, if the receiver
  // answers.
  void ask() { urgent_ = urgent_ || (waiting_ && state_ == CreditState::active); }

  // Bytes that may be dispatched now. legacy and stale: window − in flight. active: Limit − Sent −
  // what is in flight beside it.
  std::uint64_t room(std::int64_t now_ns);
  // A chunk takes its window, lane and credit in one step; `bytes` ≤ room(now), above 0.
  CreditMark consume(std::uint64_t bytes, std::int64_t now_ns);
  // It was not handed over after all: the same step, before anything else.
  void roll_back(CreditMark mark, std::uint64_t bytes);
  // It is quiet: its bytes are where they belong, or none will be any more.
  void freed(CreditMark mark, std::uint64_t bytes);

  // kNever_ns: none. May lie in the past.
  std::int64_t demand_due_ns() const;
  // Returns credit that cannot be used: all of it when nothing waits, all but a chunk when the
  // uplink is busy, else what is more than waits. It is added to Sent and Freed. The header is the
  // caller's to fill.
  PeerDemand take_demand(const CreditWant& want, std::int64_t now_ns);
  // False: it is of another epoch, pool or life, or answers a demand that is older than its ttl.
  // That is normal after losses and restarts; counted, and without effect.
  bool take_grant(const PeerGrant& grant, std::int64_t now_ns);
  // When something changes by itself: a demand is due, a life ends, silence has lasted for a ttl.
  // kNever_ns: nothing does.
  std::int64_t next_deadline_ns() const;
  // What is over by now ends. Every other event that is given a time does it, too.
  void advance(std::int64_t now_ns) {
    if (now_ns >= std::min(life_ends_ns_, silent_ns_)) pass_time(now_ns);
  }

  CreditState state() const { return state_; }
  std::uint64_t limit() const { return limit_; }
  std::uint64_t sent() const { return sent_; }
  std::uint64_t freed() const { return freed_; }
  std::uint64_t uncredited() const { return uncredited_; }
  std::uint64_t in_flight() const { return uncredited_ + (sent_ - freed_); }
  // In flight when the receiver is silent: max(2S, what it told last).
  std::uint64_t stale_window() const { return stale_window_; }
  std::uint32_t life() const { return life_; }
  std::uint64_t receiver_epoch() const { return receiver_epoch_; }
  std::uint64_t nonce() const { return std::uint64_t{life_} << 32 | serial_; }  // last demand
  // When the credit is void: the echoed demand's time + ttl. kNever_ns: nobody was asked.
  std::int64_t life_ends_ns() const { return life_ends_ns_; }
  std::uint64_t dropped_grants() const { return dropped_grants_; }

  // I2, I3, and that no state contradicts itself.
  void check_invariants() const;
  // Over what decides: times as distances from now, counters and numbers as differences.
  std::uint64_t hash(std::uint64_t seed, std::int64_t now_ns) const;

 private:
  // When demands were sent, at most one each eighth of a ttl: an answer to one in between counts
  // from the one before, which errs on the safe side.
  struct Asked {
    std::uint32_t serial = 0;  // 0: none
    std::int64_t at_ns = 0;
  };
  static constexpr std::size_t kAsked = 10;

  bool has_work() const {
    return waiting_ || uncredited_ != 0 || limit_ != freed_ || freed_ != told_freed_;
  }
  std::uint64_t room_of_life() const;
  void begin_life();
  void pass_time(std::int64_t now_ns);
  void return_unused(const CreditWant& want);
  void note_asked(std::int64_t now_ns);
  const Asked* asked_at_or_before(std::uint32_t serial) const;

  CreditRules rules_;
  CreditPool pool_;
  std::uint64_t epoch_;
  std::uint64_t receiver_epoch_ = 0;
  CreditState state_ = CreditState::legacy;
  bool connected_ = false;
  bool waiting_ = false;
  bool urgent_ = false;   // a demand is due as soon as the gap allows
  bool granted_ = false;  // in this life
  std::uint32_t life_ = 1;
  std::uint32_t serial_ = 0;         // of the last demand in this life
  std::uint32_t window_serial_ = 0;  // that the grant answered which told the window
  std::uint64_t limit_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t freed_ = 0;
  std::uint64_t told_sent_ = 0;  // in the last demand
  std::uint64_t told_freed_ = 0;
  std::uint64_t uncredited_ = 0;
  std::uint64_t stale_window_;
  std::int64_t life_ends_ns_ = kNever_ns;
  std::int64_t silent_ns_ = kNever_ns;  // when the receiver will have been silent for a ttl
  std::int64_t last_demand_ns_ = 0;
  std::uint64_t dropped_grants_ = 0;
  std::array<Asked, kAsked> asked_{};
  std::uint32_t next_asked_ = 0;
};

}  // namespace tentq::core
