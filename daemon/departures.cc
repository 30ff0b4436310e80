// The end of sessions. See departures.h.
#include "daemon/departures.h"

#include "proto/check.h"

namespace tentq {

Departures::Departures(core::Core& core, Sessions& sessions, Segments& segments, Inbox& inbox,
                       Outbox& outbox, Notifications& notifications, Registration& registration,
                       SegmentRequests& segment_requests, Background& background)
    : core_(core),
      sessions_(sessions),
      segments_(segments),
      inbox_(inbox),
      outbox_(outbox),
      notifications_(notifications),
      registration_(registration),
      segment_requests_(segment_requests),
      background_(background) {}

void Departures::begin(Session& session, Time now) {
  if (session.leaving) return;
  session.leaving = true;
  session.channel = nullptr;
  session.doorbell_wait.reset();
  inbox_.remove(session);
  notifications_.forget(session);
  segment_requests_.forget(session);
  if (session.exported) segments_.begin_release(*session.exported);
  registration_.forget(session);
  if (session.exported) segments_.release(session.exported, now);
  core_.handle(core::SessionClosed{session.id}, now);
}

void Departures::quiet(SessionId id) {
  Session* session = sessions_.find(id);
  TENTQ_CHECK(session != nullptr && session->leaving);
  outbox_.forget(*session);
  background_.dispose(std::move(session->memory.req));
  background_.dispose(std::move(session->memory.sta));
  sessions_.remove(*session);
}

}  // namespace tentq
