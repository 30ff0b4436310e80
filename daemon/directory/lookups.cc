// See lookups.h.
#include "daemon/directory/lookups.h"

#include <algorithm>
#include <utility>

#include "proto/check.h"

namespace tentq::directory {

void Lookups::add(std::string name, Time give_up, Answered answered) {
  waiting_.push_back({next_number_++, std::move(name), give_up, 0, std::move(answered)});
}

std::optional<Call> Lookups::next() {
  if (asked_ || waiting_.empty()) return {};
  asked_ = waiting_.front().number;
  return FindName{waiting_.front().name};
}

void Lookups::answered(const Answer& answer) {
  TENTQ_CHECK(asked_.has_value());
  const std::uint64_t number = *std::exchange(asked_, std::nullopt);
  const auto* failure = std::get_if<Failed>(&answer);
  last_failure_ = failure == nullptr ? std::nullopt : std::optional(*failure);
  const auto it = std::find_if(waiting_.begin(), waiting_.end(),
                               [number](const Waiting& each) { return each.number == number; });
  if (it == waiting_.end()) return;  // it was given up
  if (failure != nullptr && ++it->failures < attempts_) return;
  end(static_cast<std::size_t>(it - waiting_.begin()), answer);
}

void Lookups::end(std::size_t at, const Answer& answer) {
  const Answered answered = std::move(waiting_[at].answered);
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(at));
  answered(answer);
}

void Lookups::expire(Time now) {
  while (!waiting_.empty() && waiting_.front().give_up <= now) {
    end(0, last_failure_.value_or(Failed{Fault::unreachable, {}, "no answer in time"}));
  }
}

Time Lookups::next_deadline() const {
  return waiting_.empty() ? kNever : waiting_.front().give_up;
}

}  // namespace tentq::directory
