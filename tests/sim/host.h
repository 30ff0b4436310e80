// One host in virtual time: the core, its lanes as links or as ways to other hosts, and the
// library's side of its sessions (credit and slots). Carries effects out in order; checks the
// core's invariants and its own. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "daemon/core/core.h"
#include "tests/core/link_model.h"
#include "tests/sim/audit.h"
#include "tests/sim/record.h"

namespace tentq::sim {

// Who has a session: a load. Called when the core has nothing more to say; may submit.
class Party {
 public:
  virtual ~Party() = default;
  // An owner ended. `intended_ns` is what it was submitted with.
  virtual void ended(const core::OwnerEnded& end, std::int64_t intended_ns) = 0;
  // There is more credit than before.
  virtual void credit_raised() = 0;
};

// What takes the chunks of lanes to other hosts. A chunk comes back by Host::returned(), failed()
// or lost(), with the number of its flight.
class Carrier {
 public:
  virtual ~Carrier() = default;
  virtual void post(std::uint32_t lane, std::uint32_t flight, const core::DispatchChunk& chunk) = 0;
  virtual void demand(ReceiverId receiver, const PeerDemand& demand) = 0;
};

struct HostShape {
  core::Limits limits;
  core::HardMaxima maxima;
  core::Policy policy = core::Policy::wdrr;
  std::uint64_t seed = 1;
  std::uint32_t check_every = 1;  // events; 0: never
  core::CreditTerms credits;
  std::uint32_t first_lane = 0;  // in the record
  Carrier* carrier = nullptr;    // of all its lanes, which are far; null: they are links of its own
};

struct SessionShape {
  std::uint32_t client = 0;  // of the record
  ClientKey key;
  std::uint64_t in_flight_bytes = 0;
  std::uint32_t slots = 0;
  bool counted = true;  // false: what it moves and ends is work for other hosts, and not recorded
};

class Host {
 public:
  // `record` outlives it; its clients and lanes are there before they are opened here.
  Host(const HostShape& shape, Record* record);

  void open_lane(std::uint32_t lane, const core::LinkShape& link, const core::LaneOpened& window);
  // Its chunks go by the carrier. `op`: of owners on it.
  void open_far_lane(const core::LaneOpened& window, Op op);
  SessionId open_session(const SessionShape& shape, Party* party);

  // What the library does: false, and nothing happened, when there is no credit or no slot.
  // `remote`: told again with each of its chunks.
  bool submit(SessionId session, ClassId cls, std::uint32_t lane, std::uint64_t length,
              std::int64_t intended_ns, RegionIndex remote = RegionIndex{2});
  // Says what the next submit needs. A waiting one is served in turn, see Party::credit_raised().
  void wish(SessionId session, ClassId cls, std::uint64_t length, bool waiting);

  void set_rate(std::uint32_t lane, std::uint64_t bytes_per_s);
  void set_delay(std::uint32_t lane, std::int64_t delay_ns);
  void jam(std::uint32_t lane, std::int64_t for_ns);
  // A chunk of a far lane has arrived whole; has failed; or its way broke and it is to go again.
  void returned(std::uint32_t flight);
  void failed(std::uint32_t flight, Reason reason);
  void lost(std::uint32_t flight);
  void set_away(std::uint32_t lane, bool away);
  void connect(ReceiverId receiver, std::uint64_t epoch, bool speaks_credits);
  void take_grant(ReceiverId receiver, const PeerGrant& grant);
  // Ends all that the session has outstanding; chunks in flight still come back.
  void cancel_all(SessionId session);
  // The process ends and another one begins: all far lanes are away, what they had in flight is
  // gone, and sessions hand in again what was outstanding. Sessions that are not counted are new.
  void restart(std::uint64_t seed, std::uint64_t epoch);

  void set_policy(core::Policy policy);
  void set_class_weight(ClassId cls, std::uint32_t weight);

