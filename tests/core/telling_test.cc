// Telling: what is asked for in two parts, admissions last.
#include <gtest/gtest.h>

#include <deque>
#include <utility>

#include "tests/core/world.h"

namespace tentq::core {
namespace {

constexpr ClassId kUser = ClassId::standard;

// As the conductor does: everything but admissions, the copies, what follows from them, the rest.
class Turns {
 public:
  explicit Turns(World* world) : world_(*world) { world_.hold_effects = true; }

  // A lane and a session; what they bring is taken.
  void begin() {
    world_.open_lane();
    world_.open_session(0);
    urgent();
  }
  void urgent() {
    while (const auto effect = world_.core.next_urgent_effect()) {
      EXPECT_FALSE(std::holds_alternative<OwnerAdmitted>(*effect));
      world_.carry_out(*effect);
    }
  }
  void end_all_chunks() {
    for (const DispatchChunk& chunk : std::exchange(world_.in_flight, {})) {
      world_.core.handle(ChunkEnded{chunk.chunk, chunk.length, Reason::none}, world_.now);
    }
  }
  std::size_t admissions() {
    std::size_t count = 0;
    for (; world_.core.next_admission(); ++count) {
    }
    return count;
  }

 private:
  World& world_;
};

TEST(Telling, WhoEndsInTheSameTurnIsNotToldToBeQueued) {
  World world;
  Turns turns(&world);
  turns.begin();
  world.submit(0, kUser, 4 * kKiB);
  turns.urgent();
  turns.end_all_chunks();
  turns.urgent();
  EXPECT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(turns.admissions(), 0u);
  world.submit(0, kUser, 4 * kKiB);
  turns.urgent();
  EXPECT_EQ(turns.admissions(), 1u);
  EXPECT_EQ(turns.admissions(), 0u);
}

// Its end is decided and not told: it is told in order.
TEST(Telling, WhoEndsUntoldIsAdmittedFirst) {
  World world;
  Turns turns(&world);
  turns.begin();
  world.submit(0, kUser, 4 * kKiB);
  turns.urgent();
  turns.end_all_chunks();
  const auto admission = world.core.next_effect();
  ASSERT_TRUE(admission && std::holds_alternative<OwnerAdmitted>(*admission));
  const auto end = world.core.next_effect();
  ASSERT_TRUE(end && std::holds_alternative<OwnerEnded>(*end));
  EXPECT_EQ(std::get<OwnerEnded>(*end).owner, std::get<OwnerAdmitted>(*admission).owner);
}

// Whoever never asks for admissions costs no memory for it, and loses none of those that count.
TEST(Telling, AdmissionsOfOwnersThatAreGoneMakeWay) {
  WorldShape shape;
  shape.maxima.owners = 64;
  shape.limits.host.owners = shape.limits.client.owners = 64;
  for (ClassLimits& each : shape.limits.classes) each.outstanding.owners = 64;
  World world(shape);
  Turns turns(&world);
  world.open_lane();
  world.open_lane(1, 64 * kKiB, 1, 64 * kKiB);
  world.open_session(0, 0, 8'192);
  turns.urgent();
  world.submit(0, kUser, 64 * kKiB, 1);  // the lane is full of the first one
  world.submit(0, kUser, 64 * kKiB, 1);
  turns.urgent();
  const std::deque<DispatchChunk> first = std::exchange(world.in_flight, {});
  ASSERT_EQ(first.size(), 1u);
  for (int i = 0; i < 5'000; ++i) {
    world.submit(0, kUser, 4 * kKiB);
    turns.urgent();
    turns.end_all_chunks();
    turns.urgent();
  }
  EXPECT_EQ(world.ended.size(), 5'000u);
  EXPECT_EQ(turns.admissions(), 2u);
}

}  // namespace
}  // namespace tentq::core
