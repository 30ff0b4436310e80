// Two senders and one receiver of credit as a state machine: messages arrive in any order, twice or
// never, everybody may restart, and chunks take as long as they like. A chunk is one byte, so that
// numbers are small; a tick is the time between two demands.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "daemon/core/credits/receiver.h"
#include "daemon/core/credits/sender.h"
#include "tests/credits/bag.h"
#include "tests/credits/credit_audit.h"

namespace tentq::core {

// What the model takes out of the protocol, to show that its audit misses it.
enum class Planted : std::uint8_t {
  nothing,
  any_epoch,  // messages of earlier epochs and lives count
  long_ttl,   // a grant lasts longer at the sender than at the receiver
};

struct IncastShape {
  std::uint32_t senders = 2;  // that have work and are known to the receiver
  std::uint32_t chunks = 2;   // of each, queued at the start
  std::uint32_t warm = 0;     // ticks before the start in which everything goes well
  std::uint32_t ttl_ticks = 2;
  std::uint32_t copies = 1;  // messages that arrive twice
  std::uint32_t receiver_restarts = 0;
  std::uint32_t sender_restarts = 0;  // of each
  bool legacy_first = false;          // the first sender's HELLO does not speak credits
  Planted planted = Planted::nothing;
};

CreditRules model_rules(std::uint32_t ttl_ticks = 2);

class IncastModel {
 public:
  static constexpr std::uint32_t kSenders = 2;  // at most
  static constexpr std::int64_t kTick_ns = 20'000'000;

  enum class Kind : std::uint8_t {
    tick,
    restart_receiver,
    dispatch,  // a chunk goes
    end,       // the oldest chunk in flight is quiet
    hello,     // the sender hears of the receiver's epoch
    restart_sender,
    demand,  // arrives
    demand_copy,
    grant,
    grant_copy,
  };
  struct Action {
    Kind kind = Kind::tick;
    std::uint8_t sender = 0;
    std::uint8_t message = 0;  // its place among those on the way
  };

  explicit IncastModel(const IncastShape& shape);

  template <class Visit>
  void for_each_action(const Visit& visit) const;
  void apply(const Action& action);
  void audit() const;
  // I6, from here on: when messages get through and chunks end, everybody gets a chunk in time and
  // all are moved in the end; when none get through, everybody goes on at its stale window. Ends
  // the run.
  void must_proceed();
  std::uint64_t hash() const;
  std::string name(const Action& action) const;
  std::string text() const;

 private:
  static constexpr std::size_t kOnTheWay = 2;
  struct Chunk {
    CreditMark mark;
    std::uint64_t receiver_epoch = 0;
  };
  struct Host {
    Host(std::uint64_t epoch_, const CreditRules& rules)
        : epoch(epoch_), credit(rules, CreditPool::user, epoch_) {}
    std::uint64_t epoch;
    CreditSender credit;
    std::uint32_t queued = 0;
    bool told = false;  // the receiver's epoch
    bool speaks = true;
    Bag<Chunk, 8> in_flight;
    Bag<PeerDemand, kOnTheWay> demands;
    Bag<PeerGrant, kOnTheWay> grants;
    std::uint32_t restarts = 0;
  };

  std::uint64_t hash_messages(std::uint64_t hash, std::uint32_t sender) const;
  void settle();
  void say_hello(std::uint32_t sender);
  void dispatch(std::uint32_t sender);
  void end_chunk(std::uint32_t sender);
  void take_demand(std::uint32_t sender, PeerDemand demand);
  void take_grant(std::uint32_t sender, PeerGrant grant);
  void restart_sender(std::uint32_t sender);
  void restart_receiver();
  CreditRules sender_rules() const;
  void step_fairly(bool messages);
  void must_proceed(bool messages);
  bool can_dispatch(std::uint32_t sender) const;

  IncastShape shape_;
  std::int64_t now_ns_ = 0;
  std::uint64_t epoch_ = 100;  // of the receiver
  CreditReceiver receiver_;
  std::array<Host, kSenders> hosts_;
  std::uint32_t copies_ = 0;
  std::uint32_t receiver_restarts_ = 0;
};

template <class Visit>
void IncastModel::for_each_action(const Visit& visit) const {
  visit(Action{Kind::tick});
  if (receiver_restarts_ < shape_.receiver_restarts) visit(Action{Kind::restart_receiver});
  for (std::uint8_t s = 0; s < shape_.senders; ++s) {
    const Host& host = hosts_[s];
    if (can_dispatch(s)) visit(Action{Kind::dispatch, s});
    if (!host.in_flight.empty()) visit(Action{Kind::end, s});
    if (!host.told) visit(Action{Kind::hello, s});
    if (host.restarts < shape_.sender_restarts) visit(Action{Kind::restart_sender, s});
    for (std::uint8_t m = 0; m < host.demands.size(); ++m) {
      visit(Action{Kind::demand, s, m});
      if (copies_ < shape_.copies) visit(Action{Kind::demand_copy, s, m});
    }
    for (std::uint8_t m = 0; m < host.grants.size(); ++m) {
      visit(Action{Kind::grant, s, m});
      if (copies_ < shape_.copies) visit(Action{Kind::grant_copy, s, m});
    }
  }
}

}  // namespace tentq::core
