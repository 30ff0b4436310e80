// How a session ends: everything that others could still reach goes at once, what a transport may
// still touch stays until it is quiet. Conductor thread only.
#pragma once

#include "daemon/background.h"
#include "daemon/core/core.h"
#include "daemon/inbox.h"
#include "daemon/notifications.h"
#include "daemon/outbox.h"
#include "daemon/registration.h"
#include "daemon/segment_requests.h"
#include "daemon/sessions.h"

namespace tentq {

class Departures {
 public:
  Departures(core::Core& core, Sessions& sessions, Segments& segments, Inbox& inbox, Outbox& outbox,
             Notifications& notifications, Registration& registration,
             SegmentRequests& segment_requests, Background& background);

  // The client is dead, detached, replaced or shut out. Its channel is no longer used. Idempotent.
  void begin(Session& session, Time now);
  // Nothing of it is left in the core: its memory and its id go.
  void quiet(SessionId id);
  std::uint64_t reaped() const { return reaped_; }
  void count_reaped() { ++reaped_; }

 private:
  core::Core& core_;
  Sessions& sessions_;
  Segments& segments_;
  Inbox& inbox_;
  Outbox& outbox_;
  Notifications& notifications_;
  Registration& registration_;
  SegmentRequests& segment_requests_;
  Background& background_;
  std::uint64_t reaped_ = 0;
};

}  // namespace tentq
