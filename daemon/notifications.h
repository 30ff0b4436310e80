// Notifications between clients: each waits for the owners it was sent after, then goes to the
// receiver's mailbox. COMPLETED means that it is in the receiver's socket. Bounded per sender (its
// slots) and per receiver (mailbox); what is dropped is counted and reported. Conductor thread
// only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <unordered_map>
#include <vector>

#include "daemon/session.h"

namespace tentq {

class Notifications {
 public:
  enum class Delivery : std::uint8_t { sent, socket_full, gone };

  class Host {
   public:
    virtual ~Host() = default;
    virtual void violation(Session& session, Violation what) = 0;
    virtual Session* session(SessionId id) = 0;
    // Writes the notification's own status slot.
    virtual void notification_ended(Session& sender, std::uint32_t slot, std::uint32_t generation,
                                    TaskState state, Reason reason) = 0;
    // Writes it to the receiver's socket, unless that is full; then flush() follows later.
    virtual Delivery deliver(Session& receiver, const Notification& message) = 0;
  };

  // Where clients of other hosts are told. `target` stays in its table from hold() to release().
  class Elsewhere {
   public:
    virtual ~Elsewhere() = default;
    virtual void hold(const RemoteSegmentPtr& target) = 0;
    virtual void release(const RemoteSegmentPtr& target) = 0;
    // Its number; ended_elsewhere() follows, later, unless it is forgotten.
    virtual std::uint64_t notify(const RemoteSegmentPtr& target, const Notification& message,
                                 Time give_up) = 0;
    virtual void forget_notification(std::uint64_t number) = 0;
  };

  // `mailbox`: most that wait for one receiver's socket, and most of one sender. `route_budget`:
  // how long a receiver that is expected back after the daemon's restart is waited for.
  Notifications(Host& host, std::uint32_t mailbox, Duration route_budget)
      : host_(host), mailbox_limit_(mailbox), route_budget_(route_budget) {}

  // Other hosts are told through this; once, before the first request.
  void reach(Elsewhere& elsewhere) { elsewhere_ = &elsewhere; }

  // A NOTIFY cell whose slot is taken. Copies the arena range once and checks the copy.
  void accept(Session& sender, const CellBody& cell, Time now);
  // A client of another host tells the exporter of `target`, over that link; `answer` follows,
  // once, unless the link ends before. Most of one link: as of one sender.
  using Answer = std::function<void(TaskState state, Reason reason)>;
  void accept_from(LinkKey link, const SegmentPtr& target, const Notification& message,
                   Answer answer, Time now);
  void link_down(LinkKey link);
  void ended_elsewhere(std::uint64_t number, TaskState state, Reason reason);
  // A slot of the session became terminal: whoever waits for it may go on.
  void owner_ended(Session& session, std::uint32_t slot, std::uint32_t generation, TaskState state,
                   Time now);
  // The receiver's socket takes packets again.
  void flush(Session& receiver);
  // Tries again what waits for a receiver that is expected back.
  void retry_expected(Time now);
  // The session is gone: with what it was about to send, and what waited for its socket.
  void forget(Session& session);
  std::size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiting {
    SessionId sender;  // invalid: a client of another host
    LinkKey from;      // that host's
    Answer answer;     // to it
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
    SegmentPtr target;
    RemoteSegmentPtr remote;      // else than `target`: of another host
    std::uint64_t elsewhere = 0;  // its number there; 0: not sent
    std::uint32_t pending = 0;    // owners not yet terminal
    bool failed = false;
    bool expecting = false;  // waits for its receiver to come back, until give_up
    Time give_up{};
    Notification message;
  };
  using Place = std::list<Waiting>::iterator;
  // What waits for (session, slot, generation).
  struct Key {
    std::uint32_t session, slot, generation;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return (std::size_t{key.session} << 40) ^ (std::size_t{key.slot} << 32) ^ key.generation;
    }
  };

  bool parse(Session& sender, const CellBody& cell, Waiting* out, std::vector<SlotRef>* after);
  void link(Session& sender, Place place, const std::vector<SlotRef>& after);
  // Its data is complete (or failed): deliver it, or let it wait for its receiver.
  void ready(Place place, Time now);
  void finish(Place place, TaskState state, Reason reason);
  void leave(const Waiting& waiting);

  Host& host_;
  std::uint32_t mailbox_limit_;
  Duration route_budget_;
  Elsewhere* elsewhere_ = nullptr;
  std::list<Waiting> waiting_;
  std::unordered_map<std::uint64_t, Place> elsewhere_by_number_;
  std::unordered_map<LinkKey, std::uint32_t> from_links_;  // waiting_, by link they came over
  std::unordered_multimap<Key, Place, KeyHash> after_;
  std::unordered_map<std::uint32_t, std::deque<Place>> mailboxes_;  // by receiving session
};

}  // namespace tentq
