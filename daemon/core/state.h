// Everything that the core knows, and the steps that events are made of; each step is in the file
// of its invariant. Conductor thread. Bytes and nanoseconds.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "daemon/core/accounts.h"
#include "daemon/core/call_slots.h"
#include "daemon/core/chunk_table.h"
#include "daemon/core/client_caps.h"
#include "daemon/core/core.h"
#include "daemon/core/credit.h"
#include "daemon/core/lanes.h"
#include "daemon/core/leaves.h"
#include "daemon/core/owner_table.h"
#include "daemon/core/picker.h"
#include "daemon/core/receivers.h"
#include "daemon/core/rings.h"
#include "daemon/core/sessions.h"
#include "daemon/core/tallies.h"
#include "daemon/core/wheel.h"

namespace tentq::core {

class State {
 public:
  State(const Limits& limits, const HardMaxima& maxima, Policy policy, std::uint64_t seed,
        const CreditTerms& credits);

  // Events; one file each group.
  void on(const Submitted& event);          // admission.cc
  void on(const ChunkEnded& event);         // completion.cc
  void on(const ChunkRefused& event);       // completion.cc
  void on(const ChunkLost& event);          // completion.cc
  void on(const CancelRequested& event);    // ending.cc
  void on(const RouteResolved& event);      // routes.cc
  void on(const RouteFailed& event);        // routes.cc
  void on(const CreditConsumed& event);     // attachment.cc
  void on(const CreditWanted& event);       // attachment.cc
  void on(const SessionOpened& event);      // attachment.cc
  void on(const SessionClosed& event);      // attachment.cc
  void on(const ClientChanged& event);      // attachment.cc
  void on(const LaneOpened& event);         // routes.cc
  void on(const LaneWindowChanged& event);  // routes.cc
  void on(const LaneAway& event);           // routes.cc
  void on(const LaneBack& event);           // routes.cc
  void on(const LanePressure& event);       // routes.cc
  void on(const ReceiverConnected& event);  // routes.cc
  void on(const GrantReceived& event);      // routes.cc
  void on(const DrainRequested& event);     // drain.cc
  void on(const ResumeRequested& event);    // drain.cc
  void on(const ShutdownRequested& event);  // drain.cc
  void on(const Tick& event);               // expiry.cc

  // Time goes on: pauses end, owners expire, purges go on. Bounded work.
  void advance(Time now) {
    now_ns = std::max(now_ns, to_ns(now));
    lanes_.advance(now_ns);
    receivers_.advance(now_ns);
    more_to_do_ =
        (wheel_.is_due(now_ns) && expire_some()) || (sessions_.purging() != 0 && purge_some());
    if (lanes_.next_to_give_up(now_ns) != kNone) more_to_do_ = give_up_some() || more_to_do_;
    if (!more_to_do_) leaves_.advance(now_ns);
  }
  std::optional<Time> next_deadline() const;
  std::optional<Effect> next_effect();            // telling.cc
  std::optional<OwnerAdmitted> next_admission();  // telling.cc
  std::optional<Effect> next_urgent_effect();     // telling.cc

  void set_policy(Policy policy);           // policy.cc
  void apply_limits(const Limits& limits);  // policy.cc
  void check_invariants() const;            // invariants.cc
  void check_cheaply() const;
  std::uint64_t state_hash() const;  // state_hash.cc

  // Read by the views.
  Policy policy() const { return picker_.policy(); }
  Amounts outstanding() const { return accounts_.outstanding(); }
  OwnerView view(std::uint32_t owner) const;  // inspection.cc
  Explanation explain(std::uint32_t owner) const;
  ClassTotals class_totals(std::uint32_t cls) const;
  LaneTotals lane_totals(std::uint32_t lane) const;
  ReceiverTotals receiver_totals(std::uint32_t receiver, CreditPool pool) const;
  std::uint32_t receiver_count() const { return receivers_.count(); }
  SessionTotals session_totals(std::uint32_t session) const;
  LimitLevel full_level(SessionId id, ClassId cls, const Amounts& wanted) const;  // admission.cc

