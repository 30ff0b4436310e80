// A batch: room for a fixed number of tasks, the owners they were merged into, and the calls that
// brought them. Filled under the client's lock; read by any thread without it, up to the counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "client/owner.h"
#include "client/slot_tables.h"
#include "proto/classes.h"
#include "tentq/types.hpp"

namespace tentq::lib {

// A public id. A derived task is a part of its owner.
struct Task {
  std::uint32_t owner = 0;   // index in its batch's owners
  std::uint64_t offset = 0;  // from the owner's start, bytes
  std::uint64_t length = 0;  // bytes
};

// What all owners of one submit have in common.
struct Call {
  std::uint64_t serial = 0;       // order of submission within the client
  std::int64_t submitted_ns = 0;  // only if it has durations
  std::uint64_t deadline_ns = 0;  // duration from submission; 0 = none
  std::uint64_t max_queue_wait_ns = 0;
  std::uint64_t cookie = 0;
  ClassId asked{};  // by the caller
  ClassId cls{};    // that it goes to: less urgent when the quota puts it there
  bool no_resubmit = false;
};

struct BatchState {
  explicit BatchState(std::uint32_t room)
      : capacity(room),
        tasks(std::make_unique<Task[]>(room)),
        owners(std::make_unique<Owner[]>(room)),
        calls(std::make_unique<Call[]>(room)) {}

  const std::uint32_t capacity;
  // Partner of both: the acquire loads below. Release, last in a submit: without it a reader could
  // find a task whose owner is not filled in.
  std::atomic<std::uint32_t> task_count{0};
  std::atomic<std::uint32_t> owner_count{0};
  // All owners before this one are terminal; only a hint that saves looking again.
  mutable std::atomic<std::uint32_t> settled{0};
  std::unique_ptr<Task[]> tasks;
  std::unique_ptr<Owner[]> owners;
  std::unique_ptr<Call[]> calls;

  // Under the client's lock.
  std::uint32_t call_count = 0;
  std::uint32_t pins = 0;     // notifications that wait for its owners
  std::uint32_t orphans = 0;  // owners not terminal when it was freed
  bool freed = false;         // no handle refers to it any more
  bool retired = false;       // its slots were given back, but for orphans
  std::size_t index = 0;      // in the client's list

  TaskStatus status(const SlotTables& tables, TaskId task) const;
  BatchStatus overall(const SlotTables& tables) const;
  bool done(const SlotTables& tables) const;
  // Whether the daemon has judged every owner: admitted or refused it.
  bool judged(const SlotTables& tables) const;
  // As new.
  void reset();
};

}  // namespace tentq::lib
