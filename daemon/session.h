// One attached client as the daemon sees it: its two memory areas, the daemon's own tables about it
// and what it may do. Conductor thread only. Everything here is the daemon's private copy; what the
// client can write is only reached through RingConsumer, CreditGrantor and DoorbellSleeper.
#pragma once

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/hosts/remote_segments.h"
#include "daemon/segments.h"
#include "daemon/views.h"
#include "proto/control.h"
#include "proto/ids.h"
#include "shm/credit.h"
#include "shm/handshake.h"
#include "shm/ring.h"
#include "shm/session_memory.h"
#include "shm/status_table.h"

namespace tentq {

class ControlChannel;

// The daemon's own account of a status slot.
struct SlotEntry {
  std::uint32_t generation = 0;  // of the last owner that took it
  bool busy = false;             // that owner is not terminal
  TaskState last = TaskState::pending;
  Time enqueued{};
};

struct Credentials {
  std::uint32_t pid = 0, uid = 0, gid = 0;
  std::vector<gid_t> groups;  // with the primary group
};

// Of this host, or of another one.
struct OpenedSegment {
  SegmentPtr segment;  // null: of another host
  std::uint64_t incarnation = 0;
  RemoteSegmentPtr remote{};  // null: of this host
};

struct SessionRing {
  ClassId cls{};
  shm::RingConsumer consumer;
  shm::CreditGrantor credit;
  // Raised grants are shown in steps, so that the line that the client reads with every call is not
  // written with every completion: what is held back is at most a quarter of the first grant.
  shm::CreditAmounts credit_shown, credit_owed, credit_step;
  Time stalled_since{};  // zero: not stalled
};

struct Session {
  SessionId id;
  ClientId client;
  ClientKey key;
  std::string name;
  std::uint64_t incarnation = 0;
  Token token{};
  Credentials credentials;
  std::uint32_t class_mask = 0;
  std::uint32_t asked_classes = 0;  // before its quota
  std::uint32_t downgraded = 0;     // classes whose submits go to the highest that it has
  std::uint64_t downgraded_owners = 0;
  std::string cgroup;
  Time attached{};
  Time last_active{};

  shm::OwnedSessionMemory memory;
  shm::Fd doorbell_fd;
  std::unique_ptr<boost::asio::posix::stream_descriptor> doorbell_wait;  // a duplicate of it
  shm::Fd completion_fd;
  std::vector<SessionRing> rings;
  shm::DoorbellSleeper doorbell;
  shm::CompletionNotifier notifier;
  shm::StatusWriter status;
  std::vector<SlotEntry> slots;
  std::uint32_t slots_used = 0;

  std::unordered_map<std::uint32_t, RegionIndex> regions;     // by RegionId
  std::unordered_map<std::uint32_t, OpenedSegment> segments;  // by SegmentHandle
  std::uint32_t next_region = 1;
  std::uint32_t next_segment = 1;
  std::uint64_t registered_bytes = 0;
  std::uint32_t registering = 0;  // registrations under way
  std::uint32_t opening = 0;      // segments of other hosts, not answered
  SegmentPtr exported;            // null: anonymous

  ControlChannel* channel = nullptr;  // null: gone
  bool awake = false;                 // in the inbox's list
  bool backlog = false;               // more is published than one turn took
  Time silent_since{};                // work was found before its doorbell rang; zero: it has rung
  bool touched = false;               // in the outbox's list
  bool holding = false;               // in the outbox's list of credit held back
  bool leaving = false;               // waits for quiet
  bool reattached = false;
  bool quarantined = false;
  std::uint32_t notifications = 0;  // sent and not yet ended
  std::uint64_t mailbox_lost = 0;
  std::array<std::uint64_t, kViolationCount> violations{};
  std::string last_error;

  Asker asker() const { return {id, credentials.uid, &credentials.groups, name}; }
};

}  // namespace tentq
