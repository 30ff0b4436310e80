// What this host has in the directory: the names of its segments under one lease, which is kept as
// long as the daemon lives. Says what to ask of etcd next, one call at a time, and takes the
// answers. Pure: time is passed in.
//
// A name belongs to who published it first. Who comes second waits until the watch says that the
// name is free. Every call may have been carried out although its answer was lost: each can be
// asked again, and what is there under the own lease is this daemon's.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "daemon/directory/calls.h"
#include "daemon/peers/backoff.h"
#include "proto/units.h"

namespace tentq::directory {

enum class NameState : std::uint8_t {
  pending,    // to be published
  published,  //
  taken,      // another host has it
};

class Presence {
 public:
  // Another host turned out to have the name; none: its entry cannot be read.
  using Taken = std::function<void(const std::string& name, const std::optional<Holder>& by)>;

  Presence(Holder self, std::chrono::seconds lease, std::uint64_t seed, Taken taken);

  void want(const std::string& name);
  void unwant(const std::string& name);
  // The daemon stops: the lease is given back, and with it all names.
  void leave();
  bool has_left() const { return leaving_ && lease_ == 0 && !asked_; }

  // The next call; none while one is not answered, or when there is nothing to do now.
  std::optional<Call> next(Time now);
  void answered(const Answer& answer, Time now);
  // The watch, or a listing, has this of a name; null: nothing.
  void seen(const std::string& name, const Entry* entry);
  // When next() may have more than now; kNever when only something else changes that.
  Time next_deadline() const;

  struct Name {
    bool wanted = false;
    NameState state = NameState::pending;
    bool may_be_there = false;     // under the own lease
    std::int64_t replaces = 0;     // the revision of what an earlier life of this daemon left
    std::optional<Holder> holder;  // of taken
  };
  const std::map<std::string, Name, std::less<>>& names() const { return names_; }
  std::size_t published() const { return published_; }
  bool has_lease() const { return lease_ != 0; }
  // Calls in a row that etcd has not carried out.
  std::uint32_t failures() const { return failures_; }

 private:
  std::optional<Call> pick(Time now);
  std::optional<Call> pick_name();
  void failed(const Failed& failure, const Call& call, Time now);
  void leased(const Leased& answer, const Call& call);
  void claimed(const Published& answer, const std::string& name);
  void withdrawn(const std::string& name);
  void lose_lease();
  void set_state(Name& name, NameState state);

  const Holder self_;
  const std::chrono::seconds length_;
  Taken taken_;
  Backoff backoff_;
  std::map<std::string, Name, std::less<>> names_;
  std::set<std::string> due_;  // names with something to do
  std::size_t published_ = 0;
  std::optional<Call> asked_;
  Time asked_at_{};
  Time retry_at_{};
  std::int64_t lease_ = 0;
  Time renew_at_{};
  std::uint32_t failures_ = 0;
  bool leaving_ = false;
};

}  // namespace tentq::directory
