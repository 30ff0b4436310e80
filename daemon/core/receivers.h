// The hosts whose memory lanes send to: what each may be sent now, which lanes wait because that is
// too little, and what is asked for. Several lanes may name one receiver; users and internal work
// have credit of their own. Conductor thread. Bytes and nanoseconds.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "daemon/core/core.h"
#include "daemon/core/credits/sender.h"
#include "daemon/core/lane_set.h"
#include "daemon/core/lanes.h"

namespace tentq::core {

class Receivers {
 public:
  static constexpr std::uint32_t kPools = 2;

  struct Pool {
    CreditSender credit;
    std::uint64_t need = 0;         // of the next chunk, for which there is no room; 0: there is
    std::uint64_t sent_now = 0;     // handed over in this period between demands
    std::uint64_t sent_before = 0;  // and in the one before
    std::int64_t period_ns = 0;     // when this one began
    std::uint64_t told = 0;         // queued, as the last demand said, less what went since
    bool ran_dry = false;           // since the last demand
  };
  struct Receiver {
    std::vector<Pool> pools;  // users, internal
    LaneSet lanes;
    std::int64_t due_ns = kNever_ns;  // something is due by itself
  };

  Receivers(const CreditTerms& terms, Lanes* lanes);

  std::uint32_t count() const { return static_cast<std::uint32_t>(receivers_.size()); }
  const Receiver& operator[](std::uint32_t receiver) const { return receivers_[receiver]; }
  const CreditRules& rules() const { return rules_; }

  // The lane's data goes to that host; invalid: to none that is asked.
  void name(std::uint32_t lane, ReceiverId receiver);
  void connect(ReceiverId receiver, std::uint64_t epoch, bool speaks_credits, std::int64_t now_ns);
  void take_grant(ReceiverId receiver, const PeerGrant& grant, std::int64_t now_ns);

  // Whether a chunk may go to the lane's receiver. If not, all lanes to it wait until it may: the
  // next one in turn is not overtaken by shorter ones.
  bool admit(std::uint32_t lane, bool internal, std::uint64_t bytes, std::int64_t now_ns);
  // It goes; was refused, and nothing of it is anywhere; is quiet.
  CreditMark consume(std::uint32_t lane, bool internal, std::uint64_t bytes, std::int64_t now_ns);
  void roll_back(std::uint32_t lane, bool internal, CreditMark mark, std::uint64_t bytes,
                 std::int64_t now_ns);
  void freed(std::uint32_t lane, bool internal, CreditMark mark, std::uint64_t bytes,
             std::int64_t now_ns);
  // Another chunk may be the next one to the lane's receiver: nobody waits until that is known.
  void let_go(std::uint32_t lane);
  void let_all_go();

  // Lives of credit end, demands become due.
  void advance(std::int64_t now_ns) {
    if (now_ns >= next_ns_) pass_time(now_ns);
  }
  // kNever_ns: nothing happens by itself.
  std::int64_t next_ns() const { return next_ns_; }

  // A demand that is due, among receivers with something new; false: none is. To be asked when no
  // more chunks can go.
  bool next_due(std::int64_t now_ns, std::uint32_t* receiver, bool* internal);
  PeerDemand take_demand(std::uint32_t receiver, bool internal, std::uint64_t oldest_ns,
                         std::int64_t now_ns);

  // Queued for the pool on lanes that are not away, by class, and what is kept for what comes soon.
  CreditWant want_of(std::uint32_t receiver, bool internal, std::int64_t now_ns) const;
  static std::uint64_t sum_of(const CreditWant& want);

  void check() const;
  std::uint64_t hash(std::uint64_t seed, std::int64_t now_ns) const;

 private:
  Pool& pool_of(std::uint32_t lane, bool internal) {
    return receivers_[(*lanes_)[lane].receiver].pools[internal ? 1 : 0];
  }
  void hold(std::uint32_t receiver, bool internal, std::uint64_t bytes);
  void release(std::uint32_t receiver, bool internal);
  void release_if_room(std::uint32_t receiver, bool internal, std::int64_t now_ns);
  void pass_time(std::int64_t now_ns);
  void ask_if_short(std::uint32_t receiver, bool internal, std::int64_t now_ns);
  std::uint64_t queued_for(std::uint32_t receiver, bool internal) const;
  std::uint64_t kept_for(const Pool& pool, std::uint64_t queued, std::int64_t now_ns) const;

  CreditRules rules_;
  Lanes* lanes_;
  std::vector<Receiver> receivers_;
  std::int64_t next_ns_ = kNever_ns;
};

}  // namespace tentq::core
