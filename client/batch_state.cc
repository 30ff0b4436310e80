// Statuses of tasks and batches. See batch_state.h.
#include "client/batch_state.h"

#include <algorithm>

namespace tentq::lib {

namespace {

TaskStatus::TimePoint time_point(std::int64_t ns) {
  return TaskStatus::TimePoint{std::chrono::nanoseconds{ns}};
}

// A task's share of its owner's bytes. Chunks may end in any order, so of an owner that ended early
// only what is left when the other tasks are whole is certain.
std::uint64_t bytes_of(const Task& task, const Owner& owner, const OwnerView& view) {
  if (view.state == TaskState::completed) return task.length;
  const std::uint64_t others = owner.length - task.length;
  return view.bytes_done > others ? view.bytes_done - others : 0;
}

}  // namespace

TaskStatus BatchState::status(const SlotTables& tables, TaskId id) const {
  TaskStatus status;
  if (id >= task_count.load(std::memory_order_acquire)) return status;
  const Task& task = tasks[id];
  const Owner& owner = owners[task.owner];
  const OwnerView view = tables.view(owner);
  status.state = static_cast<State>(view.state);
  status.reason = static_cast<TaskReason>(view.reason);
  status.bytes = bytes_of(task, owner, view);
  status.enqueued = time_point(view.enqueued_ns);
  status.dispatched = time_point(view.dispatched_ns);
  status.completed = time_point(view.completed_ns);
  return status;
}

BatchStatus BatchState::overall(const SlotTables& tables) const {
  BatchStatus all;
  const std::uint32_t count = task_count.load(std::memory_order_acquire);
  OwnerView view;
  std::uint32_t viewed = capacity;  // the owner that `view` is of
  for (std::uint32_t id = 0; id < count; ++id) {
    const Task& task = tasks[id];
    if (task.owner != viewed) {
      viewed = task.owner;
      view = tables.view(owners[viewed]);
      // Exactly the owner's bytes, not the sum of its tasks' lower bounds.
      all.bytes += view.state == TaskState::completed ? owners[viewed].length : view.bytes_done;
    }
    switch (view.state) {
      case TaskState::pending: ++all.pending; break;
      case TaskState::completed: ++all.completed; break;
      case TaskState::failed: ++all.failed; break;
      case TaskState::timeout: ++all.timeout; break;
      case TaskState::canceled: ++all.canceled; break;
    }
    if (all.reason == TaskReason::none) all.reason = static_cast<TaskReason>(view.reason);
  }
  all.tasks = count;
  if (all.pending != 0) {
    all.state = State::pending;
  } else if (all.failed != 0) {
    all.state = State::failed;
  } else if (all.timeout != 0) {
    all.state = State::timeout;
  } else if (all.canceled != 0) {
    all.state = State::canceled;
  }
  return all;
}

bool BatchState::done(const SlotTables& tables) const {
  const std::uint32_t count = owner_count.load(std::memory_order_acquire);
  const std::uint32_t before = settled.load(std::memory_order_relaxed);
  std::uint32_t next = before;
  while (next < count && is_terminal(tables.state(owners[next]))) ++next;
  // Relaxed: a smaller value only makes somebody look again.
  if (next != before) settled.store(next, std::memory_order_relaxed);
  return next == count;
}

bool BatchState::judged(const SlotTables& tables) const {
  const std::uint32_t count = owner_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!tables.judged(owners[i])) return false;
  }
  return true;
}

void BatchState::reset() {
  const std::uint32_t count = owner_count.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i) {
    owners[i].word.store(0, std::memory_order_relaxed);
    owners[i].cancel_asked = false;
  }
  task_count.store(0, std::memory_order_relaxed);
  owner_count.store(0, std::memory_order_relaxed);
  settled.store(0, std::memory_order_relaxed);
  call_count = 0;
  pins = 0;
  orphans = 0;
  freed = false;
  retired = false;
}

}  // namespace tentq::lib