  // Time goes on; never back.
  void advance(std::int64_t now_ns) { now_ns_ = std::max(now_ns_, now_ns); }
  std::int64_t now_ns() const { return now_ns_; }
  // What is due now: chunks that come back, the core's deadline.
  void step();
  // Carries out everything that is to be done at this time, and lets parties answer.
  void settle();
  // When step() is due; kNeverNs: not by itself.
  std::int64_t next_ns();
  bool idle() const { return core_->outstanding() == core::Amounts{}; }
  // The core is in an unknown state after a failed check: nothing can be done with it any more.
  bool broken() const { return broken_; }
  void finish();

  const core::Core& core() const { return *core_; }
  // Since when it has had something queued for the lane and handed nothing over; kNeverNs: it has
  // nothing queued.
  std::int64_t waits_since_ns(std::uint32_t lane) const { return lanes_[lane].waits_since_ns; }

 private:
  struct Pending {
    bool open = false;
    ClassId cls = ClassId::standard;
    RegionIndex remote;
    std::uint64_t length = 0;
    std::uint64_t handed = 0;
    std::int64_t intended_ns = 0;
    std::int64_t admitted_ns = 0;
    std::uint64_t ahead = 0;   // foreground: bytes that P8 counts, as of its admission
    std::uint64_t others = 0;  // foreground: bytes of other sessions' foreground until then
    std::uint32_t lane = 0;
    std::uint32_t changes = 0;  // of the lane, when it was submitted
  };
  struct Session {
    SessionShape shape;
    Party* party = nullptr;
    std::array<core::Amounts, kMaxClasses> granted{};
    std::array<core::Amounts, kMaxClasses> consumed{};
    std::vector<std::uint32_t> free_slots;
    std::vector<std::uint32_t> generations;
    std::vector<Pending> pending;                 // by slot
    std::vector<std::uint64_t> foreground_bytes;  // submitted, by lane
    bool raised = false;
  };
  struct HostLane {
    core::LinkShape shape;
    std::unique_ptr<core::LinkModel> link;  // null: the carrier's
    core::LaneOpened window;
    Op op = Op::read;
    bool away = false;
    std::uint64_t queued = 0;  // bytes, as owners were submitted and chunks went
    std::int64_t waits_since_ns = kNeverNs;
    std::uint64_t in_flight = 0;
    std::array<std::uint64_t, kMaxClasses> in_flight_of{};
    std::uint64_t foreground_outstanding = 0;
    std::uint64_t foreground_bytes = 0;  // submitted
    std::uint32_t changes = 0;
  };
  struct Flight {
    core::DispatchChunk chunk;
    std::uint32_t slot = 0;  // of its owner
    ClassId cls = ClassId::standard;
  };
  struct End {
    core::OwnerEnded end;
    std::int64_t intended_ns;
  };

  void handle(const core::Event& event);
  void check();
  bool take_effects();
  void carry_out(const core::Effect& effect);
  void dispatch(const core::DispatchChunk& chunk);
  bool is_far() const { return shape_.carrier != nullptr; }
  Flight land(std::uint32_t flight);
  void hand_in(SessionId id, std::uint32_t slot, bool again);
  void reopen_session(std::uint32_t index);
  void restart_session(std::uint32_t index);
  void note_queued(HostLane& lane, std::uint64_t bytes);
  void note_handed_over(HostLane& lane, LaneRecord& record, std::uint64_t bytes);
  void note_end(const core::OwnerEnded& end);
  void note_raise(const core::RaiseCredit& raise);
  void note_peaks();
  bool tell_parties();
  void note_ahead(std::uint32_t lane, Session* session, Pending* pending);
  std::int64_t bound_ns(const Session& session, const Pending& pending) const;
  bool foreground_is_first(const HostLane& lane, LaneId id) const;

  LaneRecord& lane_record(std::uint32_t lane) { return record_->lanes[shape_.first_lane + lane]; }

  HostShape shape_;
  Record* record_;
  Audit audit_;
  std::unique_ptr<core::Core> core_;
  std::vector<Session> sessions_;
  std::vector<HostLane> lanes_;
  std::vector<Flight> flights_;
  std::vector<std::uint32_t> free_flights_;
  std::vector<End> ends_;              // not told to their parties yet
  std::vector<std::uint32_t> raised_;  // sessions
  std::int64_t now_ns_ = 0;
  std::uint64_t since_check_ = 0;
  bool broken_ = false;
};

}  // namespace tentq::sim
