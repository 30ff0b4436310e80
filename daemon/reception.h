// Where connections arrive: keeps the channels, lets each message reach the part it is for, and
// says what may be asked before and after HELLO. Conductor thread only.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>

#include "daemon/admin.h"
#include "daemon/attach.h"
#include "daemon/control_channel.h"
#include "daemon/registration.h"
#include "daemon/segment_requests.h"

namespace tentq {

class Reception final : public ControlChannel::Host {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    virtual Time now() const = 0;
    // Requests published before a question are part of its answer.
    virtual void take_requests() = 0;
    virtual void violation(Session& session, Violation what) = 0;
    // The client of a session is gone; `clean` after a goodbye.
    virtual void client_gone(Session& session, bool clean, const char* why) = 0;
    virtual void mailbox_writable(Session& session) = 0;
  };

  Reception(Attach& attach, Registration& registration, SegmentRequests& segments, Admin& admin,
            Host& host, std::size_t most_channels, Duration handshake);

  // A new connection; closed at once when there are too many.
  void accepted(std::shared_ptr<ControlChannel> channel);
  // The session ends for a reason of ours: says so and closes.
  void dismiss(Session& session, DaemonState state, const std::string& text);
  void tell_all(DaemonState state, const std::string& text);
  std::size_t channels() const { return channels_.size(); }

 private:
  void received(ControlChannel& channel, ClientMessage message, shm::Fd fd) override;
  void closed(ControlChannel& channel, const char* why) override;
  void writable(ControlChannel& channel) override;

  Attach& attach_;
  Registration& registration_;
  SegmentRequests& segments_;
  Admin& admin_;
  Host& host_;
  std::size_t most_channels_;
  Duration handshake_;
  std::unordered_map<ControlChannel*, std::shared_ptr<ControlChannel>> channels_;
};

}  // namespace tentq
