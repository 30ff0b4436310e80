// The newest epoch and link that each host has proved, so that what is older is known as such.
// Only what was authenticated is recorded. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "daemon/peers/reason.h"
#include "proto/peer.h"

namespace tentq {

class Standings {
 public:
  struct Standing {
    std::uint64_t epoch_counter = 0;
    std::uint64_t epoch_random = 0;
    std::uint64_t link = 0;  // newest that the host dialed in this epoch; 0: none
    std::uint64_t used = 0;  // rises with every record
  };

  // Of the hosts beyond `most` the one that was heard of longest ago is forgotten.
  explicit Standings(std::size_t most) : most_(most) {}

  // A control connection that the host dialed: stale unless (epoch, link) is newer than all before;
  // twin if the epoch is the same but for its random number. None: it may go on.
  std::optional<PeerReason> judge_link(const PeerHello& hello) const;
  // The host's epoch alone, of an answer to a connection that was dialed, or of a data connection.
  std::optional<PeerReason> judge_epoch(const PeerHello& hello) const;

  // After the judgement. Both keep the newest.
  void record_link(const PeerHello& hello);
  void record_epoch(const PeerHello& hello);

  const Standing* find(const HostId& host) const;
  std::size_t size() const { return hosts_.size(); }

 private:
  Standing& renew(const PeerHello& hello);

  std::size_t most_;
  std::uint64_t clock_ = 0;
  std::map<HostId, Standing> hosts_;
};

}  // namespace tentq
