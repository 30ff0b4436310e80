// What clients ask for: drains the rings of awake sessions, checks each request on a private copy
// and hands whole calls to the core. Also parks idle sessions and keeps the account of missed
// wake-ups. Conductor thread only; work per session and turn is bounded.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/core/core.h"
#include "daemon/session.h"
#include "daemon/settings.h"

namespace tentq {

class Hosts;
class Notifications;

class Inbox {
 public:
  // What the inbox asks of the shell.
  class Host {
   public:
    virtual ~Host() = default;
    virtual void violation(Session& session, Violation what) = 0;
    // The session broke its ring; nothing more is read from it.
    virtual void quarantine(Session& session, Violation what) = 0;
    // A call was refused for want of credit: whatever is held back must be shown.
    virtual void wish_taken(Session& session) = 0;
  };

  Inbox(const Settings& settings, core::Core& core, Regions& regions, Segments& segments,
        Notifications& notifications, Host& host);
  // Segments of other hosts are reached through these; once, before the first request.
  void reach(Hosts& hosts) { hosts_ = &hosts; }

  void add(Session& session);
  void remove(Session& session);
  // Its doorbell rang, or the safety poll found work.
  void wake(Session& session, Time now);

  // A glance for spinning: whether an awake session has published something.
  bool glance() const {
    for (const Session* session : awake_) {
      if (session->backlog || session->doorbell.pending()) return true;
    }
    return false;
  }
  // Drains what is published. True if there was anything.
  bool drain(Time now);
  // All of every session's, parked or not: what was published before now is in the core's hands. At
  // most what each ring holds.
  void drain_everyone(Time now);
  // Parks sessions that were idle for loop.session_park; `all` parks every one that has nothing
  // published. True if no session is awake afterwards.
  bool park_idle(Time now, bool all);
  // Looks at every parked session; counts work that came without its doorbell.
  void safety_poll(Time now);
  // A session's resolved range for an owner whose route was pending, and its lane when it is found.
  Resolution resolve_late(const Session& session, SegmentHandle handle, std::uint64_t offset,
                          std::uint64_t length, Op op, Time now, LaneId* lane) const;

  // Keeps an owner's other side: a region of this host, or a segment of another one.
  void pin(RegionIndex remote);

  std::uint64_t missed_wakeups() const { return missed_wakeups_; }
  // Submitted in a more urgent class than their clients' quotas allow, and taken in that one.
  std::uint64_t downgraded_owners() const { return downgraded_owners_; }
  std::uint32_t awake() const { return static_cast<std::uint32_t>(awake_.size()); }

 private:
  struct Verdict {
    Reason reason = Reason::none;
    Violation violation{};
    bool violated = false;
  };

  bool drain_session(Session& session, Time now, std::uint32_t most);
  bool drain_ring(Session& session, SessionRing& ring, Time now, std::uint32_t most);
  bool check_tails(Session& session);
  void take_wish(Session& session, SessionRing& ring, Time now);
  void handle_group(Session& session, SessionRing& ring, std::span<const CellBody> group, Time now);
  void handle_transfers(Session& session, ClassId cls, std::span<const CellBody> group, Time now);
  void expect_copy(const core::OwnerSpec& spec) const;
  Verdict check_transfer(Session& session, const CellBody& cell, core::OwnerSpec* spec, Time now);
  Verdict check_local(const Session& session, const CellBody& cell, core::OwnerSpec* spec) const;
  Verdict check_remote(const Session& session, const CellBody& cell, core::OwnerSpec* spec,
                       Time now) const;
  Verdict check_elsewhere(const RemoteSegment& segment, const CellBody& cell,
                          core::OwnerSpec* spec) const;

  bool take_slot(Session& session, const CellBody& cell, Time now);
  void note_stall(SessionRing& ring, Time now);

  const Settings& settings_;
  core::Core& core_;
  Regions& regions_;
  Segments& segments_;
  Notifications& notifications_;
  Host& host_;
  Hosts* hosts_ = nullptr;
  std::vector<Session*> sessions_;
  std::vector<Session*> awake_;
  std::vector<CellBody> group_;
  std::vector<core::OwnerSpec> specs_;
  std::uint64_t missed_wakeups_ = 0;
  std::uint64_t downgraded_owners_ = 0;
};

}  // namespace tentq
