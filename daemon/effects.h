// Carries out what the core asks for, in order, until it asks for nothing more. Conductor thread.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/core/core.h"
#include "daemon/departures.h"
#include "daemon/executor.h"
#include "daemon/inbox.h"
#include "daemon/logging/error_book.h"
#include "daemon/metrics/latencies.h"
#include "daemon/notifications.h"
#include "daemon/outbox.h"
#include "daemon/sessions.h"

namespace tentq {

class Effects {
 public:
  Effects(core::Core& core, Sessions& sessions, Regions& regions, Inbox& inbox, Outbox& outbox,
          Executor& executor, Notifications& notifications, Departures& departures,
          ErrorBook& errors, Latencies& latencies);

  // Owners may name other hosts; once, before the first effect.
  void reach(Hosts& hosts) { hosts_ = &hosts; }

  // Effects, posts and the completions that are there at once. True if there was anything; then
  // chunks may be collected that the next call posts.
  bool carry_out(Time now);
  // A segment changed: looks again for what owners in RoutePending wait for.
  void retry_routes(Time now);
  bool drained() const { return drained_; }
  void clear_drained() { drained_ = false; }

 private:
  bool carry_out_asked(Time now);
  void carry_out_one(const core::Effect& effect, Time now);
  bool is_of_host(SessionId id) const;
  void owner_ended(const core::OwnerEnded& effect, Time now);
  void unpin(RegionIndex region);
  void resolve(const core::ResolveRoute& effect, Time now);
  bool try_route(const core::ResolveRoute& effect, Time now);
  Session& session(SessionId id);

  core::Core& core_;
  Sessions& sessions_;
  Regions& regions_;
  Inbox& inbox_;
  Outbox& outbox_;
  Executor& executor_;
  Notifications& notifications_;
  Departures& departures_;
  ErrorBook& errors_;
  Latencies& latencies_;
  Hosts* hosts_ = nullptr;
  std::vector<core::ResolveRoute> pending_routes_;
  bool drained_ = false;
};

}  // namespace tentq
