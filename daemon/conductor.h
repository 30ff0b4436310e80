// The loop of the daemon's one deciding thread: drain rings → core → effects → reap completions →
// publish → sleep if idle. Reads the clock once a turn.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>

#include "daemon/settings.h"
#include "daemon/spin.h"
#include "proto/units.h"

namespace tentq {

Time monotonic_now();

class Conductor {
 public:
  // The steps of a turn; implemented by the daemon.
  class Steps {
   public:
    virtual ~Steps() = default;
    // Requests, completions, effects and publishing. True if anything happened.
    virtual bool work(Time now) = 0;
    // A glance, for spinning: whether work() would find something. True in doubt.
    virtual bool glance() const = 0;
    // Parks what is idle; true if nothing would be missed by sleeping until something rings.
    virtual bool prepare_sleep(Time now) = 0;
    // Sessions that have been idle for long leave the poll set, while others keep it busy.
    virtual void park_idle(Time now) = 0;
    // When work() must be called at the latest.
    virtual Time next_deadline() = 0;
    // About every safety_poll: looks for what was missed, heartbeats, pages.
    virtual void periodic(Time now) = 0;
    virtual bool finished() const = 0;
  };

  Conductor(boost::asio::io_context& io, Steps& steps, const LoopSettings& settings)
      : io_(io), steps_(steps), settings_(settings) {}

  void run();
  std::uint64_t turns() const { return turns_; }
  std::uint64_t sleeps() const { return sleeps_; }

 private:
  std::size_t poll_sockets();
  void sleep(Time now);

  boost::asio::io_context& io_;
  Steps& steps_;
  const LoopSettings& settings_;
  Spin spin_;
  std::uint64_t turns_ = 0;
  std::uint64_t sleeps_ = 0;
};

}  // namespace tentq
