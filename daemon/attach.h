// How a client becomes a session: checks HELLO, makes the session's memory off the conductor, binds
// the name, answers WELCOME or REFUSED with what to do. Conductor thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "daemon/background.h"
#include "daemon/control_channel.h"
#include "daemon/core/core.h"
#include "daemon/sessions.h"
#include "daemon/settings.h"

namespace tentq {

struct Epoch {
  std::uint64_t counter = 0;  // starts of the daemon, from the state directory
  std::uint64_t random = 0;
};

class Attach {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    virtual bool accepting() const = 0;
    virtual Time now() const = 0;
    // Ends a session at once, because the same uid replaces it with its token.
    virtual void replace(Session& session) = 0;
    // The session is in the table and known to the core: poll it and listen to its doorbell.
    // Afterwards its first grants must be in STA. `doorbell` is a duplicate of the session's.
    virtual void attached(Session& session, const Hello& hello, shm::Fd doorbell) = 0;
    virtual void attach_refused(const ControlChannel& channel, StatusCode code,
                                const std::string& text) = 0;
  };

  Attach(const Settings& settings, const Epoch& epoch, Sessions& sessions, Segments& segments,
         core::Core& core, Background& background, Host& host);

  void hello(ControlChannel& channel, const Hello& hello, shm::Fd pidfd);
  void mapped(ControlChannel& channel);

 private:
  struct Pending;

  StatusCode check(const ControlChannel& channel, const Hello& hello, std::string* why) const;
  StatusCode check_version(const Hello& hello, std::string* why) const;
  bool allowed(const Credentials& credentials) const;
  void refuse(ControlChannel& channel, StatusCode code, const std::string& text);
  void finish(const std::shared_ptr<Pending>& pending);
  StatusCode claim_name(Session& session, const Hello& hello, std::string* why);
  void grant_classes(Pending& pending) const;
  void set_up(Session& session, Pending& pending);
  void open_in_core(const Session& session, const Hello& hello);
  void welcome(ControlChannel& channel, const Session& session, int completion_fd);

  const Settings& settings_;
  const Epoch& epoch_;
  Sessions& sessions_;
  Segments& segments_;
  core::Core& core_;
  Background& background_;
  Host& host_;
};

// Credentials of a connection with the primary group among the groups.
Credentials credentials_of(const shm::PeerCredentials& peer);

}  // namespace tentq
