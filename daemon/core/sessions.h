// The attached sessions as the core knows them: whose they are, what they may do, what is left of
// those that leave. Conductor thread.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/core/event.h"
#include "daemon/core/tallies.h"

namespace tentq::core {

struct Session {
  bool open = false;
  bool closing = false;         // its end was seen; it stays open until it is quiet
  Reason purge = Reason::none;  // its owners are being ended, with this reason
  std::uint32_t purge_slot = 0;
  std::uint32_t client = 0;
  std::uint32_t class_mask = 0;
  std::uint32_t slots = 0;
  std::uint32_t live = 0;  // owners whose end was not taken yet
  StateCounts owners;
};

class Sessions {
 public:
  explicit Sessions(std::uint32_t most) : sessions_(most) { quiet_.reserve(most); }
  Session& operator[](std::uint32_t session) { return sessions_[session]; }
  const Session& operator[](std::uint32_t session) const { return sessions_[session]; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(sessions_.size()); }
  bool is_open(SessionId id) const {
    return id.value() < sessions_.size() && sessions_[id.value()].open;
  }
  // Open, and its end was not seen.
  bool takes_work(SessionId id) const { return is_open(id) && !sessions_[id.value()].closing; }

  // Ends its owners step by step, from the first slot.
  void start_purge(std::uint32_t session, Reason reason) {
    Session& each = sessions_[session];
    if (each.purge == Reason::none) purging_ += 1;
    each.purge = reason;
    each.purge_slot = 0;
  }
  void end_purge(std::uint32_t session) {
    sessions_[session].purge = Reason::none;
    purging_ -= 1;
  }
  std::uint32_t purging() const { return purging_; }

  // Nothing of it is left: to be told, and its place is free.
  void retire_if_quiet(std::uint32_t session) {
    Session& each = sessions_[session];
    if (!each.closing || each.live != 0 || each.purge != Reason::none) return;
    each = Session{};
    quiet_.push_back(session);
  }
  // Sessions whose quiet was not told.
  bool any_quiet() const { return !quiet_.empty(); }
  SessionId take_quiet() {
    const SessionId id{quiet_.back()};
    quiet_.pop_back();
    return id;
  }

 private:
  std::vector<Session> sessions_;
  std::vector<std::uint32_t> quiet_;
  std::uint32_t purging_ = 0;
};

}  // namespace tentq::core
