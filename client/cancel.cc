// Cancelling: a CANCEL cell behind the owner's own cell in its ring. Under the short lock.
#include "client/client_state.h"

namespace tentq::lib {

Status ClientState::cancel_owner(BatchState& batch, Owner& owner) {
  if (owner.cancel_asked || tentq::is_terminal(tables_.state(owner))) return {};
  const OwnerWord word = owner.load();
  if (word.is_unbound() || !attached_) {
    // Its daemon is gone; it becomes CANCELED instead of being repeated.
    owner.cancel_asked = true;
    OwnerView ended;
    unbind(*session_, owner, &ended);
    if (!tentq::is_terminal(ended.state)) {
      ended = {.state = TaskState::canceled, .reason = Reason::canceled};
    }
    latch(owner, ended);
    completion_fd_.raise();
    return {};
  }
  Session& session = *session_;
  CellBody cell;
  cell.kind = CellKind::cancel;
  cell.slot = word.slot();
  cell.slot_generation = word.generation();
  const ClassId cls = batch.calls[owner.call].cls;
  if (!session.ring(cls).ring.publish(std::span(&cell, 1), shm::RingUse::control)) {
    return {Code::too_many_requests, "the ring of this class has no room for a cancel"};
  }
  owner.cancel_asked = true;
  session.doorbell().published();
  return {};
}

Status ClientState::cancel(BatchState& batch, TaskId task) {
  if (Status status = usable(); !status.ok()) return status;
  const Guard hold(lock_);
  if (task >= batch.task_count.load(std::memory_order_relaxed)) {
    return {Code::not_found, "the batch has no task " + std::to_string(task)};
  }
  return cancel_owner(batch, batch.owners[batch.tasks[task].owner]);
}

Status ClientState::cancel_all(BatchState& batch) {
  if (Status status = usable(); !status.ok()) return status;
  const Guard hold(lock_);
  const std::uint32_t count = batch.owner_count.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (Status status = cancel_owner(batch, batch.owners[i]); !status.ok()) return status;
  }
  return {};
}

Status ClientState::cancel_everything() {
  Status status;
  for_each_unfinished([&](BatchState& batch, Owner& owner, std::uint32_t) {
    if (status.ok()) status = cancel_owner(batch, owner);
  });
  return status;
}

}  // namespace tentq::lib
