// A naive picture of the core, O(everything) per step, beside a real one that random operations
// drive. What the two disagree on fails the property. One thread.
#pragma once

#include <deque>
#include <map>
#include <ostream>
#include <set>
#include <vector>

#include "tests/core/world.h"

namespace tentq::core {

enum class StepKind : std::uint8_t {
  submit,
  submit_call,
  submit_large,
  submit_unrouted,
  submit_internal,
  end_chunk,
  end_chunk_well,
  fail_chunk,
  refuse_chunk,
  lose_chunk,
  cancel,
  route,
  stale,
  wish,
  wait,
  advance,
  window,
  way,
  policy,
  weights,
  caps,
  client,
  age,
  reopen,
  drain,
  resume,
  grant,
  connect,
};
inline constexpr std::uint32_t kStepKinds = 28;

struct Step {
  StepKind kind{};
  std::uint32_t a = 0, b = 0, c = 0;
};
std::ostream& operator<<(std::ostream& out, const Step& op);

class Model {
 public:
  explicit Model(std::uint64_t seed);
  // Does it to the core, follows its effects, compares. Fails by RC_ASSERT.
  void apply(const Step& op);
  // Ends everything: whatever was admitted or refused ended exactly once, and nothing is charged.
  void finish();
  // Over all effects so far, in order.
  std::uint64_t trace() const { return trace_; }

 private:
  struct Owner {
    OwnerSpec spec;
    std::uint32_t session = 0;
    ClassId cls = ClassId::standard;
    std::uint64_t order = 0;                       // of being routable
    std::uint64_t due_bucket = ~std::uint64_t{0};  // 2^18 ns of its deadline; ~0: none
    bool routed = false;
    std::map<std::uint64_t, std::uint64_t> todo;  // offset → length, not in a transport's hands
    std::map<ChunkId, DispatchChunk> flying;
  };
  struct LaneShape {
    std::uint64_t bytes = 0;
    std::uint32_t chunks = 0;
    std::uint64_t largest = 0;
    bool away = false;
    Time away_since{};
    std::uint64_t over = 0;  // what users had in flight when a rule changed
    std::array<std::uint64_t, kMaxClasses> over_of{};  // the same, of each class
  };
  // What a lane has in flight, and what it may still take, by the rules as they are written.
  struct LaneUse {
    std::uint64_t bytes = 0;
    std::uint32_t chunks = 0;
    std::array<std::uint64_t, kMaxClasses> of{};  // bytes
    std::uint32_t foreground_chunks = 0;

    std::uint64_t users() const { return bytes - of[0]; }
  };

  void submit(std::uint32_t session, ClassId cls, std::vector<OwnerSpec> specs);
  void expect_verdict(std::uint32_t session, ClassId cls, const std::vector<OwnerSpec>& specs,
                      std::uint64_t hash_before);
  OwnerSpec make_spec(const Step& op, std::uint64_t length);
  void end(const Step& op, bool well);
  void refuse(const Step& op);
  void lose(const Step& op);
  bool take_back(const Step& op, ChunkId* id);
  void cancel(const Step& op);
  void route(const Step& op);
  void stale(const Step& op);
  void reopen(const Step& op);
  void change(const Step& op);
  void change_limits(const Step& op);
  void change_window(const Step& op);
  void change_way(const Step& op);
  // Its way has been broken for longer than owners may wait for it.
  bool is_given_up(LaneId lane) const;
  void rules_changed();
  // The host that lanes 1 and 2 lead to (model_credit.cc).
  void grant(const Step& op);
  void connect(const Step& op);
  void answer(const SendDemand& asked, std::uint64_t limit);
  void follow_demands();
  void note_credit(const DispatchChunk& chunk, const Owner& owner);
  void check_receivers() const;
  bool receiver_has_room(const Owner& owner) const;

  void follow();
  void follow_ends();
  void follow_dispatches();
  void check_order(const Owner& owner) const;
  void check_urgency(const Owner& owner) const;
  void check_totals() const;
  void check_lanes() const;
  void check_flight(std::uint16_t lane, const LaneUse& use) const;
  void check_clients() const;
  LaneUse use_of(std::uint16_t lane) const;
  std::uint64_t in_flight_of(std::uint32_t client) const;
  std::uint64_t cap_of(std::uint32_t client) const;
  Amounts limit_of(std::uint32_t client) const;
  Amounts outstanding_of(std::uint32_t client) const;
  Amounts promised_to(std::uint32_t client) const;
  void limit_client(std::uint32_t client, const Amounts& own);
  bool classes_count() const;
  bool has_room(std::uint16_t lane, const LaneUse& use, std::size_t cls) const;
  bool waits(const OwnerId& id, const Owner& owner) const;
  bool may_go(const Owner& owner, const LaneUse& use) const;
  void check_credit() const;
  void mix(std::uint64_t value);
  std::uint32_t client_of(std::uint32_t session) const { return session / 2; }
  bool has_work() const { return !world_.in_flight.empty(); }

  World world_;
  std::map<OwnerId, Owner> owners_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<OwnerSpec, ClassId>> pending_;
  std::vector<OwnerId> unrouted_;
  std::map<std::uint16_t, LaneShape> lanes_;
  std::deque<SendDemand> asked_;                                   // latest demands
  std::array<std::map<std::uint32_t, std::uint64_t>, 2> granted_;  // [pool]: highest limit, by life
  std::array<std::map<std::uint32_t, std::uint64_t>, 2> sent_;     // [pool]: bytes, by life
  std::uint64_t receiver_epoch_ = 100;
  std::map<std::uint32_t, std::uint64_t> client_caps_;
  std::map<std::uint32_t, std::uint64_t> client_over_;  // in flight when a rule changed
  std::map<std::uint32_t, Amounts> client_limits_;      // their own
  std::map<std::uint32_t, Amounts> promised_over_;      // promised when its limit changed
  std::set<ChunkId> dead_;
  std::set<OwnerId> ended_;
  std::uint64_t order_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t submitted_ = 0;
  std::uint64_t told_ = 0;
  std::uint64_t trace_ = 0;
};

}  // namespace tentq::core
