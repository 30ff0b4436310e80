// Draining and parking of sessions. What a request must satisfy is in inbox_checks.cc.
#include "daemon/inbox.h"

#include <poll.h>

#include <algorithm>

#include "daemon/notifications.h"

namespace tentq {

namespace {

Violation violation_of(shm::RingFault fault) {
  switch (fault) {
    case shm::RingFault::none:
    case shm::RingFault::bad_group: return Violation::bad_group;
    case shm::RingFault::tail_out_of_range: return Violation::tail_out_of_range;
    case shm::RingFault::bad_sequence: return Violation::bad_sequence;
  }
  return Violation::bad_group;
}

constexpr Duration kSilenceMeansMissed = std::chrono::seconds{1};

bool readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

}  // namespace

Inbox::Inbox(const Settings& settings, core::Core& core, Regions& regions, Segments& segments,
             Notifications& notifications, Host& host)
    : settings_(settings),
      core_(core),
      regions_(regions),
      segments_(segments),
      notifications_(notifications),
      host_(host) {
  group_.resize(settings.sessions.ring_cells);
  specs_.reserve(settings.sessions.ring_cells);
  sessions_.reserve(settings.sessions.most);
  awake_.reserve(settings.sessions.most);
}

void Inbox::add(Session& session) {
  sessions_.push_back(&session);
  session.awake = true;
  awake_.push_back(&session);
}

void Inbox::remove(Session& session) {
  std::erase(sessions_, &session);
  std::erase(awake_, &session);
  session.awake = false;
}

void Inbox::wake(Session& session, Time now) {
  if (session.leaving) return;
  session.doorbell.unpark();
  session.last_active = now;
  if (session.awake) return;
  session.awake = true;
  awake_.push_back(&session);
}

bool Inbox::drain(Time now) {
  bool any = false;
  // By index: a session that is quarantined while draining leaves the list.
  for (std::size_t i = 0; i < awake_.size();) {
    Session& session = *awake_[i];
    if (drain_session(session, now, settings_.loop.cells_per_turn)) any = true;
    if (i < awake_.size() && awake_[i] == &session) ++i;
  }
  return any;
}

void Inbox::drain_everyone(Time now) {
  for (std::size_t i = 0; i < sessions_.size();) {
    Session& session = *sessions_[i];
    if (session.doorbell.pending()) wake(session, now);
    if (session.awake) drain_session(session, now, settings_.sessions.ring_cells);
    if (i < sessions_.size() && sessions_[i] == &session) ++i;
  }
}

bool Inbox::drain_session(Session& session, Time now, std::uint32_t most) {
  const bool changed = session.doorbell.changed();
  if (!changed && !session.backlog) return false;
  session.backlog = false;
  session.last_active = now;
  for (const SessionRing& ring : session.rings) ring.consumer.prefetch();
  for (SessionRing& ring : session.rings) {
    drain_ring(session, ring, now, most);
    if (session.leaving) return true;
    take_wish(session, ring, now);
  }
  return true;
}

bool Inbox::drain_ring(Session& session, SessionRing& ring, Time now, std::uint32_t most) {
  std::uint32_t taken = 0;
  while (ring.consumer.ready()) {
    if (taken >= most) {
      session.backlog = true;
      break;
    }
    shm::RingFault fault = shm::RingFault::none;
    const std::uint32_t cells = ring.consumer.take_group(group_, &fault);
    if (fault != shm::RingFault::none) {
      host_.quarantine(session, violation_of(fault));
      return true;
    }
    if (cells == 0) break;
    taken += cells;
    handle_group(session, ring, std::span(group_).first(cells), now);
  }
  if (taken > 0) {
    ring.consumer.publish_head();
    ring.stalled_since = Time{};
  } else {
    note_stall(ring, now);
  }
  return taken > 0;
}

// A producer that finishes raises `published`, so nothing has to be polled for it meanwhile.
void Inbox::note_stall(SessionRing& ring, Time now) {
  if (!ring.consumer.stalled()) {
    ring.stalled_since = Time{};
  } else if (ring.stalled_since == Time{}) {
    ring.stalled_since = now;
  }
}

void Inbox::take_wish(Session& session, SessionRing& ring, Time now) {
  shm::CreditGrantor::Wish wish;
  if (!ring.credit.take_wish(&wish)) return;
  host_.wish_taken(session);
  const shm::CreditAmounts used = ring.credit.consumed();
  core_.handle(core::CreditWanted{session.id,
                                  ring.cls,
                                  {wish.amounts.owners, wish.amounts.bytes, wish.amounts.extents},
                                  {used.owners, used.bytes, used.extents},
                                  wish.waiting},
               now);
  const LimitLevel full = core_.full_level(
      session.id, ring.cls, {wish.amounts.owners, wish.amounts.bytes, wish.amounts.extents});
  session.memory.view.sta()->full_levels[index_of(ring.cls)].store(static_cast<std::uint8_t>(full),
                                                                   std::memory_order_relaxed);
}

void Inbox::handle_group(Session& session, SessionRing& ring, std::span<const CellBody> group,
                         Time now) {
  const CellKind kind = group.front().kind;
  if (kind == CellKind::transfer) return handle_transfers(session, ring.cls, group, now);
  const bool uniform = std::all_of(group.begin(), group.end(),
                                   [&](const CellBody& cell) { return cell.kind == kind; });
  switch (uniform ? kind : CellKind::permit_report) {
    case CellKind::transfer: break;
    case CellKind::cancel:
      for (const CellBody& cell : group) {
        core_.handle(core::CancelRequested{session.id, cell.slot, cell.slot_generation}, now);
      }
      return;
    case CellKind::notify:
      for (const CellBody& cell : group) {
        if (take_slot(session, cell, now)) notifications_.accept(session, cell, now);
      }
      return;
    case CellKind::permit_report: break;
  }
  host_.violation(session, Violation::bad_group);
}

bool Inbox::check_tails(Session& session) {
  for (SessionRing& ring : session.rings) {
    if (ring.consumer.check_tail()) continue;
    host_.quarantine(session, Violation::tail_out_of_range);
    return false;
  }
  return true;
}

bool Inbox::park_idle(Time now, bool all) {
  for (std::size_t i = 0; i < awake_.size();) {
    Session& session = *awake_[i];
    if (!check_tails(session)) continue;  // it has left the list
    const bool idle = all || now - session.last_active >= settings_.loop.session_park;
    if (!idle || session.backlog || !session.doorbell.park()) {
      ++i;
      continue;
    }
    session.awake = false;
    awake_[i] = awake_.back();
    awake_.pop_back();
  }
  return awake_.empty();
}

void Inbox::safety_poll(Time now) {
  for (std::size_t i = 0; i < sessions_.size(); ++i) {
    Session& session = *sessions_[i];
    if (session.leaving) continue;
    if (!session.awake && !check_tails(session)) continue;
    // A client may be stopped between publishing and ringing; only a bell that stays silent for a
    // second was never rung.
    if (session.silent_since != Time{} && now - session.silent_since >= kSilenceMeansMissed) {
      ++missed_wakeups_;
      session.silent_since = Time{};
    }
    for (SessionRing& ring : session.rings) note_stall(ring, now);
    if (session.awake || !session.doorbell.changed()) continue;
    wake(session, now);
    session.backlog = true;
    drain_session(session, now, settings_.loop.cells_per_turn);
    if (!session.leaving && !readable(session.doorbell_fd.get())) session.silent_since = now;
  }
}

}  // namespace tentq
