// The decisions of the daemon: admission, order, windows, routes, retirement. Pure: driven by
// events with a given time, asks for effects, never acts. One thread; no clock, lock, I/O or
// allocation after construction. The same object runs in the simulator.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/credits/sender.h"
#include "daemon/core/effect.h"
#include "daemon/core/event.h"
#include "daemon/core/limits.h"

namespace tentq::core {

enum class OwnerState : std::uint8_t {
  free,
  queued,
  route_pending,
  dispatching,
  submitted,
  draining,
  completed,
  failed,
  canceled,
};

// What can be seen of one owner from outside.
struct OwnerView {
  OwnerId id;
  SessionId session;
  ClientKey client;
  ClassId cls = ClassId::standard;
  LaneId lane;
  OwnerState state = OwnerState::free;
  Op op = Op::read;
  std::uint64_t length = 0;
  std::uint64_t dispatched_bytes = 0;
  std::uint64_t completed_bytes = 0;
  std::uint32_t chunks_in_flight = 0;
  std::uint32_t slot = 0;
  std::uint64_t cookie = 0;
  Time enqueued{};
  Time deadline = kNever;
};

// The one thing that an owner waits for.
enum class WaitCause : std::uint8_t {
  none,           // it is in flight
  route,          // its segment is not reachable yet, or not any more
  window,         // its lane's window is full
  receiver,       // the host that its data goes to has no room for it
  class_cap,      // its class has as much in flight on the lane as it may have
  reserve,        // what is left of the window is kept for other classes
  client_cap,     // its client has as much in flight as it may have
  order,          // others of its leaf are ahead
  session_order,  // other sessions of its client have their turn
  client_order,   // other clients of its class have their turn
  class_order,    // other classes are ahead
  aging,          // it is old, and old ones have just had their part of the lane
  backoff,        // its transport asked for a pause
  draining,       // it ends as soon as its chunks in flight have
};
struct Explanation {
  OwnerView owner;
  WaitCause cause = WaitCause::none;
  std::uint64_t owners_ahead = 0;  // in its leaf
  std::uint64_t lane_in_flight_bytes = 0;
  std::uint64_t lane_window_bytes = 0;      // with the room that foreground has beyond it, for that
  std::uint64_t lane_others_queued = 0;     // owners that wait for the same lane
  std::uint64_t class_in_flight_bytes = 0;  // of its class, on its lane
  std::uint64_t class_cap_bytes = 0;        // 0 = none
  std::uint64_t lane_reserved_bytes = 0;    // of the window, kept for other classes now
  std::uint64_t client_in_flight_bytes = 0;  // of its client, on all lanes
  std::uint64_t client_cap_bytes = 0;        // 0 = none
  std::uint64_t aging_owed_bytes = 0;        // go on its lane before an old head may
  ReceiverId receiver;                       // invalid: no credit is asked for
  std::uint64_t receiver_room_bytes = 0;     // of its pool, that may go now
  std::uint64_t receiver_need_bytes = 0;     // that its next chunk lacks room for; 0 = it does not
  Time not_before{};                         // end of a backoff or of the route budget
};

struct ClassTotals {
  std::uint64_t queued_owners = 0;
  std::uint64_t queued_bytes = 0;  // not yet dispatched
  std::uint64_t in_flight_owners = 0;
  std::uint64_t in_flight_bytes = 0;
  std::uint64_t route_pending_owners = 0;
  std::uint64_t draining_owners = 0;
  Time oldest_enqueued = kNever;  // kNever when nothing is queued
};
struct LaneTotals {
  std::uint64_t queued_owners = 0;
  std::uint64_t queued_bytes = 0;
  std::uint64_t in_flight_bytes = 0;
  std::uint32_t in_flight_chunks = 0;
  std::uint64_t window_bytes = 0;
  std::uint32_t window_chunks = 0;
  std::uint64_t chunk_bytes = 0;
  bool away = false;    // the way to its host is broken
  ReceiverId receiver;  // whose memory its data goes to; invalid: no credit is asked for
  // What the window has learnt; 0 = not known yet.
  bool adaptive = false;
  std::uint64_t floor_bytes = 0;
  Duration base_latency{0};    // of a chunk that is alone
  Duration target_latency{0};  // the window shrinks above it
  std::uint64_t rate_bytes_per_s = 0;
  std::uint64_t low_rate_bytes_per_s = 0;  // what deadlines are measured by
};
// One pool of a receiver, as this host knows it. limit, sent and freed are of the credit's life.
struct ReceiverTotals {
  CreditState state = CreditState::legacy;
  std::uint64_t limit = 0;
  std::uint64_t sent = 0;
  std::uint64_t freed = 0;
  std::uint64_t uncredited = 0;  // in flight beside it
  std::uint64_t room = 0;        // that may go now
  std::uint64_t window = 0;      // in flight when nothing is heard of it
  std::uint64_t wanted = 0;      // queued, and kept for what comes soon
  std::uint64_t need = 0;        // of the next chunk, that lacks room; 0 = it does not
  std::uint32_t life = 0;
  std::uint64_t epoch = 0;  // of the receiver
  std::uint64_t dropped_grants = 0;

