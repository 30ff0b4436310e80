// Sessions that die, drain and shutdown.
#include <gtest/gtest.h>

#include "tests/core/world.h"

namespace tentq::core {
namespace {

constexpr ClassId kUser = ClassId::standard;
constexpr std::uint64_t kS = 64 * kKiB;

TEST(SessionDeath, QueuedOwnersEndAtOnceAndChunksInFlightDrain) {
  World world;
  world.open_lane(0, 2 * kS, 16, kS);
  world.open_session(0, 0);
  world.open_session(1, 1);
  for (int i = 0; i < 5; ++i) world.submit(0, kUser, 4 * kS);
  world.submit(1, kUser, kS);
  world.forget();
  world.close(0);
  EXPECT_EQ(world.ended.size(), 4u);
  EXPECT_EQ(world.cancels.size(), 2u);
  EXPECT_TRUE(world.quiet.empty());
  EXPECT_EQ(world.core.session_totals(SessionId{0}).outstanding.owners, 1u);
  world.end_oldest(2, Reason::canceled);
  ASSERT_EQ(world.quiet.size(), 1u);
  EXPECT_EQ(world.quiet[0], SessionId{0});
  EXPECT_EQ(world.core.outstanding(), (Amounts{1, kS, 1}));
  // The other client got the window.
  ASSERT_EQ(world.in_flight.size(), 1u);
  EXPECT_EQ(world.in_flight[0].session, SessionId{1});
}

TEST(SessionDeath, EveryOwnerIsToldBeforeTheQuiet) {
  World world;
  world.open_lane();
  world.open_session(0);
  for (int i = 0; i < 3; ++i) world.submit(0, kUser, 100);
  world.forget();
  world.close(0);
  EXPECT_TRUE(world.quiet.empty());
  world.end_all();
  EXPECT_EQ(world.ended.size(), 3u);
  EXPECT_EQ(world.quiet.size(), 1u);
}

TEST(SessionDeath, AnIdleSessionIsQuietAtOnceAndItsPlaceCanBeUsedAgain) {
  World world;
  world.open_lane();
  for (int i = 0; i < 10; ++i) {
    world.open_session(0, static_cast<std::uint32_t>(i % 8));
    world.submit(0, kUser, 100);
    world.end_all();
    world.close(0);
    EXPECT_EQ(world.quiet.size(), static_cast<std::size_t>(i) + 1);
  }
}

TEST(SessionDeath, TwiceOrOfAnUnknownSessionChangesNothing) {
  World world;
  world.open_lane();
  world.open_session(0);
  world.submit(0, kUser, 100);
  world.close(0);
  const std::uint64_t before = world.core.state_hash();
  world.close(0);
  world.close(5);
  world.handle(SessionClosed{SessionId{}});
  EXPECT_EQ(world.core.state_hash(), before);
}

TEST(SessionDeath, LateCompletionsOfADeadSessionReleaseItsCharges) {
  World world;
  world.open_lane();
  world.open_session(0);
  world.submit(0, kUser, 100);
  world.close(0);
  EXPECT_EQ(world.core.outstanding().owners, 1u);
  world.advance(std::chrono::seconds{60});
  world.end_all();
  EXPECT_EQ(world.core.outstanding(), Amounts{});
  EXPECT_EQ(world.quiet.size(), 1u);
}

TEST(SessionDeath, AHugeQueueIsEndedInBoundedSteps) {
  WorldShape shape;
  shape.maxima.owners = 40'000;
  shape.limits = small_limits(40'000, kGiB);
  shape.limits.largest_call_owners = 30'000;
  shape.check = false;
  World world(shape);
  world.open_lane(0, kS, 1, kS);
  world.open_session(0, 0, 30'000, bit_of(kUser));
  world.want(0, kUser, {30'000, 30'000, 30'000}, false);
  std::vector<OwnerSpec> specs;
  for (int i = 0; i < 30'000; ++i) specs.push_back(world.spec(0, 1));
  world.submit(0, kUser, specs);
  ASSERT_EQ(world.admitted.size(), 30'000u);
  world.close(0);
  EXPECT_LT(world.ended.size(), 30'000u);
  int steps = 0;
  while (world.core.next_deadline() == world.now && steps < 100) {
    world.handle(Tick{});
    steps += 1;
  }
  EXPECT_EQ(world.ended.size(), 29'999u);
  EXPECT_LE(steps, 10);
  world.end_all();
  EXPECT_EQ(world.quiet.size(), 1u);
  world.core.check_invariants();
}

TEST(Drain, AdmitsNothingMoreAndTellsWhenNothingIsLeft) {
  World world;
  world.open_lane();
  world.open_session(0);
  world.submit(0, kUser, 100);
  world.handle(DrainRequested{});
  EXPECT_TRUE(world.core.draining());
  EXPECT_EQ(world.drained, 0);
  world.forget();
  world.submit(0, kUser, 100);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].reason, Reason::draining);
  EXPECT_TRUE(may_retry(Reason::draining));
  world.end_all();
  EXPECT_EQ(world.drained, 1);
  world.handle(ResumeRequested{});
  world.forget();
  world.submit(0, kUser, 100);
  EXPECT_EQ(world.admitted.size(), 1u);
  EXPECT_EQ(world.drained, 0);
}

TEST(Drain, OfAnEmptyDaemonIsDoneAtOnce) {
  World world;
  world.handle(DrainRequested{});
  EXPECT_EQ(world.drained, 1);
  world.handle(DrainRequested{});
  EXPECT_EQ(world.drained, 2);
}

TEST(Shutdown, EndsWhatIsQueuedAsCanceledAndLetsChunksDrain) {
  World world;
  world.open_lane(0, kS, 1, kS);
  world.open_session(0, 0);
  world.open_session(1, 1);
  world.submit(0, kUser, 100);
  world.submit(0, kUser, 100);
  world.submit(1, kUser, 100);
  world.forget();
  world.handle(ShutdownRequested{});
  ASSERT_EQ(world.ended.size(), 2u);
  for (const OwnerEnded& end : world.ended) {
    EXPECT_EQ(end.state, TaskState::canceled);
    EXPECT_EQ(end.reason, Reason::shutdown);
  }
  EXPECT_EQ(world.drained, 0);
  world.submit(1, kUser, 100);
  EXPECT_EQ(world.ended.back().reason, Reason::shutdown);
  world.end_all();
  EXPECT_EQ(world.drained, 1);
  EXPECT_TRUE(world.quiet.empty());  // the sessions themselves stay
}

TEST(Shutdown, WithASessionThatLeavesAtTheSameTime) {
  World world;
  world.open_lane(0, kS, 1, kS);
  world.open_session(0);
  for (int i = 0; i < 3; ++i) world.submit(0, kUser, 100);
  world.hold_effects = true;
  world.close(0);
  world.handle(ShutdownRequested{});
  world.hold_effects = false;
  world.take_effects();
  world.end_all();
  EXPECT_EQ(world.quiet.size(), 1u);
  EXPECT_EQ(world.drained, 1);
}

}  // namespace
}  // namespace tentq::core
