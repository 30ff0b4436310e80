// The receiving end of receiver credits: how much all hosts together may have in flight towards one
// pool of this one. Demands in, grants out when they are asked for; time is passed in. Conductor
// thread. Bytes and nanoseconds.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/core/credits/rules.h"
#include "daemon/core/credits/turns.h"
#include "daemon/core/lane_rate.h"
#include "proto/peer.h"

namespace tentq::core {

// What may be in flight towards the pool, by what bounds it. Only `outstanding` is under the
// receiver's control, and never above `bound`; the rest is stated beside it.
struct CreditExposure {
  std::uint64_t pool = 0;         // P
  std::uint64_t bound = 0;        // 1.5 P, or what was out when P became less, as long as it is
  std::uint64_t outstanding = 0;  // Σ Limit − Freed
  std::uint64_t uncredited = 0;   // Σ what senders with a life told to be in flight beside it
  std::uint64_t stale = 0;   // Σ most of those that are silent: their window, or what they had
  std::uint64_t legacy = 0;  // Σ windows of those that do not speak credits
  bool booting = false;      // an earlier epoch's credit may still be in flight
};

class CreditReceiver {
 public:
  // `senders`: most hosts that are known at once; they are called by an index below it. `epoch`: of
  // this host's life; a restart is a new object with a new one.
  CreditReceiver(const CreditRules& rules, CreditPool pool, std::uint32_t senders,
                 std::uint64_t epoch, std::int64_t now_ns);

  // A HELLO of the sender's host. For another epoch than before the caller has fenced the old one:
  // nothing of it is in flight. The same epoch changes nothing.
  void attach(std::uint32_t sender, std::uint64_t sender_epoch, bool speaks_credits);
  // The host is gone, and fenced.
  void detach(std::uint32_t sender);

  // False: it is of another epoch or pool, not newer than what was heard, of a life that has ended
  // here, or contradicts itself. The first four are normal after losses; all are counted, and
  // without effect.
  bool take_demand(std::uint32_t sender, const PeerDemand& demand, std::int64_t now_ns);
  // Bytes of this pool that are in memory: what P follows.
  void ingested(std::uint64_t bytes, std::int64_t now_ns);
  // From a grant's sending to the demand after it that could have come at once, without the gap
  // between demands: the round trip of the control connection.
  void set_round_trip(std::int64_t round_trip_ns);
  // What is over by now ends: silent senders' lives, the boot.
  void advance(std::int64_t now_ns);
  std::int64_t next_deadline_ns() const;

  // The next grant to be sent and whose it is; nullopt: none. The header is the caller's to fill.
  std::optional<PeerGrant> next_grant(std::uint32_t* sender);

  // P = rate × (round trip + gap between demands + target queue) + 2S: what keeps the memory busy
  // until freed credit is in use again. Not below boot_bytes while no rate is known, or while
  // nobody has wanted more than it had for as long as a rate is measured.
  std::uint64_t pool_bytes() const { return pool_bytes_; }
  // Most that is handed out: the half beyond P is for senders that have nothing to go on with.
  std::uint64_t cap_bytes() const { return pool_bytes_ + pool_bytes_ / 2; }
  std::uint64_t outstanding() const { return outstanding_; }
  std::uint64_t outstanding_of(std::uint32_t sender) const {
    return senders_[sender].outstanding();
  }
  // Most that the host may have in flight, whatever happens to messages from here on: its credit,
  // the window that it was told, or what it had without credit when it was heard of.
  std::uint64_t most_in_flight_of(std::uint32_t sender) const;
  // The window that a sender is told for when it hears nothing: max(2S, P / senders).
  std::uint64_t stale_window() const;
  bool is_booting() const { return booting_; }
  CreditExposure exposure() const;
  std::uint64_t dropped_demands() const { return dropped_demands_; }

  struct Sender {
    std::uint64_t epoch = 0;
    std::uint64_t nonce = 0;  // of the newest demand
    std::uint64_t limit = 0;
    std::uint64_t sent = 0;  // as told
    std::uint64_t freed = 0;
    std::uint64_t uncredited = 0;
    std::uint64_t window = 0;   // highest that it was told
    std::uint64_t carried = 0;  // of lives before: most that may be in flight
    std::uint64_t need = 0;     // to have a chunk to go on with; 0: has one, or wants nothing
    std::int64_t heard_ns = 0;
    std::array<std::uint64_t, kMaxClasses> unmet{};  // wanted, and not covered by credit
    bool attached = false;
    bool speaks = false;
    bool live = false;  // its newest life has not ended here

    std::uint32_t life() const { return static_cast<std::uint32_t>(nonce >> 32); }
    std::uint64_t outstanding() const { return limit - freed; }
    std::uint64_t held() const { return std::max(outstanding(), uncredited); }
  };
  const Sender& of(std::uint32_t sender) const { return senders_[sender]; }

  // I1, I3, sums, turns.
  void check_invariants() const;
  // Over what decides: times as distances from now, counters as differences.
  std::uint64_t hash(std::uint64_t seed, std::int64_t now_ns) const;

 private:
  bool is_news(const Sender& sender, const PeerDemand& demand) const;
  void count(const Sender& sender);
  void uncount(const Sender& sender);
  void take_wants(Sender& sender, const PeerDemand& demand);
  void stand_in_turns(std::uint32_t index);
  void end_life(std::uint32_t index);
  void allocate();
  void give(std::uint32_t index, std::uint64_t bytes, std::uint32_t first_class);
  void follow_rate();
  void note_wants(std::int64_t now_ns);

  CreditRules rules_;
  CreditPool pool_;
  std::uint64_t epoch_;
  std::vector<Sender> senders_;
  CreditTurns turns_;
  MemberSets owed_;  // one row: senders that a grant is owed to
  LaneRate rate_;
  std::int64_t round_trip_ns_ = 0;
  std::int64_t boot_ends_ns_;
  std::int64_t unmet_since_ns_ = kNever_ns;  // since when somebody wants more than it has
  std::int64_t period_ns_ = 0;               // when the period of the rate began
  std::int64_t bounded_ns_ = -LaneRate::kRemembered_ns;  // somebody wanted more in all of a period
  std::int64_t next_end_ns_ = kNever_ns;                 // no life ends before
  std::uint64_t pool_bytes_ = 0;
  std::uint64_t outstanding_ = 0;  // Σ
  std::uint64_t held_ = 0;  // Σ what is handed out, or in flight beside it where that is more
  std::uint64_t over_ = 0;  // outstanding when P became less, as far as it is still out
  std::uint64_t dropped_demands_ = 0;
  std::uint32_t speaking_ = 0;  // attached and known to speak credits
  std::uint32_t legacy_ = 0;
  std::uint32_t last_owed_ = 0;
  bool bounded_ = false;  // in the last second there was a period like that
  bool booting_ = true;
};

}  // namespace tentq::core