  Limits limits;
  HardMaxima maxima;
  Counters counters;
  OwnerTable owners;
  bool draining = false;
  std::int64_t now_ns = 0;

 private:
  // A list of owners through OwnerRecord::next and prev.
  struct OwnerList {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
  };
  struct Refused {
    SessionId session;
    std::uint32_t slot = 0;
    std::uint32_t slot_generation = 0;
    RegionIndex local_region;
    RegionIndex remote_region;
    Reason reason = Reason::none;
    ClassId cls = ClassId::standard;
    Op op = Op::read;
    std::uint64_t length = 0;
  };
  static_assert(sizeof(Refused) == 32);

  // Chunks in flight of all lanes together, whatever their windows say: at least this many.
  static constexpr std::uint32_t kLeastChunks = 65'536;
  // Those that are admitted, and some whose end was not taken yet.
  static std::uint32_t owner_capacity(const HardMaxima& most) {
    return most.owners + most.owners / 16 + 1024;
  }

  // Refused owners that may be waiting to be told: a slot has at most one.
  static std::uint32_t refusal_capacity(const HardMaxima& most) {
    return std::max(kMostCallOwners + 1, most.sessions * most.slots);
  }

  // Admission (admission.cc).
  Reason judge(const Submitted& call, std::span<const OwnerSpec> specs, const Amounts& total);
  Reason judge_session(const Submitted& call) const;
  Reason judge_owner(const Submitted& call, const OwnerSpec& spec);
  bool is_repeated(const Submitted& call, const Amounts& total) const;
  Reason judge_room(const Submitted& call, const Amounts& total);
  Reason judge_limits(const Submitted& call, const Amounts& total);
  void admit_or_refuse(const Submitted& call, std::span<const OwnerSpec> specs);
  void refuse(const Submitted& call, std::span<const OwnerSpec> specs, Reason reason,
              const Amounts& total);
  void admit(const Submitted& call, std::span<const OwnerSpec> specs, const Amounts& total);
  void admit_one(const Submitted& call, const OwnerSpec& spec, std::uint32_t client);
  static bool is_internal(ClassId cls) { return cls == ClassId::internal; }

  // The only way an owner's state changes: next_state() and the tallies that follow from it.
  template <OwnerAction kAction>
  void move(OwnerRecord& owner) {
    const OwnerState to = next_state(owner.state, kAction);
    StateCounts& of_class = tallies_[owner.cls].owners;
    StateCounts& of_session = sessions_[owner.session].owners;
    if (is_live(owner.state)) {
      of_class.in(owner.state) -= 1;
      of_session.in(owner.state) -= 1;
    }
    if (is_live(to)) {
      of_class.in(to) += 1;
      of_session.in(to) += 1;
    }
    owner.state = to;
  }
  void end_state(OwnerRecord& owner, TaskState outcome);  // ending.cc

  // Dispatch (dispatch.cc).
  std::optional<Effect> dispatch();
  std::uint64_t chunk_length(const OwnerRecord& owner, std::uint64_t left) const;
  std::uint64_t next_length(std::uint32_t owner) const;
  std::optional<Effect> hand_over(std::uint32_t owner, const LeafKey& key, std::uint64_t length);
  std::uint32_t cut(std::uint32_t owner, std::uint64_t length);
  void put_in_flight(const OwnerRecord& owner, std::uint64_t bytes);
  void take_from_flight(const OwnerRecord& owner, std::uint64_t bytes);
  void free_credit(const OwnerRecord& owner, std::uint32_t chunk, bool handed_over);
  void queue_bytes(const OwnerRecord& owner, std::uint64_t bytes);
  void unqueue_bytes(const OwnerRecord& owner, std::uint64_t bytes);
  void drop_holds(const OwnerRecord& owner);
  void let_client_go(std::uint32_t client);
  void let_all_clients_go();  // policy.cc

