// How owners end: the transition with its tallies, the queues they leave, and the one place where
// an owner becomes terminal and every charge of it is released.
#include "daemon/core/state.h"

namespace tentq::core {

void State::on(const CancelRequested& event) {
  if (!sessions_.is_open(event.session)) return;
  const std::uint32_t index = owners.find_slot(event.session.value(), event.slot);
  // The slot may have ended, or have a newer owner: both are normal.
  if (index == kNone || owners[index].slot_generation != event.slot_generation) return;
  end_early(index, TaskState::canceled, Reason::canceled);
}

void State::enter_leaf(std::uint32_t index, bool put_back) {
  const OwnerRecord& owner = owners[index];
  if (put_back) {
    leaves_.put_back(index);
  } else {
    leaves_.push(index);
  }
  lanes_[owner.lane].queued_owners += 1;
  const LeafKey key = leaves_.key_of(owner);
  const bool has_new_head = put_back || leaves_.leaf(key).head == index;
  // A new head may be smaller than what its lane is held for.
  if (has_new_head) drop_holds(owner);
  if (has_new_head || owner.enqueued_ns < now_ns) picker_.entered(key, owner.enqueued_ns);
}

void State::leave_leaf(std::uint32_t index, const LeafKey& key) {
  leaves_.remove(index, key);
  const Leaf& leaf = leaves_.leaf(key);
  if (leaf.count == 0) {
    picker_.left(key);
  } else if ((owners[index].flags & kDated) != 0) {
    // Whoever comes behind a deadline may have waited for longer.
    picker_.entered(key, owners[leaf.head].enqueued_ns);
  }
  lanes_[key.lane].queued_owners -= 1;
}

void State::enter_list(OwnerList* list, std::uint32_t index) {
  OwnerRecord& owner = owners[index];
  owner.next = kNone;
  owner.prev = list->tail;
  (list->tail == kNone ? list->head : owners[list->tail].next) = index;
  list->tail = index;
}

void State::leave_list(OwnerList* list, std::uint32_t index) {
  const OwnerRecord& owner = owners[index];
  (owner.prev == kNone ? list->head : owners[owner.prev].next) = owner.next;
  (owner.next == kNone ? list->tail : owners[owner.next].prev) = owner.prev;
}

// Decides the outcome of an owner whose bytes need not all move. What is queued ends at once;
// chunks in flight are waited for. The first decision stands.
void State::end_early(std::uint32_t index, TaskState outcome, Reason reason) {
  OwnerRecord& owner = owners[index];
  switch (owner.state) {
    case OwnerState::queued:
    case OwnerState::dispatching:
      leave_leaf(index, leaves_.key_of(owner));
      drop_holds(owner);
      drop_undispatched(index);
      break;
    case OwnerState::route_pending:
      leave_list(&unrouted_[owner.cls], index);
      drop_undispatched(index);
      break;
    case OwnerState::submitted: break;
    case OwnerState::free:
    case OwnerState::draining:
    case OwnerState::completed:
    case OwnerState::failed:
    case OwnerState::canceled: return;
  }
  if (owner.in_flight == 0) {
    finish(index, outcome, reason);
    return;
  }
  owner.outcome = outcome;
  owner.reason = static_cast<std::uint8_t>(reason);
  move<OwnerAction::drain>(owner);
  // At shutdown what is with a transport may finish.
  if (reason == Reason::shutdown) return;
  for (std::uint32_t c = owner.chunks; c != kNone; c = chunks_[c].next) chunks_.ask_cancel(c);
}

void State::drop_undispatched(std::uint32_t index) {
  OwnerRecord& owner = owners[index];
  std::uint64_t bytes = owner.length - owner.handed;
  if ((owner.flags & kHasReturned) != 0) {
    std::uint32_t* list = &owners.extras(index).returned;
    while (*list != kNone) {
      bytes += chunks_[*list].length;
      chunks_.remove(list, *list);
    }
    owner.flags &= static_cast<std::uint8_t>(~kHasReturned);
  }
  unqueue_bytes(owner, bytes);
}

// Nothing of it may be in flight any more for it to end.
void State::settle(std::uint32_t index) {
  const OwnerRecord& owner = owners[index];
  if (owner.in_flight != 0) return;
  if (owner.state == OwnerState::submitted) {
    TENTQ_CHECK(owner.completed == owner.length);
    finish(index, TaskState::completed, Reason::none);
  } else if (owner.state == OwnerState::draining) {
    const bool all_moved = owner.completed == owner.length && (owner.flags & kAnyFailed) == 0;
    // Cancelled too late: it did all of its work.
    if (owner.outcome == TaskState::canceled && all_moved) {
      finish(index, TaskState::completed, Reason::none);
    } else {
      finish(index, owner.outcome, static_cast<Reason>(owner.reason));
    }
  }
}

void State::end_state(OwnerRecord& owner, TaskState outcome) {
  switch (outcome) {
    case TaskState::completed:
      counters.completed += 1;
      move<OwnerAction::complete>(owner);
      return;
    case TaskState::failed:
      counters.failed += 1;
      move<OwnerAction::fail>(owner);
      return;
    case TaskState::timeout:
      counters.timed_out += 1;
      move<OwnerAction::fail>(owner);
      return;
    case TaskState::canceled:
      counters.canceled += 1;
      move<OwnerAction::cancel>(owner);
      return;
    case TaskState::pending: break;
  }
  TENTQ_CHECK(false && "an owner ends with an outcome");
}

void State::finish(std::uint32_t index, TaskState outcome, Reason reason) {
  OwnerRecord& owner = owners[index];
  TENTQ_CHECK(owner.in_flight == 0);
  end_state(owner, outcome);
  wheel_.drop(index);
  owners.leave_slot(index);
  const Amounts amounts = owner.amounts();
  accounts_.release(amounts, owner.internal());
  credit_.release(owner.session, owner.cls, amounts);
  owner.outcome = outcome;
  owner.reason = static_cast<std::uint8_t>(reason);
  owner.order = static_cast<std::uint64_t>(now_ns);
  enter_list(&ended_, index);
}

}  // namespace tentq::core