  std::uint64_t in_flight() const { return uncredited + (sent - freed); }
};
struct SessionTotals {
  Amounts outstanding;
  Amounts granted;  // admission credit not yet consumed and released, all classes
  std::uint64_t queued_owners = 0;
  std::uint64_t in_flight_owners = 0;
};
struct Counters {
  std::uint64_t enqueued = 0;
  std::uint64_t dispatched_chunks = 0;
  std::uint64_t completed = 0, failed = 0, timed_out = 0, canceled = 0;
  std::uint64_t transferred_bytes = 0;
  std::uint64_t requeues = 0;
  std::uint64_t stale_completions = 0;
  std::uint64_t internal_reserve_exhausted = 0;
  std::uint64_t admitted_unmeetable = 0;               // owners, with DeadlineMode::advisory
  std::array<std::uint64_t, kReasonCount> rejected{};  // owners refused at admission, by Reason
};

// Credit that is asked of receivers.
struct CreditTerms {
  CreditRules rules;
  std::uint64_t epoch = 0;      // of this host, as receivers know it
  std::uint32_t receivers = 0;  // most that lanes may name; their ids are below it
};

class Core {
 public:
  // Throws std::invalid_argument, naming the limit, when limits contradict each other or the
  // maxima, or the rules of credit each other.
  Core(const Limits& limits, const HardMaxima& maxima, Policy policy, std::uint64_t seed,
       const CreditTerms& credits = {});
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Effects need not be taken after every event, but after each turn of events: what may wait to be
  // told is bounded by maxima.owners, and by maxima.sessions × 4,096 refused owners. Time never
  // goes back; a past `now` is taken for the last one. Work that would take long is done in steps:
  // next_deadline() is then `now`.
  void handle(const Event& event, Time now);
  // The same for what comes by the million: not every one is copied into an Event first.
  void handle(const Submitted& event, Time now);
  void handle(const ChunkEnded& event, Time now);
  // The next thing to do, in order; nullopt when there is nothing (more) to do now.
  std::optional<Effect> next_effect();
  // The same in two parts, for who wants admissions last: an owner whose end was told is not told
  // to be queued any more.
  std::optional<Effect> next_urgent_effect();
  std::optional<OwnerAdmitted> next_admission();
  // When handle(Tick) must be called at the latest.
  std::optional<Time> next_deadline() const;
  // Asserts every invariant; O(everything). For tests and debug builds.
  void check_invariants() const;

  // Run-time changes. ok, or why the change is refused (nothing is changed then).
  StatusCode set_policy(Policy policy);
  StatusCode set_limits(const Limits& limits, std::string* why);

  // Read-only views. Listings cost O(what they list); totals cost O(classes) or O(1).
  Policy policy() const;
  const Limits& limits() const;
  bool draining() const;
  ClassTotals class_totals(ClassId cls) const;
  LaneTotals lane_totals(LaneId lane) const;
  ReceiverTotals receiver_totals(ReceiverId receiver, CreditPool pool) const;
  SessionTotals session_totals(SessionId session) const;
  // The limit that leaves no room for so much more in a session's class, however credit is shared
  // out; none when there is room, or will be without anything ending. O(sessions).
  LimitLevel full_level(SessionId session, ClassId cls, const Amounts& wanted) const;
  const Counters& counters() const;
  Amounts outstanding() const;
  std::optional<OwnerView> find_owner(OwnerId id) const;
  std::optional<Explanation> explain(OwnerId id) const;
  // Oldest first, at most `most`; filter may be empty.
  std::vector<OwnerView> list_owners(const std::function<bool(const OwnerView&)>& filter,
                                     std::size_t most) const;
  // Over everything that decides the future; equal before and after a refused submit.
  std::uint64_t state_hash() const;

 private:
  struct Parts;
  template <class Kind>
  void handle_one(const Kind& event, Time now);
  std::unique_ptr<Parts> parts_;
};

}  // namespace tentq::core
