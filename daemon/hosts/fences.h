// Data connections that are over and whose WRITEs may still be applied at the other host: each is
// asked about until the other host has confirmed that it is fenced, or for as long as owners wait
// for a route. Conductor thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "proto/ids.h"
#include "proto/peer.h"
#include "proto/units.h"

namespace tentq {

class Fences {
 public:
  struct Connection {
    LinkKey link;
    std::uint64_t number = 0;
  };
  // Asks the other side over that link; false: it is gone, and link_up() of the next one answers.
  using Ask = std::function<bool(const Connection&)>;
  // Nothing of it is applied any more; or nobody can say so.
  using Settled = std::function<void(const Connection&, bool fenced)>;

  Fences(Duration budget, Ask ask, Settled settled)
      : budget_(budget), ask_(std::move(ask)), settled_(std::move(settled)) {}

  void needed(const HostId& host, const Connection& connection, Time now);
  void confirmed(const Connection& connection);
  // A new link to the host: what went over older ones is not applied there any more.
  void link_up(const HostId& host, LinkKey link);
  // Gives up what waits for too long.
  void expire(Time now);
  std::size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiting {
    HostId host{};
    Connection connection;
    Time give_up{};
  };
  template <class Which>
  void settle(const Which& which, bool fenced);

  Duration budget_;
  Ask ask_;
  Settled settled_;
  std::vector<Waiting> waiting_;
};

}  // namespace tentq
