// The directory of names, as the daemon uses it: publishes, finds, and says how it is. Joins what
// this host has there, what it knows from there and single look-ups with the way to etcd. Conductor
// thread; time comes from the callers.
#pragma once

#include <functional>
#include <string>

#include "daemon/directory/gateway.h"
#include "daemon/directory/known_names.h"
#include "daemon/directory/lookups.h"
#include "daemon/directory/presence.h"
#include "daemon/logging/error_book.h"
#include "proto/status.h"
#include "proto/units.h"

namespace tentq::directory {

struct DirectoryTerms {
  Holder self;  // with an empty address: nothing is published
  std::chrono::seconds lease{10};
  Duration timeout{};     // of a look-up
  std::string endpoints;  // as configured
  std::uint32_t endpoint_count = 1;
  std::uint64_t seed = 0;
};

// Where a name leads.
struct Resolved {
  StatusCode status = StatusCode::ok;  // not_found, no_route, exhausted
  bool here = false;                   // this host has it
  std::string address;                 // of another host's daemon
  std::string text;                    // why not, and what to do
};

enum class DirectoryState : std::uint8_t { starting, up, down };
std::string_view to_string(DirectoryState state);

class Directory {
 public:
  using Answered = std::function<void(const Resolved&)>;
  // When tick() is to be called at the latest; kNever: not before something else.
  using Wake = std::function<void(Time at)>;

  // Names kept here; others are asked for when somebody wants them.
  static constexpr std::size_t kMostNames = 16'384;

  Directory(DirectoryTerms terms, Gateway& gateway, ErrorBook& errors, Wake wake);

  void begin(Time now) { proceed(now); }
  void tick(Time now);

  void publish(const std::string& name, Time now);
  void withdraw(const std::string& name, Time now);
  // The daemon stops: its names go.
  void leave(Time now);
  bool has_left() const { return presence_.has_left(); }

  // Answered at once when the name is known here, else when etcd has been asked.
  void resolve(const std::string& name, Time now, Answered answered);

  DirectoryState state() const { return state_; }
  const std::string& endpoints() const { return terms_.endpoints; }
  const std::string& last_failure() const { return last_failure_; }  // empty: none
  bool publishes() const { return !terms_.self.address.empty(); }
  const Presence& presence() const { return presence_; }
  const KnownNames& known() const { return known_; }
  std::uint64_t failures() const { return failure_count_; }

 private:
  // Asks for what is next on each line, then says when to look again.
  void proceed(Time now);
  void ask_presence(Time now);
  void follow_names(Time now);
  void ask_lookup();
  void listed(const Answer& answer, Time now);
  void told(const WatchNews& news, Time now);
  // What was heard of etcd may change the state; the first line of each is logged.
  void note(const Answer& answer);
  void judge(Time now);
  void taken(const std::string& name, const std::optional<Holder>& by);
  Resolved resolved(const Entry& entry) const;

  const DirectoryTerms terms_;
  Gateway& gateway_;
  ErrorBook& errors_;
  Wake wake_;
  Presence presence_;
  KnownNames known_;
  Lookups lookups_;
  DirectoryState state_ = DirectoryState::starting;
  Time now_{};  // of the event that is looked at
  std::string last_failure_;
  std::uint64_t failure_count_ = 0;
};

}  // namespace tentq::directory
