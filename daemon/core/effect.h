// Everything that the core asks for. The shell carries effects out in order.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "daemon/core/event.h"

namespace tentq::core {

struct DispatchChunk {
  ChunkId chunk;
  LaneId lane;
  SessionId session;
  ClassId cls = ClassId::standard;
  Op op = Op::read;
  RegionIndex local_region;
  RegionIndex remote_region;
  std::uint64_t local_offset = 0;   // of the chunk, in the region
  std::uint64_t remote_offset = 0;  // of the chunk, in the region
  std::uint64_t length = 0;
};
// Ask the transport to give a chunk back early; its completion still comes.
struct CancelChunk {
  ChunkId chunk;
  LaneId lane;
};
// An owner is terminal and quiet: write its slot, drop its region pins. Comes exactly once for
// every owner of every Submitted, admitted or refused, also when its session is gone.
struct OwnerEnded {
  SessionId session;
  OwnerId owner;  // invalid when it was refused
  std::uint32_t slot = 0;
  std::uint32_t slot_generation = 0;
  ClassId cls = ClassId::standard;
  TaskState state = TaskState::completed;
  Reason reason = Reason::none;
  Op op = Op::read;
  RegionIndex local_region;
  RegionIndex remote_region;
  std::uint64_t length = 0;
  std::uint64_t bytes_done = 0;
  Time enqueued{};
  Time dispatched{};  // first chunk; zero = never
  Time completed{};
};
// Admitted: its slot should say PENDING. Not told of an owner whose end was told first.
struct OwnerAdmitted {
  SessionId session;
  OwnerId owner;
  std::uint32_t slot = 0;
  std::uint32_t slot_generation = 0;
  Time enqueued{};
};
struct ResolveRoute {
  OwnerId owner;
  SessionId session;
  SegmentHandle segment;
  std::uint64_t segment_offset = 0;
  std::uint64_t length = 0;
  Op op = Op::read;
};
// Store these cumulative grants in STA. Only ever raises them.
struct RaiseCredit {
  SessionId session;
  ClassId cls = ClassId::standard;
  Amounts granted;
};
// Store the lower grants (seq_cst), then read what was consumed (seq_cst) and answer
// CreditConsumed.
struct ReclaimCredit {
  SessionId session;
  ClassId cls = ClassId::standard;
  Amounts granted;
};
// Nothing of the session is left in the core; its id may be reused.
struct SessionQuiet {
  SessionId session;
};
// Tell a receiver what waits for it, and answer with GrantReceived when it grants. The header is
// the shell's to fill. It may be lost: another one follows.
struct SendDemand {
  ReceiverId receiver;
  PeerDemand demand;
};
struct Drained {};

using Effect = std::variant<DispatchChunk, OwnerEnded, OwnerAdmitted, RaiseCredit, ReclaimCredit,
                            CancelChunk, ResolveRoute, SessionQuiet, SendDemand, Drained>;

// An effect to be filled in where it is returned. A copy of what was only just written in smaller
// pieces has to wait for them.
template <class Kind>
Kind& make_effect(std::optional<Effect>& effect) {
  return *std::get_if<Kind>(&effect.emplace(std::in_place_type<Kind>));
}

}  // namespace tentq::core