  // Completion (completion.cc).
  std::uint32_t find_chunk(const ChunkId& id) const;
  std::uint32_t take_back(const ChunkId& id, bool handed_over);
  bool drop_of_draining(std::uint32_t owner, std::uint32_t chunk);
  void requeue(std::uint32_t owner, std::uint32_t chunk);

  // Queues (ending.cc): with the counts of lanes and the savings of turns.
  void enter_leaf(std::uint32_t owner, bool put_back);
  void leave_leaf(std::uint32_t owner, const LeafKey& key);
  void enter_list(OwnerList* list, std::uint32_t owner);
  void leave_list(OwnerList* list, std::uint32_t owner);

  // Ending (ending.cc).
  void end_early(std::uint32_t owner, TaskState outcome, Reason reason);
  void drop_undispatched(std::uint32_t owner);
  void settle(std::uint32_t owner);
  void finish(std::uint32_t owner, TaskState outcome, Reason reason);

  // Deadlines at admission (estimate.cc).
  Reason judge_deadlines(const Submitted& call, std::span<const OwnerSpec> specs);
  bool is_unmeetable(const Submitted& call, const OwnerSpec& spec, std::uint64_t before) const;
  double bytes_ahead(const LeafKey& key, std::uint64_t bytes, std::uint32_t due_key) const;
  double ahead_of_client(const LeafKey& key, double own) const;
  double ahead_of_class(const LeafKey& key, double own) const;

  // Expiry (expiry.cc).
  void set_expiry(std::uint32_t owner, const OwnerSpec& spec);
  std::int64_t due_ns(std::uint32_t owner) const;
  void arm(std::uint32_t owner);
  void expire(std::uint32_t owner);
  bool expire_some();
  // Lanes that stay away (routes.cc).
  bool give_up_some();
  // Sessions and shutdown (drain.cc).
  bool purge_some();

  // Telling (telling.cc).
  std::optional<Effect> tell_refused();
  std::optional<Effect> tell_ended();
  void announce(std::uint32_t owner);
  bool has_unasked();
  std::optional<Effect> tell_unasked();
  std::optional<Effect> tell_cancel(std::uint32_t chunk);
  std::optional<Effect> tell_demand();
  std::int64_t oldest_to(std::uint32_t receiver, bool internal) const;

  // Inspection (inspection.cc).
  WaitCause wait_cause(const OwnerRecord& owner, std::uint32_t index) const;
  WaitCause lane_cause(const OwnerRecord& owner) const;
  WaitCause turn_cause(const OwnerRecord& owner) const;
  Time oldest_enqueued(std::uint32_t cls) const;

  // Invariants (invariants.cc).
  struct Sums;
  void check_owner(std::uint32_t owner, Sums* sums) const;
  std::uint64_t check_chunks(std::uint32_t owner, std::uint32_t first, bool in_flight) const;
  bool stands_before(std::uint32_t a, std::uint32_t b) const;
  std::uint32_t check_leaf(const LeafKey& key) const;
  void check_leaves() const;
  void check_flight(const Sums& sums) const;
  void check_sums(const Sums& sums) const;
  void check_credits(const Sums& sums) const;
  void check_sessions(const Sums& sums) const;

  std::uint64_t hash_owner(std::uint64_t hash, std::uint32_t owner) const;

  ChunkTable chunks_;
  Lanes lanes_;
  Receivers receivers_;
  Leaves leaves_;
  Picker picker_;
  ClientCaps client_caps_;
  Wheel wheel_;
  Accounts accounts_;
  AdmissionCredit credit_;
  Sessions sessions_;
  ClassTallies tallies_{};
  std::array<OwnerList, kMaxClasses> unrouted_{};
  OwnerList ended_;
  BoundedRing<OwnerId> untold_;   // admitted owners, in order; some have ended since
  BoundedRing<OwnerId> unasked_;  // those whose route is to be asked for
  BoundedRing<Refused> refused_;
  CallSlots call_slots_;
  Arena<std::uint32_t> scratch_;  // of set_policy
  bool shutting_down_ = false;
  bool drained_owed_ = false;
  bool more_to_do_ = false;  // a bounded step left something
};

}  // namespace tentq::core
