// What clients see: status slots, admission credit and the wake-ups that follow. Collects what a
// turn changed and publishes it once per session. Conductor thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "daemon/core/effect.h"
#include "daemon/session.h"

namespace tentq {

class Outbox {
 public:
  explicit Outbox(std::size_t most_sessions) {
    touched_.reserve(most_sessions);
    holding_.reserve(most_sessions);
  }

  // The owner is queued, and has not ended: its slot says PENDING.
  void admitted(Session& session, const core::OwnerAdmitted& effect);
  // Writes the terminal status; the slot is free for its next generation.
  void ended(Session& session, std::uint32_t slot, std::uint32_t generation,
             const shm::SlotView& view);
  // Shown at once if it is much more than what was shown; else with the next show_credit().
  void raise_credit(Session& session, const core::RaiseCredit& effect);
  // Shows what was held back: of one session (it was refused), of all (nothing else is to be done).
  void show_credit(Session& session);
  void show_all_credit();
  // Lowers the grant, then reads what was consumed before it was seen.
  core::CreditConsumed reclaim_credit(Session& session, const core::ReclaimCredit& effect);
  // Something else of the session changed (a head): its waiters should look again.
  void touch(Session& session);

  // Wakes whoever waits. Once a turn.
  void publish();
  // The session's memory goes away.
  void forget(Session& session);

 private:
  void show(Session& session, SessionRing& ring);

  std::vector<Session*> touched_;
  std::vector<Session*> holding_;  // sessions with credit held back
};

}  // namespace tentq
