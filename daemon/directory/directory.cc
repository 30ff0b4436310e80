// See directory.h.
#include "daemon/directory/directory.h"

#include <algorithm>
#include <utility>

#include "daemon/logging/log.h"
#include "daemon/overloaded.h"

namespace tentq::directory {
namespace {

constexpr const char* kRemedy =
    "see that etcd runs at `directory.endpoints` and answers this host's HTTP without a user; "
    "meanwhile tentq://HOST/NAME reaches every host, and known names stay known";

}  // namespace

std::string_view to_string(DirectoryState state) {
  switch (state) {
    case DirectoryState::starting: return "starting";
    case DirectoryState::up: return "up";
    case DirectoryState::down: return "down";
  }
  return "unknown";
}

Directory::Directory(DirectoryTerms terms, Gateway& gateway, ErrorBook& errors, Wake wake)
    : terms_(std::move(terms)),
      gateway_(gateway),
      errors_(errors),
      wake_(std::move(wake)),
      presence_(
          terms_.self, terms_.lease, terms_.seed,
          [this](const std::string& name, const std::optional<Holder>& by) { taken(name, by); }),
      known_(kMostNames, terms_.seed + 1),
      lookups_(terms_.endpoint_count + 1) {}

void Directory::publish(const std::string& name, Time now) {
  if (!publishes()) return;
  presence_.want(name);
  proceed(now);
}

void Directory::withdraw(const std::string& name, Time now) {
  presence_.unwant(name);
  proceed(now);
}

void Directory::leave(Time now) {
  presence_.leave();
  proceed(now);
}

void Directory::tick(Time now) {
  lookups_.expire(now);
  proceed(now);
}

void Directory::proceed(Time now) {
  now_ = now;
  ask_presence(now);
  follow_names(now);
  ask_lookup();
  judge(now);
  wake_(std::min({presence_.next_deadline(), known_.next_deadline(), lookups_.next_deadline()}));
}

void Directory::ask_presence(Time now) {
  const std::optional<Call> call = presence_.next(now);
  if (!call) return;
  gateway_.ask(Line::presence, *call, [this](const Answer& answer, Time at) {
    now_ = at;
    note(answer);
    presence_.answered(answer, at);
    proceed(at);
  });
}

void Directory::follow_names(Time now) {
  const std::optional<KnownNames::Step> step = known_.next(now);
  if (!step) return;
  if (const auto* from = std::get_if<WatchFrom>(&*step)) {
    gateway_.watch(from->revision, [this](const WatchNews& news, Time at) { told(news, at); });
    return;
  }
  gateway_.ask(Line::names, std::get<ListNames>(*step),
               [this](const Answer& answer, Time at) { listed(answer, at); });
}

void Directory::listed(const Answer& answer, Time now) {
  note(answer);
  if (std::optional<KnownNames::Table> before = known_.listed(answer, now)) {
    gateway_.dispose(std::move(*before));
    // A name that the table has no room for is not missing there.
    for (const auto& [name, of] : presence_.names()) {
      const Entry* entry = known_.find(name);
      if (entry != nullptr || known_.left_out() == 0) presence_.seen(name, entry);
    }
  }
  proceed(now);
}

void Directory::told(const WatchNews& news, Time now) {
  if (const auto* failure = std::get_if<Failed>(&news)) note(*failure);
  known_.told(news, now);
  if (!known_.is_open()) gateway_.stop_watch();
  if (const auto* changes = std::get_if<Changes>(&news)) {
    for (const Change& change : changes->changes) {
      presence_.seen(change.name, change.entry ? &*change.entry : nullptr);
    }
  }
  proceed(now);
}

void Directory::ask_lookup() {
  const std::optional<Call> call = lookups_.next();
  if (!call) return;
  gateway_.ask(Line::lookups, *call, [this](const Answer& answer, Time at) {
    note(answer);
    lookups_.answered(answer);
    proceed(at);
  });
}

Resolved Directory::resolved(const Entry& entry) const {
  const bool here = entry.holder.host == terms_.self.host;
  return {StatusCode::ok, here, here ? std::string() : entry.holder.address, {}};
}

void Directory::resolve(const std::string& name, Time now, Answered answered) {
  if (const Entry* entry = known_.find(name)) return answered(resolved(*entry));
  if (lookups_.full()) {
    return answered({StatusCode::exhausted,
                     false,
                     {},
                     "as many names are looked up in the directory as may be; try again"});
  }
  lookups_.add(name, now + terms_.timeout, [this, name, answered](const Answer& answer) {
    const auto* found = std::get_if<Found>(&answer);
    if (found != nullptr && found->entry) return answered(resolved(*found->entry));
    if (found != nullptr) {
      return answered(
          {StatusCode::not_found, false, {}, "no host publishes '" + name + "' in the directory"});
    }
    answered({StatusCode::no_route,
              false,
              {},
              "the directory cannot be asked for '" + name + "' (etcd at " + terms_.endpoints +
                  ": " + std::get<Failed>(answer).text + "); tentq://HOST/" + name +
                  " needs no directory"});
  });
  proceed(now);
}

void Directory::note(const Answer& answer) {
  const auto* failure = std::get_if<Failed>(&answer);
  if (failure == nullptr) return;
  // A lease that ended and a compaction are part of etcd's work.
  if (failure->fault == Fault::lease_lost || failure->fault == Fault::compacted) return;
  ++failure_count_;
  last_failure_ = failure->endpoint + ": " + failure->text;
}

void Directory::judge(Time now) {
  // Once round all endpoints, and one more: a member that restarts is no loss of the directory.
  const std::uint32_t most = terms_.endpoint_count;
  const bool failing = known_.failures() > most || presence_.failures() > most;
  const bool up = known_.is_following() && !failing;
  const DirectoryState state = failing ? DirectoryState::down : up ? DirectoryState::up : state_;
  if (state == state_) return;
  state_ = state;
  if (state == DirectoryState::down) {
    errors_.report(LogLevel::warning, "directory.down",
                   "the directory cannot be reached: etcd at " + last_failure_, kRemedy, now);
    return;
  }
  last_failure_.clear();
  log(LogLevel::info, "directory: etcd at {} answers, {} names", terms_.endpoints,
      known_.table().size());
}

void Directory::taken(const std::string& name, const std::optional<Holder>& by) {
  const std::string whose = by ? "host " + by->address : "somebody whose entry cannot be read";
  errors_.report(LogLevel::error, "directory.name_taken",
                 "the name '" + name + "' is in the directory already, by " + whose +
                     ": tentq:///" + name + " leads there, not to the segment of this host",
                 "give one of the two another name; when the other goes, this host's is published",
                 now_);
}

}  // namespace tentq::directory
