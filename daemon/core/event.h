// Everything that can happen to the core. Plain data: ids, offsets and durations, never memory.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <variant>

#include "proto/cell.h"
#include "proto/classes.h"
#include "proto/ids.h"
#include "proto/peer.h"
#include "proto/session_layout.h"
#include "proto/status.h"
#include "proto/units.h"

namespace tentq::core {

// Amounts that limits, charges and credit are counted in.
struct Amounts {
  std::uint64_t owners = 0;
  std::uint64_t bytes = 0;
  std::uint64_t extents = 0;
  constexpr bool operator==(const Amounts&) const = default;
};

// In a client's own limit: as much as `Limits::client` says, whenever that changes too.
inline constexpr std::uint64_t kAsAllClients = std::numeric_limits<std::uint64_t>::max();

// One validated request. The inbox has checked ids, rights and ranges.
struct OwnerSpec {
  std::uint32_t slot = 0;
  std::uint32_t slot_generation = 0;
  Op op = Op::read;
  bool internal = false;  // work of the daemon itself: charged to the internal reserve
  LaneId lane;            // invalid: the route is not known yet (RoutePending)
  RegionIndex local_region;
  RegionIndex remote_region;  // invalid while the route is not known
  SegmentHandle remote_segment;
  std::uint64_t local_offset = 0;   // in the local region
  std::uint64_t remote_offset = 0;  // in the remote region, or segment while that is not known
  std::uint64_t length = 0;
  std::uint32_t extents = 1;
  Duration deadline{0};        // from now; 0 = none
  Duration max_queue_wait{0};  // from now; 0 = none
  std::uint64_t cookie = 0;
  // Why it fails when its route is not known within the budget.
  Reason without_route = Reason::no_route;
};

struct SessionOpened {
  SessionId session;
  ClientKey client;                   // fairness key; sessions of one key take turns
  std::uint32_t weight = 1;           // of the client
  std::uint64_t in_flight_bytes = 0;  // most of the client, all lanes; 0 = the cap of all clients
  std::uint32_t class_mask = kClientClassMask;
  // Most outstanding of the client, all sessions.
  Amounts outstanding{kAsAllClients, kAsAllClients, kAsAllClients};
  std::uint32_t slots = 0;             // bounds the session's outstanding owners
  Amounts limit;                       // most outstanding, of this session
  Amounts replayed[kMaxClasses] = {};  // granted at once: outstanding before a re-attach
};
// Its queued owners end, its chunks drain; SessionQuiet follows.
struct SessionClosed {
  SessionId session;
};
// Another weight, cap or limit of a client, while its sessions work. What is outstanding stays,
// also beyond a smaller limit.
struct ClientChanged {
  ClientKey client;
  std::uint32_t weight = 1;
  std::uint64_t in_flight_bytes = 0;  // most in flight, all lanes; 0 = the cap of all clients
  Amounts outstanding{kAsAllClients, kAsAllClients, kAsAllClients};
};
// One call's owners; admitted whole or ended whole with a reason (an OwnerEnded each).
// The span is read inside handle() only.
struct Submitted {
  SessionId session;
  ClassId cls = ClassId::standard;
  bool replayed = false;  // a re-attached owner: outside all-or-nothing and outside draining
  // Not none: the inbox found the call unfit. Ends every owner of it with this reason and gives the
  // credit that the client consumed for them back; nothing else of the specs is looked at.
  Reason refused = Reason::none;
  std::span<const OwnerSpec> owners;
};
struct CancelRequested {
  SessionId session;
  std::uint32_t slot = 0;
  std::uint32_t slot_generation = 0;
};
// Answers to ResolveRoute; an owner that is gone meanwhile is ignored.
struct RouteResolved {
  OwnerId owner;
  LaneId lane;
  RegionIndex remote_region;
  std::uint64_t remote_offset = 0;  // in the region
};
struct RouteFailed {
  OwnerId owner;
  Reason reason = Reason::no_route;
};
struct ChunkEnded {
  ChunkId chunk;
  std::uint64_t bytes = 0;
  Reason reason = Reason::none;  // none = all bytes moved
  // The part of its time that it was queued at the other daemon: no delay of the lane.
  Duration queued_elsewhere{0};
};
// The transport refused the chunk and changed nothing: back to the head, with backoff.
struct ChunkRefused {
  ChunkId chunk;
};
// The way to another host broke while the chunk was on it. Nothing touches its memory any more, and
// whether some of its bytes arrived is not known: back to the head, to be moved again.
struct ChunkLost {
  ChunkId chunk;
};
// The session's counters in REQ, as read after ReclaimCredit or with a wish.
struct CreditConsumed {
  SessionId session;
  ClassId cls = ClassId::standard;
  Amounts consumed;  // cumulative
};
struct CreditWanted {
  SessionId session;
  ClassId cls = ClassId::standard;
  Amounts wanted;    // beyond what it has consumed
  Amounts consumed;  // cumulative
  // A thread waits: freed credit gathers for it. Else it is served from what is free now.
  bool waiting = false;
};
// How a lane's window follows the lane.
struct WindowRules {
  bool adaptive = false;                                   // false: it stays as it is
  Duration delay_target = std::chrono::microseconds{100};  // most delay beyond the base latency
  std::uint64_t least_bytes = 0;                           // its floor is never lower
  Duration chunk_time = std::chrono::microseconds{20};     // S = rate × this, where S is not given
};
// A new route, also of a lane that is open: what its window has learnt is forgotten.
struct LaneOpened {
  LaneId lane;
  std::uint64_t window_bytes = 0;  // the ceiling, when the window is adaptive
  std::uint32_t window_chunks = 0;
  std::uint64_t chunk_bytes = 0;  // S; 0: by the lane's rate
  WindowRules rules{};
  // The host whose memory its data goes to: chunks take its credit, too. Invalid: none does.
  // Another one than before only while nothing of the lane is in flight.
  ReceiverId receiver{};
};
// The same route. What is in flight stays there, also beyond a smaller window.
struct LaneWindowChanged {
  LaneId lane;
  std::uint64_t window_bytes = 0;
  std::uint32_t window_chunks = 0;
  std::uint64_t chunk_bytes = 0;
  WindowRules rules{};
};
// The way to the other host is broken. What is queued stays, and nothing is handed over, until
// LaneBack; then it goes on. Chunks in flight come back by themselves. Once the route budget is
// spent, what is queued fails with `peer_lost`, and whatever still comes for the lane at once.
struct LaneAway {
  LaneId lane;
};
struct LaneBack {
  LaneId lane;
};
// A transport has met resistance. Goes before the ends of the chunks that met it.
enum class PressureKind : std::uint8_t {
  saturated,    // it took less than it was given
  retry,        // it had to repeat something
  timeout,      // something did not come back in time
  recommended,  // it asks for at most that many bytes in flight
};
struct LanePressure {
  LaneId lane;
  PressureKind kind = PressureKind::saturated;
  std::uint64_t recommended_bytes = 0;  // of `recommended`
};
// A HELLO of a receiver, this host itself among them. Of another epoch than before it voids all
// credit; the same one changes nothing. There is no room before the first.
struct ReceiverConnected {
  ReceiverId receiver;
  std::uint64_t epoch = 0;
  bool speaks_credits = false;
};
// A receiver's answer to SendDemand. What is not of its last epoch and life changes nothing.
struct GrantReceived {
  ReceiverId receiver;
  PeerGrant grant;
};
struct DrainRequested {};  // admits nothing more; Drained follows when nothing is left
struct ResumeRequested {};
// Ends everything that is queued as canceled (shutdown) and lets chunks drain.
struct ShutdownRequested {};
struct Tick {};

using Event = std::variant<Submitted, ChunkEnded, ChunkRefused, ChunkLost, CancelRequested,
                           RouteResolved, RouteFailed, CreditConsumed, CreditWanted, SessionOpened,
                           SessionClosed, ClientChanged, LaneOpened, LaneWindowChanged, LaneAway,
                           LaneBack, LanePressure, ReceiverConnected, GrantReceived, DrainRequested,
                           ResumeRequested, ShutdownRequested, Tick>;

}  // namespace tentq::core
