// See presence.h.
#include "daemon/directory/presence.h"

#include <utility>

#include "daemon/overloaded.h"
#include "proto/check.h"

namespace tentq::directory {

Presence::Presence(Holder self, std::chrono::seconds lease, std::uint64_t seed, Taken taken)
    : self_(std::move(self)), length_(lease), taken_(std::move(taken)), backoff_(seed) {}

void Presence::set_state(Name& name, NameState state) {
  if (name.state == NameState::published) --published_;
  if (state == NameState::published) ++published_;
  if (state != NameState::taken) name.holder.reset();
  name.state = state;
}

void Presence::want(const std::string& name) {
  Name& of = names_[name];
  of.wanted = true;
  if (of.state == NameState::pending) due_.insert(name);
}

void Presence::unwant(const std::string& name) {
  const auto it = names_.find(name);
  if (it == names_.end()) return;
  it->second.wanted = false;
  due_.insert(name);
}

void Presence::leave() {
  leaving_ = true;
}

Time Presence::next_deadline() const {
  if (asked_) return kNever;
  const bool busy = leaving_ ? lease_ != 0 : !due_.empty();
  if (busy) return retry_at_;
  return lease_ == 0 ? kNever : std::max(renew_at_, retry_at_);
}

std::optional<Call> Presence::next(Time now) {
  if (asked_ || now < retry_at_) return {};
  asked_ = pick(now);
  asked_at_ = now;
  // What failed is not wanted any more.
  if (!asked_ && lease_ == 0) failures_ = 0;
  return asked_;
}

std::optional<Call> Presence::pick(Time now) {
  if (leaving_) return lease_ == 0 ? std::optional<Call>{} : RevokeLease{lease_};
  if (lease_ != 0 && now >= renew_at_) return KeepLease{lease_};
  return pick_name();
}

std::optional<Call> Presence::pick_name() {
  while (!due_.empty()) {
    const std::string name = *due_.begin();
    const auto it = names_.find(name);
    TENTQ_CHECK(it != names_.end());
    Name& of = it->second;
    if (of.wanted) {
      if (lease_ == 0) return GrantLease{length_.count()};
      of.may_be_there = true;
      return PublishName{name, self_, lease_, of.replaces};
    }
    if (of.may_be_there) return WithdrawName{name, lease_};
    set_state(of, NameState::pending);
    names_.erase(it);
    due_.erase(name);
  }
  return {};
}

void Presence::answered(const Answer& answer, Time now) {
  TENTQ_CHECK(asked_.has_value());
  const Call call = *std::exchange(asked_, std::nullopt);
  if (const auto* failure = std::get_if<Failed>(&answer)) return failed(*failure, call, now);
  failures_ = 0;
  retry_at_ = Time{};
  backoff_.reset();
  std::visit(Overloaded{
                 [&](const Leased& a) { leased(a, call); },
                 [&](const Revoked&) { lose_lease(); },
                 [&](const Published& a) { claimed(a, std::get<PublishName>(call).name); },
                 [&](const Withdrawn&) { withdrawn(std::get<WithdrawName>(call).name); },
                 [](const auto&) {},
             },
             answer);
}

void Presence::failed(const Failed& failure, const Call& call, Time now) {
  ++failures_;
  retry_at_ = now + backoff_.next();
  if (failure.fault != Fault::lease_lost) return;
  // It had ended before it was given back: that is as good.
  if (std::holds_alternative<RevokeLease>(call)) failures_ = 0;
  lose_lease();
}

void Presence::leased(const Leased& answer, const Call& call) {
  if (answer.seconds == 0) return lose_lease();
  lease_ = answer.lease;
  // From when it was asked for: etcd counts from later on. Early enough for two more attempts.
  renew_at_ = asked_at_ + Duration{std::chrono::seconds{answer.seconds}} / 3;
  if (!std::holds_alternative<GrantLease>(call)) return;
  for (const auto& [name, of] : names_) {
    if (of.wanted) due_.insert(name);
  }
}

void Presence::claimed(const Published& answer, const std::string& name) {
  const auto it = names_.find(name);
  TENTQ_CHECK(it != names_.end());
  Name& of = it->second;
  of.replaces = 0;
  if (answer.claim == Claim::vacant) return;  // due as before
  const bool own = answer.claim == Claim::done || (answer.holder && answer.holder->lease == lease_);
  if (own) {
    set_state(of, NameState::published);
    if (of.wanted) due_.erase(name);
    return;
  }
  of.may_be_there = false;
  const bool left_behind = answer.holder && answer.holder->holder.host == self_.host &&
                           answer.holder->holder.epoch_counter < self_.epoch_counter;
  if (left_behind) {
    of.replaces = answer.holder->modified;
    return;
  }
  if (!of.wanted) return;
  due_.erase(name);
  const std::optional<Holder> by =
      answer.holder ? std::optional(answer.holder->holder) : std::nullopt;
  const bool known = of.state == NameState::taken && of.holder == by;
  set_state(of, NameState::taken);
  of.holder = by;
  if (!known) taken_(name, by);
}

void Presence::withdrawn(const std::string& name) {
  const auto it = names_.find(name);
  TENTQ_CHECK(it != names_.end());
  it->second.may_be_there = false;
  set_state(it->second, NameState::pending);
}

void Presence::lose_lease() {
  lease_ = 0;
  for (auto& [name, of] : names_) {
    set_state(of, NameState::pending);
    of.may_be_there = false;
    of.replaces = 0;
    due_.insert(name);
  }
}

void Presence::seen(const std::string& name, const Entry* entry) {
  const auto it = names_.find(name);
  if (it == names_.end() || lease_ == 0) return;
  const Name& of = it->second;
  switch (of.state) {
    case NameState::pending: return;  // it is asked for anyway
    case NameState::published:
      if (entry != nullptr && entry->lease == lease_) return;
      break;
    case NameState::taken:
      if (entry != nullptr && of.holder == entry->holder) return;
      break;
  }
  // What was seen may be older than what is known: etcd decides.
  due_.insert(name);
}

}  // namespace tentq::directory
