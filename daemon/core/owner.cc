// The one transition function of owners.
#include "daemon/core/owner.h"

#include <initializer_list>

namespace tentq::core {
namespace {

OwnerState from_one_of(std::initializer_list<OwnerState> allowed, OwnerState from, OwnerState to) {
  for (const OwnerState state : allowed) {
    if (state == from) return to;
  }
  TENTQ_CHECK(!"this cannot happen to an owner in its state");
  return from;
}

}  // namespace

OwnerState next_state(OwnerState from, OwnerAction action) {
  using enum OwnerState;
  switch (action) {
    case OwnerAction::admit: return from_one_of({free}, from, queued);
    case OwnerAction::admit_unrouted: return from_one_of({free}, from, route_pending);
    case OwnerAction::route: return from_one_of({route_pending}, from, queued);
    case OwnerAction::hand_over: return from_one_of({queued, dispatching}, from, dispatching);
    case OwnerAction::hand_over_last: return from_one_of({queued, dispatching}, from, submitted);
    case OwnerAction::take_back: return from_one_of({dispatching, submitted}, from, dispatching);
    case OwnerAction::take_back_all: return from_one_of({dispatching, submitted}, from, queued);
    case OwnerAction::drain: return from_one_of({dispatching, submitted}, from, draining);
    case OwnerAction::complete: return from_one_of({submitted, draining}, from, completed);
    case OwnerAction::fail:
      return from_one_of({queued, route_pending, dispatching, submitted, draining}, from, failed);
    case OwnerAction::cancel:
      return from_one_of({queued, route_pending, dispatching, submitted, draining}, from, canceled);
    case OwnerAction::retire: return from_one_of({completed, failed, canceled}, from, free);
  }
  return from;
}

}  // namespace tentq::core
