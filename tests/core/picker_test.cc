// Policies: who is next, in what proportion, and what a switch keeps.
#include <gtest/gtest.h>

#include <map>

#include "tests/core/world.h"

namespace tentq::core {
namespace {

constexpr ClassId kUser = ClassId::standard;
constexpr ClassId kBg = ClassId::background;
constexpr std::uint64_t kS = 64 * kKiB;

WorldShape shape_of(Policy policy) {
  WorldShape shape;
  shape.policy = policy;
  return shape;
}

// Ends chunks one at a time until `count` have been dispatched; bytes by session or class.
template <class Key>
std::map<std::uint32_t, std::uint64_t> bytes_of_next(World& world, std::size_t count,
                                                     const Key& key) {
  world.forget();
  while (world.dispatched.size() < count && !world.in_flight.empty()) world.end_oldest();
  std::map<std::uint32_t, std::uint64_t> bytes;
  for (std::size_t i = 0; i < count && i < world.dispatched.size(); ++i) {
    bytes[key(world.dispatched[i])] += world.dispatched[i].length;
  }
  return bytes;
}

std::uint32_t session_of(const DispatchChunk& chunk) {
  return chunk.session.value();
}

TEST(Fifo, KeepsTheOrderOfArrivalAcrossClassesAndClients) {
  World world(shape_of(Policy::fifo));
  world.open_lane(0, kS, 1, kS);
  world.open_session(0, 0);
  world.open_session(1, 1);
  const ClassId classes[] = {kBg, kUser, ClassId::standard, kUser, kBg, ClassId::prefetch};
  for (std::uint64_t i = 0; i < 6; ++i) {
    world.submit(static_cast<std::uint32_t>(i % 2), classes[i], i + 1);
  }
  world.end_all();
  ASSERT_EQ(world.dispatched.size(), 6u);
  for (std::uint64_t i = 0; i < 6; ++i) EXPECT_EQ(world.dispatched[i].length, i + 1);
}

TEST(Fifo, LanesTakeTurnsAndAFullOneBlocksNobody) {
  World world(shape_of(Policy::fifo));
  world.open_lane(0, kS, 1, kS);
  world.open_lane(1, kS, 1, kS);
  world.open_session(0);
  for (int i = 0; i < 3; ++i) world.submit(0, kBg, 10, 0);
  for (int i = 0; i < 3; ++i) world.submit(0, kBg, 20, 1);
  ASSERT_EQ(world.in_flight.size(), 2u);
  for (int i = 0; i < 3; ++i) world.end_chunk(world.in_flight.back().chunk);
  EXPECT_EQ(world.core.counters().completed, 3u);
  EXPECT_EQ(world.core.lane_totals(LaneId{0}).queued_owners, 2u);
}

TEST(Strict, TheMostUrgentClassGoesFirst) {
  World world(shape_of(Policy::strict));
  world.open_lane(0, kS, 1, kS);
  world.open_session(0);
  for (const ClassId cls : {kBg, ClassId::prefetch, ClassId::standard, kUser}) {
    world.submit(0, cls, 2 * kS);
  }
  world.end_all();
  std::vector<ClassId> order;
  for (const OwnerEnded& end : world.ended) order.push_back(end.cls);
  // The first chunk went out before the others came.
  EXPECT_EQ(order, (std::vector<ClassId>{kUser, ClassId::standard, ClassId::prefetch, kBg}));
}

TEST(Strict, InternalWorkGoesBeforeEverythingUnderEveryPolicy) {
  for (const Policy policy : {Policy::fifo, Policy::strict, Policy::wdrr}) {
    World world(shape_of(policy));
    world.open_lane(0, kS, 1, kS);
    world.open_session(0);
    world.open_session(1, 1, 16, bit_of(ClassId::internal));
    for (int i = 0; i < 3; ++i) world.submit(0, kUser, 10);
    OwnerSpec spec = world.spec(1, 10);
    spec.internal = true;
    world.forget();
    world.submit(1, ClassId::internal, {spec});
    ASSERT_EQ(world.dispatched.size(), 1u);
    EXPECT_EQ(world.dispatched[0].session, SessionId{1});
  }
}

TEST(Wdrr, ClassesShareByWeightInBytes) {
  WorldShape shape = shape_of(Policy::wdrr);
  shape.limits.classes[index_of(kUser)].weight = 2;
  shape.limits.classes[index_of(kBg)].weight = 1;
  World world(shape);
  world.open_lane(0, kS, 1, kS);
  world.open_session(0, 0);
  world.open_session(1, 1);
  // Foreground in small owners, background in large ones: it is bytes that count.
  for (int i = 0; i < 60; ++i) world.submit(0, kUser, kS / 2);
  for (int i = 0; i < 20; ++i) world.submit(1, kBg, 2 * kS);
  world.end_oldest();
  auto bytes = bytes_of_next(world, 60, session_of);
  const double ratio = static_cast<double>(bytes[0]) / static_cast<double>(bytes[1]);
  EXPECT_NEAR(ratio, 2.0, 0.2);
}

TEST(Wdrr, ClientsOfAClassShareInBytesAndMoreSessionsGainNothing) {
  World world(shape_of(Policy::wdrr));
  world.open_lane(0, kS, 1, kS);
  world.open_session(0, 0);
  for (std::uint32_t s = 1; s < 5; ++s) world.open_session(s, 1);
  for (int i = 0; i < 20; ++i) world.submit(0, kBg, 2 * kS);
  for (int i = 0; i < 40; ++i) {
    for (std::uint32_t s = 1; s < 5; ++s) world.submit(s, kBg, kS / 4);
  }
  auto bytes = bytes_of_next(
      world, 60, [](const DispatchChunk& chunk) { return chunk.session.value() == 0 ? 0u : 1u; });
  EXPECT_NEAR(static_cast<double>(bytes[0]) / static_cast<double>(bytes[1]), 1.0, 0.15);
}

TEST(Wdrr, AClientsWeightCounts) {
  World world(shape_of(Policy::wdrr));
  world.open_lane(0, kS, 1, kS);
  for (const std::uint32_t s : {0u, 1u}) {
    SessionOpened event;
    event.session = SessionId{s};
    event.client = ClientKey{s};
    event.weight = s == 0 ? 3 : 1;
    event.class_mask = bit_of(kBg);
    event.slots = 64;
    event.limit = world.core.limits().client;
    world.handle(event);
  }
  const auto submit = [&world](std::uint32_t s, std::uint32_t slot) {
    OwnerSpec spec;
    spec.slot = slot;
    spec.lane = LaneId{0};
    spec.length = kS;
    const std::vector<OwnerSpec> specs{spec};
    world.handle(Submitted{SessionId{s}, kBg, false, Reason::none, specs});
  };
  for (std::uint32_t i = 0; i < 40; ++i) {
    submit(0, i);
    submit(1, i);
  }
  auto bytes = bytes_of_next(world, 40, session_of);
  EXPECT_NEAR(static_cast<double>(bytes[0]) / static_cast<double>(bytes[1]), 3.0, 0.35);
}

TEST(Wdrr, ABurstAfterIdlingGainsNothing) {
  World world(shape_of(Policy::wdrr));
  world.open_lane(0, kS, 1, kS);
  world.open_session(0, 0);
  world.open_session(1, 1);
  for (int i = 0; i < 100; ++i) world.submit(0, kBg, kS);
  world.end_oldest(40);  // client 1 idles meanwhile
  for (int i = 0; i < 40; ++i) world.submit(1, kBg, kS);
  auto bytes = bytes_of_next(world, 20, session_of);
  EXPECT_LE(bytes[1], 11 * kS);
  EXPECT_GE(bytes[1], 9 * kS);
}

TEST(Wdrr, AFullLaneBlocksNobody) {
  World world(shape_of(Policy::wdrr));
  world.open_lane(0, kS, 1, kS);
  world.open_lane(1, kS, 1, kS);
  world.open_session(0, 0);
  world.open_session(1, 1);
  for (int i = 0; i < 10; ++i) world.submit(0, kUser, kS, 0);
  for (int i = 0; i < 10; ++i) world.submit(1, kBg, kS, 1);
  // Lane 0 is jammed: its only chunk never ends. Lane 1 goes on as if it were alone.
  for (int i = 0; i < 10; ++i) {
    for (const DispatchChunk& chunk : std::deque<DispatchChunk>(world.in_flight)) {
      if (chunk.lane == LaneId{1}) world.end_chunk(chunk.chunk);
    }
  }
  EXPECT_EQ(world.core.counters().completed, 10u);
}

TEST(Wdrr, OrderIsKeptInALeaf) {
  World world(shape_of(Policy::wdrr));
  world.open_lane(0, 4 * kS, 4, kS);
  world.open_session(0);
  for (std::uint64_t i = 1; i <= 30; ++i) world.submit(0, kUser, i);
  world.end_all();
  ASSERT_EQ(world.dispatched.size(), 30u);
  for (std::uint64_t i = 0; i < 30; ++i) EXPECT_EQ(world.dispatched[i].length, i + 1);
}

TEST(Wdrr, NewWeightsHoldFromThenOn) {
  WorldShape shape = shape_of(Policy::wdrr);
  shape.limits.classes[index_of(kUser)].weight = 1;
  World world(shape);
  world.open_lane(0, kS, 1, kS);
  world.open_session(0, 0);
  world.open_session(1, 1);
  for (int i = 0; i < 100; ++i) world.submit(0, kUser, kS);
  for (int i = 0; i < 100; ++i) world.submit(1, kBg, kS);
  auto bytes = bytes_of_next(world, 20, session_of);
  EXPECT_EQ(bytes[0], 10 * kS);
  Limits limits = world.core.limits();
  limits.classes[index_of(kUser)].weight = 4;
  ASSERT_EQ(world.core.set_limits(limits, nullptr), StatusCode::ok);
  bytes = bytes_of_next(world, 50, session_of);
  EXPECT_GE(bytes[0], 38 * kS);
  EXPECT_LE(bytes[0], 42 * kS);
}

TEST(PolicySwitch, LosesNoOwnerAndKeepsTheOrderOfLeaves) {
  World world(shape_of(Policy::wdrr));
  world.open_lane(0, kS, 1, kS);
  world.open_lane(1, kS, 1, kS);
  world.open_session(0, 0);
  world.open_session(1, 1);
  for (std::uint64_t i = 1; i <= 30; ++i) {
    world.submit(static_cast<std::uint32_t>(i % 2), i % 3 == 0 ? kUser : kBg, i,
                 static_cast<std::uint16_t>(i % 2));
  }
  const Policy turns[] = {Policy::fifo, Policy::strict, Policy::direct, Policy::wdrr, Policy::fifo};
  for (const Policy policy : turns) {
    EXPECT_EQ(world.core.set_policy(policy), StatusCode::ok);
    world.core.check_invariants();
    if (policy != Policy::direct) {
      world.take_effects();
      world.end_oldest(2);
    }
  }
  world.end_all();
  EXPECT_EQ(world.core.counters().completed, 30u);
  // Within class, client and lane lengths rise: the order of submission.
  std::map<std::tuple<ClassId, std::uint32_t>, std::uint64_t> last;
  for (const OwnerEnded& end : world.ended) {
    std::uint64_t& before = last[{end.cls, end.session.value()}];
    EXPECT_GT(end.length, before);
    before = end.length;
  }
  EXPECT_EQ(world.core.set_policy(static_cast<Policy>(9)), StatusCode::invalid_argument);
}

}  // namespace
}  // namespace tentq::core
