// READs that other hosts ask for: each is an owner of this host's core, in a session that stands
// for the link, and its chunks are the answer. Conductor thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "daemon/core/core.h"
#include "daemon/hosts/inbound_segments.h"
#include "daemon/hosts/remote_index.h"
#include "daemon/regions.h"
#include "transports/tcp/tcp_events.h"

namespace tentq {

class Serving {
 public:
  // Ends a READ for that reason, at the transport.
  using Refuse = std::function<void(std::uint64_t read, Reason reason)>;

  // Sessions from `first_session` on are its own, `most` of them, of as many fairness keys from
  // `first_key` on.
  Serving(core::Core& core, Regions& regions, const InboundSegments& segments, Refuse refuse,
          std::uint32_t first_session, std::uint32_t first_key, std::uint32_t most);

  bool is_mine(SessionId session) const { return session.value() >= first_session_; }

  // A host may ask over this link; its data goes by `lane`, at most at class `highest`. False:
  // there are too many.
  bool link_up(LinkKey link, LaneId lane, ClassId highest, Time now);
  // Nothing more is asked, and what was asked ends.
  void link_down(LinkKey link, Time now);
  void read_asked(const TcpEvent& event, Time now);
  // The connection is over: nobody can be answered by it.
  void connection_over(LinkKey link, std::uint64_t connection, Time now);

  // Effects of the core for its sessions.
  void ended(const core::OwnerEnded& effect, Time now);
  void raise_credit(const core::RaiseCredit& effect, Time now);
  core::CreditConsumed reclaim_credit(const core::ReclaimCredit& effect);
  void quiet(SessionId session);

  // The READ that an owner answers, as the transport knows it.
  std::uint64_t read_of(RegionIndex remote) const;
  std::uint64_t served() const { return served_; }
  std::uint64_t refused() const { return refused_; }

 private:
  static constexpr std::uint32_t kMostReads = 2048;  // of one link, unanswered

  struct Read {
    std::uint64_t read = 0;  // 0: free
    std::uint64_t connection = 0;
    std::uint32_t generation = 0;
  };
  struct Queued {
    TcpEvent event;
    ClassId cls{};
  };
  struct Peer {
    LinkKey link;  // invalid: nobody
    bool closing = false;
    LaneId lane;
    ClassId highest{};
    std::vector<Read> reads;  // by slot
    std::vector<std::uint32_t> free_slots;
    std::array<core::Amounts, kMaxClasses> granted{};
    std::array<core::Amounts, kMaxClasses> consumed{};
    std::array<std::deque<Queued>, kMaxClasses> waiting;  // for admission credit
  };

  Peer* find(LinkKey link);
  SessionId session_of(const Peer& peer) const;
  bool submit(Peer& peer, const Queued& queued, Time now);
  void submit_waiting(Peer& peer, std::size_t cls, Time now);
  void wish(Peer& peer, std::size_t cls, Time now);
  void refuse(std::uint64_t read, Reason reason);

  core::Core& core_;
  Regions& regions_;
  const InboundSegments& segments_;
  Refuse refuse_;
  std::uint32_t first_session_;
  std::uint32_t first_key_;
  std::vector<Peer> peers_;
  std::uint64_t served_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace tentq
