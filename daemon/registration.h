// Registering and unregistering of payload memory: what an fd must be, mapping and populating off
// the conductor, and the answers. Conductor thread only, but for the work functions.
#pragma once

#include <memory>
#include <string>

#include "daemon/background.h"
#include "daemon/control_channel.h"
#include "daemon/sessions.h"
#include "daemon/settings.h"

namespace tentq {

class Registration {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // Requests that were published before now must be seen first: they pin what they use.
    virtual void take_requests() = 0;
    // A region of a segment appeared: routes that waited for it may be known now.
    virtual void region_added(Session& session) = 0;
    // Memory could not be locked; small copies of it go to a worker.
    virtual void not_locked(std::uint64_t bytes, int error) = 0;
  };

  Registration(const Settings& settings, Regions& regions, Segments& segments, Sessions& sessions,
               Background& background, Host& host);

  void register_region(ControlChannel& channel, const RegisterRegion& message, shm::Fd fd);
  void unregister_region(ControlChannel& channel, const UnregisterRegion& message);
  // The last pin of an unregistered region is gone: its bytes are its client's again. Answers who
  // waited for that.
  void released(const Region& region);
  // The session leaves: all its regions are unregistered.
  void forget(Session& session);

 private:
  struct Work;

  StatusCode check(const Session& session, const RegisterRegion& message, const shm::Fd& fd,
                   std::string* why) const;
  StatusCode check_quota(const Session& session, std::uint64_t size, std::string* why) const;
  static void map(Work& work, bool allow_sparse);
  static void populate(Work& work);
  void finish(const std::shared_ptr<Work>& work);
  void give_up(Work& work);
  void populate_behind(const std::shared_ptr<Work>& work, RegionIndex index);
  Region make_region(const Session& session, Work& work) const;
  void reply(Work& work, StatusCode status, RegionId region, const std::string& text);

  const Settings& settings_;
  Regions& regions_;
  Segments& segments_;
  Sessions& sessions_;
  Background& background_;
  Host& host_;
};

}  // namespace tentq
