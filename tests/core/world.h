// A shell of the core for tests, in virtual time: carries out effects in order, keeps what clients
// would see (grants, statuses) and what a transport would hold. Checks every invariant after every
// event. One thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "daemon/core/core.h"

namespace tentq::core {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kGiB = 1024 * kMiB;

using CreditKey = std::pair<std::uint32_t, std::size_t>;  // session, class

// The same at every level, without a reserve; classes of equal weight, and nothing grows old.
Limits small_limits(std::uint64_t owners, std::uint64_t bytes);

struct WorldShape {
  Limits limits = small_limits(4096, 64 * kGiB);
  HardMaxima maxima{4096, 8, 8, 4};
  Policy policy = Policy::wdrr;
  std::uint64_t seed = 1;
  bool check = true;  // all invariants after every event
  CreditTerms credits{};
};

class World {
 public:
  explicit World(const WorldShape& shape = {});

  Core core;
  Time now = time_from_ns(1'000'000);

  // Hands an event over, checks, and carries effects out unless `hold_effects` is set.
  void handle(const Event& event);
  void take_effects();
  void carry_out(const Effect& effect);
  void advance(Duration by);  // a Tick after that time
  void advance_to_deadline();
  bool hold_effects = false;
  bool answer_reclaims = true;
  std::function<void(const Effect&)> on_effect;  // sees each, in order

  // What happened, in order. Cleared by forget().
  std::vector<OwnerEnded> ended;
  std::vector<OwnerAdmitted> admitted;
  std::vector<DispatchChunk> dispatched;
  std::vector<CancelChunk> cancels;
  std::vector<ResolveRoute> routes;
  std::vector<RaiseCredit> raises;
  std::vector<ReclaimCredit> reclaims;
  std::vector<SessionId> quiet;
  std::vector<SendDemand> demands;
  int drained = 0;
  void forget();

  // What the transport holds, oldest first; what clients see and wrote.
  std::deque<DispatchChunk> in_flight;
  std::map<CreditKey, Amounts> granted;
  std::map<CreditKey, Amounts> consumed;

  // Events in short.
  void open_lane(std::uint16_t lane = 0, std::uint64_t window_bytes = 4 * kMiB,
                 std::uint32_t window_chunks = 256, std::uint64_t chunk_bytes = 256 * kKiB);
  void open_session(std::uint32_t session, std::uint32_t client = 0, std::uint32_t slots = 1024,
                    std::uint32_t class_mask = kClientClassMask);
  void open_session(const SessionOpened& event);
  void open_lane_to(std::uint16_t receiver, std::uint16_t lane,
                    std::uint64_t window_bytes = 4 * kMiB, std::uint64_t chunk_bytes = 256 * kKiB,
                    std::uint32_t window_chunks = 256);
  void connect(std::uint16_t receiver, std::uint64_t epoch, bool speaks_credits = true);
  // The receiver's answer to that demand.
  void grant(const SendDemand& asked, std::uint64_t limit, std::uint64_t window = 0);
  // As the library does: consumes credit first. Slots count up by themselves.
  void submit(std::uint32_t session, ClassId cls, const std::vector<OwnerSpec>& specs);
  void submit(std::uint32_t session, ClassId cls, std::uint64_t length, std::uint16_t lane = 0);
  // Whether the library would let the call through.
  bool has_credit(std::uint32_t session, ClassId cls, const Amounts& amounts) const;
  OwnerSpec spec(std::uint32_t session, std::uint64_t length, std::uint16_t lane = 0);
  void end_chunk(const ChunkId& chunk, Reason reason = Reason::none, std::uint64_t bytes = 0);
  void end_oldest(std::size_t count = 1, Reason reason = Reason::none);
  void end_all();
  void refuse_chunk(ChunkId chunk);
  void lose_chunk(ChunkId chunk);
  void cancel(const OwnerId& owner);
  void want(std::uint32_t session, ClassId cls, const Amounts& wanted, bool waiting);
  void close(std::uint32_t session);

  // The id of the latest admitted owner.
  OwnerId last() const { return admitted.back().owner; }
  OwnerState state_of(const OwnerId& id) const;

 private:
  bool check_;
  std::map<std::uint32_t, std::uint32_t> next_slot_;
  std::map<std::uint32_t, std::uint32_t> slots_;
};

}  // namespace tentq::core
