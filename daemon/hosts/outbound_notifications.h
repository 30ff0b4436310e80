// Notifications to processes of other hosts: each goes over the link to its host, and again over
// the next link until that host has said how it ended; the receiver's library drops repeats. What
// is on its way over one link is bounded. Conductor thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <utility>

#include "daemon/hosts/remote_segments.h"
#include "proto/control.h"
#include "proto/peer.h"

namespace tentq {

class OutboundNotifications {
 public:
  // False: there is no such link any more.
  using Send = std::function<bool(LinkKey link, const PeerNotify& message)>;
  // How one ended. Not called from within add() and forget().
  using Ended = std::function<void(std::uint64_t number, TaskState state, Reason reason)>;

  OutboundNotifications(Send send, Ended ended)
      : send_(std::move(send)), ended_(std::move(ended)) {}

  // Its number. The target stays in its table until the end is told. `give_up`: how long a link is
  // waited for; then it ends with peer_lost.
  std::uint64_t add(const RemoteSegmentPtr& target, const Notification& message, Time give_up);
  // Nobody waits for its end any more. If it is on its way it may still be delivered.
  void forget(std::uint64_t number);

  void answered(LinkKey link, const PeerNotified& answer);
  // What was on its way over it waits for the next one, for as long as a route may take from `now`.
  void link_down(LinkKey link, Time give_up);
  // Sends what can go, ends what cannot.
  void look(Time now);
  std::size_t waiting() const { return waiting_.size(); }
  std::size_t on_their_way() const { return sent_.size(); }

 private:
  static constexpr std::uint32_t kMostOnALink = 64;

  struct Entry {
    std::uint64_t number = 0;
    RemoteSegmentPtr target;
    PeerNotify message;
    Time give_up{};
  };
  using Sent = std::pair<LinkKey, std::uint64_t>;  // link and number, which is the request

  bool try_send(Entry& entry);
  std::uint32_t count_of(LinkKey link) const;

  Send send_;
  Ended ended_;
  std::list<Entry> waiting_;
  std::map<Sent, Entry> sent_;
  std::map<LinkKey, std::uint32_t> counts_;  // of sent_
  std::uint64_t next_number_ = 1;
};

}  // namespace tentq
