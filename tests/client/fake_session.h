// One client of the fake daemon: its memory areas, its tables, and what it has asked for. Used by
// the fake daemon's thread alone, under its mutex.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "proto/control.h"
#include "shm/credit.h"
#include "shm/handshake.h"
#include "shm/memory.h"
#include "shm/ring.h"
#include "shm/session_memory.h"
#include "shm/status_table.h"

namespace tentq::testing {

struct FakeRegion {
  shm::Mapping mapping;
  RegisterRegion message;
};

struct FakeSegment {
  std::string name;
  std::uint64_t incarnation = 0;
  bool reattached = false;  // opened in an earlier life of the daemon
};

struct FakeRing {
  ClassId cls{};
  shm::RingConsumer consumer;
  shm::CreditGrantor credit;
  shm::CreditAmounts granted;  // cumulative
};

// A transfer or notification that is not terminal.
struct FakeOwner {
  ClassId cls{};
  CellBody cell;
  std::vector<SlotRef> after;  // of a notification
  Notification message;
};

struct FakeSession {
  shm::Fd socket;
  bool attached = false;  // HELLO was answered with WELCOME
  bool dead = false;
  Hello hello;
  std::string name;
  shm::OwnedSessionMemory memory;
  shm::Fd doorbell_fd, completion_fd;
  std::vector<FakeRing> rings;
  shm::DoorbellSleeper doorbell;
  shm::CompletionNotifier notifier;
  shm::StatusWriter status;
  std::vector<std::uint32_t> generations;
  std::vector<TaskState> last;  // of each slot's latest owner
  std::map<std::uint32_t, FakeRegion> regions;
  std::map<std::uint32_t, FakeSegment> segments;
  std::uint32_t next_id = 1;
  std::deque<FakeOwner> owners;  // oldest first
  bool receiver_full = false;    // in this turn: later notifications must not overtake
  bool touched = false;          // slots or credit were written in this turn
  std::vector<CellBody> group;

  // Makes the areas; the grants are `grant` for every class, or what the HELLO says it had.
  void set_up(const SessionSizes& sizes, const shm::CreditAmounts& grant);
  FakeRing& ring(ClassId cls);
  void grant(FakeRing& ring, const shm::CreditAmounts& more);
  // Writes the slot and, of a transfer, gives its credit back.
  void finish(const FakeOwner& owner, TaskState state, Reason reason, std::uint64_t bytes);
  // The mapped bytes of a range of the segment's address space; null: not inside one region.
  std::byte* at_offset(std::uint64_t offset, std::uint64_t length);
  std::byte* at_region(std::uint32_t region, std::uint64_t offset, std::uint64_t length);
};

}  // namespace tentq::testing
