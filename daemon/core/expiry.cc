// What ends by itself: deadlines, the longest wait in the queue, the budget of a route.
#include "daemon/core/state.h"

namespace tentq::core {
namespace {

// Bounds the work of one event; the rest follows with the next one, which is due at once.
constexpr std::uint32_t kMostExpired = 1024;

}  // namespace

void State::on(const Tick&) {}  // time itself is looked at with every event

// Durations become times here, once.
void State::set_expiry(std::uint32_t index, const OwnerSpec& spec) {
  OwnerExtras& extras = owners.extras(index);
  OwnerRecord& owner = owners[index];
  extras.deadline_ns = extras.queue_expiry_ns = 0;
  if (spec.deadline.count() != 0) {
    extras.deadline_ns = later(now_ns, spec.deadline.count());
    owner.flags |= kHasExpiry;
    if (leaves_.deadlines().can_tell(extras.deadline_ns)) {
      extras.due_key = leaves_.deadlines().key_of(extras.deadline_ns);
      owner.flags |= kDated;
    }
  }
  if (spec.max_queue_wait.count() != 0) {
    extras.queue_expiry_ns = later(now_ns, spec.max_queue_wait.count());
    owner.flags |= kHasExpiry;
  }
}

// The earliest of what may end it in its present state; 0 = nothing.
std::int64_t State::due_ns(std::uint32_t index) const {
  const OwnerRecord& owner = owners[index];
  const OwnerExtras& extras = owners.extras(index);
  std::int64_t due = 0;
  const auto consider = [&due](std::int64_t when) {
    if (when != 0 && (due == 0 || when < due)) due = when;
  };
  if ((owner.flags & kHasExpiry) != 0) {
    consider(extras.deadline_ns);
    if (is_queued(owner.state)) consider(extras.queue_expiry_ns);
  }
  if (owner.state == OwnerState::route_pending) {
    consider(later(owner.enqueued_ns, limits.route_budget.count()));
  }
  return due;
}

void State::arm(std::uint32_t index) {
  const std::int64_t due = due_ns(index);
  if (due == 0) return;
  owners.extras(index).due_ns = due;
  wheel_.set(index);
}

void State::expire(std::uint32_t index) {
  const OwnerRecord& owner = owners[index];
  const OwnerExtras& extras = owners.extras(index);
  if (owner.state == OwnerState::draining) return;
  const std::int64_t due = due_ns(index);
  if (due == 0) return;
  if (due > now_ns) {
    arm(index);
  } else if ((owner.flags & kHasExpiry) != 0 && due == extras.deadline_ns) {
    end_early(index, TaskState::timeout, Reason::deadline);
  } else if ((owner.flags & kHasExpiry) != 0 && due == extras.queue_expiry_ns) {
    end_early(index, TaskState::timeout, Reason::max_queue_wait);
  } else {
    end_early(index, TaskState::failed, extras.without_route);
  }
}

// Returns whether more may be due.
bool State::expire_some() {
  for (std::uint32_t i = 0; i < kMostExpired; ++i) {
    const std::uint32_t index = wheel_.take_due(now_ns);
    if (index == kNone) return false;
    expire(index);
  }
  return true;
}

std::optional<Time> State::next_deadline() const {
  if (more_to_do_) return time_from_ns(now_ns);
  std::int64_t first = 0;
  for (const std::int64_t when :
       {wheel_.next_ns(), lanes_.next_resume_ns(), lanes_.next_give_up_ns(), credit_.next_ns()}) {
    if (when != 0 && (first == 0 || when < first)) first = when;
  }
  if (receivers_.next_ns() != kNever_ns && (first == 0 || receivers_.next_ns() < first)) {
    first = receivers_.next_ns();
  }
  if (first == 0) return std::nullopt;
  return time_from_ns(first);
}

}  // namespace tentq::core
