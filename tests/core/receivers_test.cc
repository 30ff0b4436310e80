// Lanes to hosts that grant credit: what may go, who waits for whom, what is asked and when.
#include <gtest/gtest.h>

#include "tests/core/world.h"

namespace tentq::core {
namespace {

using namespace std::chrono_literals;
constexpr ClassId kUser = ClassId::standard;
constexpr ReceiverId kHost{0};
constexpr std::uint64_t kS = kMiB;  // longest chunk of the rules

WorldShape shape_with_receivers(Policy policy = Policy::wdrr) {
  WorldShape shape;
  shape.limits.internal_reserve = {16, 16 * kMiB, 64};
  shape.policy = policy;
  shape.credits.epoch = 7;
  shape.credits.receivers = 2;
  return shape;
}

// Lanes 0 and 1 lead to host 0, lane 2 to host 1, lane 3 to none that is asked.
struct Sending : World {
  explicit Sending(Policy policy = Policy::wdrr) : World(shape_with_receivers(policy)) {
    open_lane_to(0, 0);
    open_lane_to(0, 1);
    open_lane_to(1, 2);
    open_lane(3);
    open_session(0);
    open_session(1, 1);
    open_session(2, 2, 1024, bit_of(ClassId::internal));
    connect(0, 100);
    connect(1, 200);
  }
  ReceiverTotals totals(ReceiverId receiver = kHost, CreditPool pool = CreditPool::user) const {
    return core.receiver_totals(receiver, pool);
  }
  void submit_internal(std::uint64_t length, std::uint16_t lane) {
    OwnerSpec internal = spec(2, length, lane);
    internal.internal = true;
    submit(2, ClassId::internal, {internal});
  }
  ChunkId oldest() const { return in_flight.front().chunk; }
  WaitCause cause(const OwnerId& owner) const { return core.explain(owner)->cause; }
  // The last demand to host 0, taken away.
  SendDemand take_demand() {
    const SendDemand last = demands.back();
    demands.clear();
    return last;
  }
};

TEST(Receivers, NothingGoesBeforeAGrantAndTheDemandSaysWhatWaits) {
  Sending world(Policy::strict);
  EXPECT_TRUE(world.demands.empty());
  world.submit(0, kUser, 1000);
  world.submit(0, ClassId::foreground, 2000);
  EXPECT_TRUE(world.dispatched.empty());
  ASSERT_EQ(world.demands.size(), 1u);  // the second comes within the gap between demands
  EXPECT_EQ(world.demands[0].receiver, kHost);
  const PeerDemand& demand = world.demands[0].demand;
  EXPECT_EQ(demand.sender_epoch, 7u);
  EXPECT_EQ(demand.receiver_epoch, 100u);
  EXPECT_EQ(demand.pool, CreditPool::user);
  EXPECT_EQ(demand.uplink_busy, 0u);
  EXPECT_EQ(demand.wanted[index_of(kUser)], 1000u);
  EXPECT_EQ(world.cause(world.last()), WaitCause::receiver);
  const auto why = world.core.explain(world.last());
  EXPECT_EQ(why->receiver, kHost);
  EXPECT_EQ(why->receiver_room_bytes, 0u);
  EXPECT_GT(why->receiver_need_bytes, 0u);
  world.grant(world.take_demand(), 1000);
  // Foreground came last and goes first; it needs more than was granted.
  EXPECT_TRUE(world.dispatched.empty());
  world.advance(20ms);
  ASSERT_EQ(world.demands.size(), 1u);
  EXPECT_EQ(world.demands[0].demand.wanted[index_of(ClassId::foreground)], 2000u);
  EXPECT_EQ(world.demands[0].demand.oldest_ns, 20'000'000u);
  world.grant(world.take_demand(), 4000);
  EXPECT_EQ(world.dispatched.size(), 2u);
  EXPECT_EQ(world.totals().sent, 3000u);
  EXPECT_EQ(world.totals().room, 1000u);
}

TEST(Receivers, ALaneWithoutAReceiverAsksNobody) {
  Sending world;
  world.submit(0, kUser, 1000, 3);
  EXPECT_EQ(world.dispatched.size(), 1u);
  EXPECT_TRUE(world.demands.empty());
  EXPECT_FALSE(world.core.next_deadline().has_value());
}

TEST(Receivers, ChunksAreNoLongerThanAReceiverIsSureToTake) {
  Sending world;
  world.open_lane_to(0, 0, 64 * kMiB, 16 * kMiB);
  world.submit(0, kUser, 4 * kMiB);
  world.grant(world.take_demand(), 4 * kMiB);
  ASSERT_EQ(world.dispatched.size(), 4u);
  for (const DispatchChunk& chunk : world.dispatched) EXPECT_EQ(chunk.length, kS);
}

TEST(Receivers, LanesOfOneReceiverTakeTurnsAndShortOnesDoNotOvertake) {
  Sending world;
  world.submit(0, kUser, kMiB, 0);
  world.submit(1, kUser, kMiB, 1);
  const SendDemand asked = world.take_demand();
  for (int chunks = 1; chunks <= 8; ++chunks) {
    world.grant(asked, static_cast<std::uint64_t>(chunks) * 256 * kKiB - 1);
    EXPECT_EQ(world.dispatched.size(), static_cast<std::size_t>(chunks) - 1);
    world.grant(asked, static_cast<std::uint64_t>(chunks) * 256 * kKiB);
    ASSERT_EQ(world.dispatched.size(), static_cast<std::size_t>(chunks));
  }
  for (std::size_t i = 1; i < 8; ++i) {
    EXPECT_NE(world.dispatched[i].lane, world.dispatched[i - 1].lane);
  }
}

TEST(Receivers, InternalWorkHasAPoolOfItsOwn) {
  Sending world;
  world.submit(0, kUser, kMiB);
  world.submit_internal(1000, 0);
  ASSERT_EQ(world.demands.size(), 2u);
  EXPECT_EQ(world.demands[1].demand.pool, CreditPool::internal);
  world.grant(world.demands[1], 1000);
  ASSERT_EQ(world.dispatched.size(), 1u);
  EXPECT_EQ(world.dispatched[0].cls, ClassId::internal);
  EXPECT_EQ(world.totals(kHost, CreditPool::internal).sent, 1000u);
  EXPECT_EQ(world.totals().sent, 0u);
}

TEST(Receivers, EveryEndFreesAndARefusalTakesBack) {
  Sending world;
  world.submit(0, kUser, 4 * 256 * kKiB);
  world.grant(world.take_demand(), kMiB);
  ASSERT_EQ(world.in_flight.size(), 4u);
  world.end_oldest();
  EXPECT_EQ(world.totals().freed, 256 * kKiB);
  world.handle(LaneAway{LaneId{0}});
  world.lose_chunk(world.oldest());
  EXPECT_EQ(world.totals().freed, 2 * 256 * kKiB);
  EXPECT_EQ(world.totals().sent, kMiB);
  world.handle(LaneBack{LaneId{0}});
  world.refuse_chunk(world.oldest());
  // It was told to nobody yet: taken back, and there is room for the same again.
  EXPECT_EQ(world.totals().sent, kMiB - 256 * kKiB);
  EXPECT_EQ(world.totals().room, 256 * kKiB);
  world.end_oldest(1, Reason::memory_fault);
  EXPECT_EQ(world.totals().in_flight(), 0u);
  EXPECT_EQ(world.core.outstanding(), Amounts{});
}

TEST(Receivers, ACanceledHeadLetsTheOthersGo) {
  Sending world;
  world.submit(0, kUser, 256 * kKiB);
  const OwnerId long_one = world.last();
  const SendDemand asked = world.take_demand();
  world.submit(1, kUser, 1000, 1);
  world.grant(asked, 1000);
  EXPECT_TRUE(world.dispatched.empty());
  world.cancel(long_one);
  EXPECT_EQ(world.dispatched.size(), 1u);
}

TEST(Receivers, ALaneThatIsAwayHoldsNoOtherOne) {
  Sending world;
  world.submit(0, kUser, 256 * kKiB, 0);
  const SendDemand asked = world.take_demand();
  world.submit(1, kUser, 1000, 1);
  world.grant(asked, 1000);
  EXPECT_TRUE(world.dispatched.empty());
  world.handle(LaneAway{LaneId{0}});
  EXPECT_EQ(world.dispatched.size(), 1u);
  // Nor is anything asked for it.
  world.forget();
  world.end_all();
  world.advance(40ms);
  ASSERT_FALSE(world.demands.empty());
  EXPECT_LT(world.demands.back().demand.wanted[index_of(kUser)], 256 * kKiB);
}

TEST(Receivers, ALaneThatPausesHoldsNoOtherOne) {
  Sending world;
  world.submit(0, kUser, 512 * kKiB, 0);
  const SendDemand asked = world.take_demand();
  world.grant(asked, 256 * kKiB);
  world.submit(1, kUser, 1000, 1);
  world.grant(asked, 256 * kKiB + 1000);
  ASSERT_EQ(world.dispatched.size(), 2u);
  // The turn is lane 0's, and its chunk is longer than what is left.
  world.submit(1, kUser, 1000, 1);
  world.grant(asked, 256 * kKiB + 2000);
  EXPECT_EQ(world.dispatched.size(), 2u);
  world.refuse_chunk(world.oldest());
  ASSERT_EQ(world.dispatched.size(), 3u);
  EXPECT_EQ(world.dispatched[2].lane, LaneId{1});
}

TEST(Receivers, OneThatDoesNotSpeakCreditsHasAWindow) {
  Sending world;
  world.connect(0, 101, false);
  for (const std::uint16_t lane : {std::uint16_t{0}, std::uint16_t{1}}) {
    world.submit(0, kUser, 4 * kMiB, lane);
  }
  EXPECT_EQ(world.dispatched.size(), 16u);  // 4 MiB
  EXPECT_EQ(world.totals().state, CreditState::legacy);
  EXPECT_EQ(world.totals().room, 0u);
  world.end_oldest(3);
  EXPECT_EQ(world.dispatched.size(), 19u);
  while (!world.in_flight.empty()) world.end_all();
  EXPECT_EQ(world.core.counters().completed, 2u);
}

TEST(Receivers, ASilentOneIsSentItsStaleWindow) {
  Sending world;
  world.submit(0, kUser, 4 * kMiB);
  EXPECT_TRUE(world.dispatched.empty());
  const Time asked = world.now;
  while (world.dispatched.empty()) world.advance_to_deadline();
  EXPECT_EQ(world.now, asked + 200ms);
  EXPECT_EQ(world.totals().state, CreditState::stale);
  EXPECT_EQ(world.dispatched.size(), 2 * kS / (256 * kKiB));
  EXPECT_GE(world.demands.size(), 10u);
  while (!world.in_flight.empty()) world.end_all();
  EXPECT_EQ(world.core.counters().completed, 1u);
  // It answers again.
  world.submit(0, kUser, 1000);
  world.advance(20ms);
  world.grant(world.take_demand(), kMiB);
  EXPECT_EQ(world.totals().state, CreditState::active);
}

TEST(Receivers, AnotherEpochVoidsCreditAndWhatIsInFlightCountsBesideTheNext) {
  Sending world;
  world.submit(0, kUser, 2 * kMiB);
  world.grant(world.take_demand(), kMiB);
  ASSERT_EQ(world.in_flight.size(), 4u);
  const SendDemand before = [&] {
    world.advance(20ms);
    return world.take_demand();
  }();
  world.connect(0, 101);
  EXPECT_EQ(world.totals().uncredited, kMiB);
  world.grant(before, 16 * kMiB);  // of the earlier life
  EXPECT_EQ(world.dispatched.size(), 4u);
  EXPECT_EQ(world.totals().dropped_grants, 1u);
  world.advance(1ms);
  const SendDemand asked = world.take_demand();
  EXPECT_EQ(asked.demand.receiver_epoch, 101u);
  EXPECT_EQ(asked.demand.uncredited, kMiB);
  world.grant(asked, kMiB);
  EXPECT_EQ(world.dispatched.size(), 4u);
  world.end_oldest(4);
  EXPECT_EQ(world.dispatched.size(), 8u);
}

TEST(Receivers, WhereTheWindowBoundsAllButAChunkIsReturned) {
  Sending world;
  world.open_lane_to(0, 0, 512 * kKiB);
  world.submit(0, kUser, 16 * kMiB);
  world.grant(world.take_demand(), 8 * kMiB);
  ASSERT_EQ(world.in_flight.size(), 2u);
  // The first demand after it ran dry does not know it yet.
  world.advance(20ms);
  EXPECT_EQ(world.take_demand().demand.uplink_busy, 0u);
  world.advance(20ms);
  const SendDemand asked = world.take_demand();
  EXPECT_EQ(asked.demand.uplink_busy, 1u);
  EXPECT_EQ(world.totals().room, kS);
  EXPECT_EQ(asked.demand.sent - asked.demand.freed, 512 * kKiB);
  // What is left is used before it asks as one that is short.
  world.end_oldest(2);
  world.end_oldest(2);
  world.advance(1ms);
  EXPECT_EQ(world.take_demand().demand.uplink_busy, 0u);
}

TEST(Receivers, WorkThatComesJustAfterADemandIsAskedForAsSoonAsTheGapAllows) {
  Sending world;
  world.submit(0, kUser, 1000);
  const SendDemand first = world.take_demand();
  world.submit(0, kUser, 500'000);
  EXPECT_TRUE(world.demands.empty());
  world.grant(first, 1000);
  EXPECT_EQ(world.dispatched.size(), 1u);
  world.advance(1ms);
  ASSERT_EQ(world.demands.size(), 1u);
  EXPECT_EQ(world.demands[0].demand.wanted[index_of(kUser)], 500'000u);
  // It has said so: the next one has its time.
  world.take_demand();
  world.advance(1ms);
  EXPECT_TRUE(world.demands.empty());
}

TEST(Receivers, OneShortTransferAfterTheOtherAsksNowAndThen) {
  Sending world;
  std::uint64_t limit = 0;
  std::uint64_t demands = 0;
  std::uint64_t waited = 0;
  for (int i = 0; i < 4000; ++i) {
    world.submit(0, kUser, 4096);
    if (world.in_flight.empty()) waited += 1;
    for (int tries = 0; world.in_flight.empty() || !world.demands.empty(); ++tries) {
      ASSERT_LT(tries, 100);
      if (world.demands.empty()) world.advance(100us);
      if (world.demands.empty()) continue;
      const SendDemand asked = world.take_demand();
      demands += 1;
      std::uint64_t wanted = 0;
      for (const std::uint64_t bytes : asked.demand.wanted) wanted += bytes;
      if (asked.demand.nonce >> 32 != world.totals().life) continue;
      limit = std::max(world.totals().limit, asked.demand.sent + wanted);
      world.grant(asked, limit);
    }
    world.end_all();
    world.forget();
    world.advance(30us);
  }
  // 120 ms at 136 MB/s.
  EXPECT_LE(waited, 16u);
  EXPECT_LE(demands, 80u);
  // And when nothing goes any more, it keeps nothing and asks nobody.
  for (int i = 0; i < 40 && world.core.next_deadline(); ++i) world.advance_to_deadline();
  EXPECT_FALSE(world.core.next_deadline().has_value());
  EXPECT_EQ(world.totals().limit, world.totals().freed);
}

TEST(Receivers, DirectKnowsNoWindowButTheReceivers) {
  Sending world(Policy::direct);
  world.submit(0, kUser, 64 * kMiB);
  world.grant(world.take_demand(), 3 * kMiB);
  EXPECT_EQ(world.dispatched.size(), 3u);
  for (const DispatchChunk& chunk : world.dispatched) EXPECT_LE(chunk.length, kS);
  EXPECT_EQ(world.cause(world.last()), WaitCause::receiver);
}

TEST(Receivers, ALaneMayLeadToAnotherHostOnceItIsQuiet) {
  Sending world;
  world.submit(0, kUser, 1000);
  EXPECT_TRUE(world.dispatched.empty());
  world.open_lane(0);
  EXPECT_EQ(world.dispatched.size(), 1u);
  EXPECT_FALSE(world.core.lane_totals(LaneId{0}).receiver.valid());
  world.end_all();
  world.open_lane_to(1, 0);
  world.submit(0, kUser, 1000);
  EXPECT_EQ(world.cause(world.last()), WaitCause::receiver);
  EXPECT_EQ(world.core.explain(world.last())->receiver, ReceiverId{1});
}

TEST(Receivers, WhatIsUnknownChangesNothing) {
  Sending world;
  const std::uint64_t before = world.core.state_hash();
  world.connect(5, 1);
  world.handle(ReceiverConnected{});
  world.handle(GrantReceived{ReceiverId{5}, {}});
  world.handle(GrantReceived{});
  world.handle(GrantReceived{kHost, {}});
  EXPECT_EQ(world.core.state_hash(), before);
  EXPECT_EQ(world.totals().dropped_grants, 1u);
  EXPECT_EQ(world.core.receiver_totals(ReceiverId{5}, CreditPool::user).epoch, 0u);
}

TEST(Receivers, RulesThatContradictEachOtherAreNamed) {
  WorldShape shape = shape_with_receivers();
  shape.credits.rules.boot_bytes = 1;
  try {
    World world(shape);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("credits.boot_bytes"), std::string::npos);
  }
}

}  // namespace
}  // namespace tentq::core
