// Two hosts that READ from each other through full windows, and WRITE beside it, as a state
// machine. A READ takes the requester's own pool and a place in its request budget; the server's
// outgoing window is taken only while it sends. A WRITE takes the window and the other's credit in
// one step.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "daemon/core/credits/receiver.h"
#include "daemon/core/credits/sender.h"
#include "tests/credits/bag.h"

namespace tentq::core {

struct MutualShape {
  std::uint32_t reads = 3;  // of each host; two are asked for at the start
  std::uint32_t writes = 1;
  bool server_asks = false;  // planted: serving needs the requester's credit, too
};

class MutualReads {
 public:
  static constexpr std::uint32_t kHosts = 2;
  static constexpr std::uint32_t kBudget = 2;  // READs asked for and not answered

  enum class Kind : std::uint8_t { tick, read, serve, write, arrive, demand, grant };
  struct Action {
    Kind kind = Kind::tick;
    std::uint8_t host = 0;
    std::uint8_t message = 0;
  };

  explicit MutualReads(const MutualShape& shape);

  template <class Visit>
  void for_each_action(const Visit& visit) const {
    visit(Action{});
    for (std::uint8_t h = 0; h < kHosts; ++h) {
      for (const Kind kind : {Kind::read, Kind::serve, Kind::write, Kind::arrive}) {
        if (can(kind, h)) visit(Action{kind, h});
      }
      for (std::uint8_t m = 0; m < hosts_[h].demands.size(); ++m) visit(Action{Kind::demand, h, m});
      for (std::uint8_t m = 0; m < hosts_[h].grants.size(); ++m) visit(Action{Kind::grant, h, m});
    }
  }
  void apply(const Action& action);
  void audit() const;
  // Messages arrive and what is sent ends: all READs and WRITEs are done in the end.
  void must_proceed();
  std::uint64_t hash() const;
  std::string name(const Action& action) const;
  std::string text() const;

 private:
  // At a receiver: who asks it.
  static constexpr std::uint32_t kOwnReads = 0;
  static constexpr std::uint32_t kOthersWrites = 1;
  enum class Sending : std::uint8_t { nothing, data, write };
  struct Host {
    Host(std::uint64_t epoch_, std::uint64_t other);
    std::uint64_t epoch;
    CreditReceiver receiver;
    CreditSender reads;   // towards itself: its demands and grants go round at once
    CreditSender writes;  // towards the other
    std::uint32_t reads_left = 0;
    std::uint32_t writes_left = 0;
    Bag<CreditMark, kBudget> asked;
    std::uint32_t requests = 0;  // of the other, not yet served
    Sending sending = Sending::nothing;
    CreditMark write_mark;
    Bag<PeerDemand, 2> demands;  // on the way to the other
    Bag<PeerGrant, 2> grants;    // on the way from the other
  };

  bool can(Kind kind, std::uint32_t host) const;
  void settle();
  void take_demand(std::uint32_t host, CreditSender& sender, std::uint32_t left, bool own);
  void arrive(std::uint32_t host);
  void step_fairly();
  std::uint64_t room(const CreditSender& sender) const {
    return CreditSender(sender).room(now_ns_);
  }

  MutualShape shape_;
  std::int64_t now_ns_ = 0;
  std::array<Host, kHosts> hosts_;
};

}  // namespace tentq::core
