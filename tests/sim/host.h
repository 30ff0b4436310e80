// One host in virtual time: the core, its lanes as links, and the library's side of its sessions
// (credit and slots). Carries effects out in order; checks the core's invariants and its own. One
// thread.
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

struct HostShape {
  core::Limits limits;
  core::HardMaxima maxima;
  core::Policy policy = core::Policy::wdrr;
  std::uint64_t seed = 1;
  std::uint32_t check_every = 1;  // events; 0: never
};

class Host {
 public:
  // `record` outlives it; its clients and lanes are there before they are opened here.
  Host(const HostShape& shape, Record* record);

  void open_lane(std::uint32_t lane, const core::LinkShape& link, const core::LaneOpened& window);
  // `client` is the number of its fairness key and of its record.
  SessionId open_session(std::uint32_t client, std::uint64_t in_flight_bytes, std::uint32_t slots,
                         Party* party);

  // What the library does: false, and nothing happened, when there is no credit or no slot.
  bool submit(SessionId session, ClassId cls, std::uint32_t lane, std::uint64_t length,
              std::int64_t intended_ns);
  // Says what the next submit needs. A waiting one is served in turn, see Party::credit_raised().
  void wish(SessionId session, ClassId cls, std::uint64_t length, bool waiting);

  void set_rate(std::uint32_t lane, std::uint64_t bytes_per_s);
  void set_delay(std::uint32_t lane, std::int64_t delay_ns);
  void jam(std::uint32_t lane, std::int64_t for_ns);
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
  bool idle() const { return core_.outstanding() == core::Amounts{}; }
  // The core is in an unknown state after a failed check: nothing can be done with it any more.
  bool broken() const { return broken_; }
  void finish();

  const core::Core& core() const { return core_; }

 private:
  struct Pending {
    std::uint64_t length = 0;
    std::int64_t intended_ns = 0;
    std::int64_t admitted_ns = 0;
    std::uint64_t ahead = 0;   // foreground: bytes that P8 counts, as of its admission
    std::uint64_t others = 0;  // foreground: bytes of other sessions' foreground until then
    std::uint32_t lane = 0;
    std::uint32_t changes = 0;  // of the lane, when it was submitted
  };
  struct Session {
    std::uint32_t client = 0;
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
    std::unique_ptr<core::LinkModel> link;
    std::uint64_t in_flight = 0;
    std::array<std::uint64_t, kMaxClasses> in_flight_of{};
    std::uint64_t foreground_outstanding = 0;
    std::uint64_t foreground_bytes = 0;  // submitted
    std::uint32_t changes = 0;
  };
  struct Flight {
    core::DispatchChunk chunk;
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
  void note_end(const core::OwnerEnded& end);
  void note_raise(const core::RaiseCredit& raise);
  void note_peaks();
  bool tell_parties();
  void note_ahead(std::uint32_t lane, Session* session, Pending* pending);
  std::int64_t bound_ns(const Session& session, const Pending& pending) const;
  bool foreground_is_first(const HostLane& lane, LaneId id) const;

  Record* record_;
  Audit audit_;
  core::Core core_;
  std::uint32_t check_every_;
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
