// One attachment to one daemon: its memory areas, rings, credit, control socket and limits. Made by
// attach(); ends with its socket. The client keeps the newest; threads that wait may hold older
// ones.
#pragma once

#include <algorithm>
#include <array>
#include <memory>

#include "client/control_channel.h"
#include "client/notify_arena.h"
#include "client/orphan_table.h"
#include "client/slot_allocator.h"
#include "proto/control.h"
#include "shm/credit.h"
#include "shm/handshake.h"
#include "shm/ring.h"
#include "shm/session_memory.h"
#include "shm/status_table.h"

namespace tentq::lib {

// One granted class: its ring, its credit and its share of the arena.
struct ClassRing {
  bool granted = false;
  shm::RingProducer ring;
  shm::CreditSpender credit;
  NotifyArena arena;  // under the client's lock
};

struct SessionFds {
  shm::Fd socket, doorbell, completion;
};

class Session {
 public:
  Session(const Welcome& welcome, shm::MappedSessionMemory memory, SessionFds fds,
          ControlSink* sink);

  const Welcome& welcome() const { return welcome_; }
  const SessionSizes& sizes() const { return welcome_.sizes; }
  ControlChannel& channel() { return channel_; }
  bool lost() const { return channel_.lost(); }
  ClassRing& ring(ClassId cls) { return rings_[index_of(cls)]; }
  bool granted(ClassId cls) const { return rings_[index_of(cls)].granted; }
  // Where a submit of this class goes: there, or to the most urgent class granted if the client's
  // quota puts it there. Not granted if it is refused.
  ClassId class_for(ClassId asked) const {
    const bool moved = index_of(asked) < kMaxClasses && (welcome_.downgraded & bit_of(asked)) != 0;
    return moved && !granted(asked) ? first_class() : asked;
  }
  // The limit that the last wish of a class ran into, as the daemon said.
  LimitLevel full_level(ClassId cls) const;
  // A submit has begun: fetches the lines that it will write while it is still checking.
  void expect_submit(ClassId cls) const {
    const ClassRing& ring = rings_[index_of(cls)];
    ring.ring.prefetch();
    ring.credit.prefetch();
  }
  // The most urgent granted class; control cells without a class of their own go there.
  ClassId first_class() const;
  shm::DoorbellRinger& doorbell() { return doorbell_; }
  shm::CompletionWaiter& completions() { return completions_; }
  const shm::StatusReader& status() const { return status_; }
  const Slot* slots() const { return memory_.view.slots(); }
  std::byte* arena() const { return memory_.view.arena(); }
  // What the daemon says of itself in STA.
  DaemonState state() const;
  int completion_fd() const { return completion_.get(); }
  int control_socket() const { return channel_.socket(); }
  // Most owners that one call can have: what ring, slots and the daemon's limits allow.
  std::uint32_t largest_call() const { return largest_call_; }
  // Calls of no more bytes than this are within every limit on bytes.
  std::uint64_t surely_small() const {
    return std::min(welcome_.limits.bytes, welcome_.limits.largest_owner);
  }

  // Under the client's lock.
  SlotAllocator& allocator() { return allocator_; }
  OrphanTable& orphans() { return orphans_; }
  std::uint16_t ordinal = 0;  // in OwnerWords

  // Wakes every thread that sleeps on this session, because another one has taken its place.
  void wake_sleepers() const;
  // Replaces the pages of STA by zeros and hands over their mapping, which must live as long as
  // anybody may read an OwnerWord of this session.
  shm::Mapping retire();
  // In a forked child: closes its copies of all fds, touching no lock.
  void abandon();

 private:
  Welcome welcome_;
  std::uint32_t largest_call_;
  shm::MappedSessionMemory memory_;
  shm::Fd doorbell_fd_;
  shm::Fd completion_;
  ControlChannel channel_;
  std::array<ClassRing, kMaxClasses> rings_;
  shm::DoorbellRinger doorbell_;
  shm::CompletionWaiter completions_;
  shm::StatusReader status_;
  SlotAllocator allocator_;
  OrphanTable orphans_;
};

}  // namespace tentq::lib
