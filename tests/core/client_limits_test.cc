// Limits of single clients: for all their sessions together, changed at run time, and named when
// they are what stands in the way.
#include <gtest/gtest.h>

#include "tests/core/world.h"

namespace tentq::core {
namespace {

constexpr ClassId kUser = ClassId::standard;
constexpr std::uint64_t kS = 64 * kKiB;

Amounts owners_only(std::uint64_t owners) {
  return {owners, kAsAllClients, kAsAllClients};
}

// A lane that takes one chunk at a time, so that what is submitted stays outstanding.
struct Jammed : World {
  Jammed() : World(shape()) { open_lane(0, kS, 1, kS); }
  static WorldShape shape() {
    WorldShape shape;
    shape.limits = small_limits(64, kMiB);
    return shape;
  }
  void open(std::uint32_t session, std::uint32_t client, const Amounts& outstanding) {
    SessionOpened event;
    event.session = SessionId{session};
    event.client = ClientKey{client};
    event.outstanding = outstanding;
    event.slots = 1024;
    event.limit = {64, kMiB, 64};
    open_session(event);
  }
  // Submits single owners as long as there is, or can be had, credit for them.
  std::uint32_t fill(std::uint32_t session, ClassId cls = kUser, std::uint64_t length = 1) {
    std::uint32_t done = 0;
    while (true) {
      if (!has_credit(session, cls, {1, length, 1})) want(session, cls, {1, length, 1}, false);
      if (!has_credit(session, cls, {1, length, 1})) return done;
      submit(session, cls, length);
      done += 1;
    }
  }
};

TEST(ClientLimits, HoldForAllSessionsOfTheClientTogether) {
  Jammed world;
  for (std::uint32_t s = 0; s < 4; ++s) world.open(s, 0, owners_only(10));
  world.open(4, 1, owners_only(kAsAllClients));
  std::uint32_t admitted = 0;
  for (std::uint32_t s = 0; s < 4; ++s) admitted += world.fill(s);
  EXPECT_EQ(admitted, 10u);
  // Nothing of it was taken from anybody else.
  EXPECT_EQ(world.fill(4), 54u);
}

TEST(ClientLimits, CanBeOfBytesAlone) {
  Jammed world;
  world.open(0, 0, {kAsAllClients, 1000, kAsAllClients});
  EXPECT_EQ(world.fill(0, kUser, 100), 10u);
}

TEST(ClientLimits, CanBeAboveThatOfAllClients) {
  Jammed world;
  Limits limits = world.core.limits();
  limits.client.owners = 5;
  ASSERT_EQ(world.core.set_limits(limits, nullptr), StatusCode::ok);
  world.open(0, 0, owners_only(20));
  world.open(1, 1, owners_only(kAsAllClients));
  EXPECT_EQ(world.fill(0), 20u);
  EXPECT_EQ(world.fill(1), 5u);
}

TEST(ClientLimits, FollowThatOfAllClientsWhereTheyHaveNoneOfTheirOwn) {
  Jammed world;
  world.open(0, 0, {kAsAllClients, 100, kAsAllClients});
  world.open(1, 1, owners_only(3));
  Limits limits = world.core.limits();
  limits.client.owners = 7;
  limits.client.bytes = 5;
  ASSERT_EQ(world.core.set_limits(limits, nullptr), StatusCode::ok);
  world.take_effects();
  EXPECT_EQ(world.fill(0), 7u);
  EXPECT_EQ(world.fill(1), 3u);
}

TEST(ClientLimits, OfZeroAdmitNothingForGood) {
  Jammed world;
  world.open(0, 0, owners_only(0));
  world.submit(0, kUser, 1);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].reason, Reason::too_large);
  EXPECT_FALSE(may_retry(world.ended[0].reason));
}

TEST(ClientLimits, LoweredTakeUnusedCreditBackAndLetWhatIsOutstandingEnd) {
  Jammed world;
  world.open(0, 0, owners_only(kAsAllClients));
  world.open(1, 0, owners_only(kAsAllClients));
  for (int i = 0; i < 8; ++i) world.submit(0, kUser, 1);
  world.handle(ClientChanged{ClientKey{0}, 1, 0, owners_only(4)});
  EXPECT_EQ(world.fill(0) + world.fill(1), 0u);
  EXPECT_EQ(world.core.outstanding().owners, 8u);
  world.end_oldest(5);
  EXPECT_EQ(world.fill(0) + world.fill(1), 1u);
  EXPECT_EQ(world.core.outstanding().owners, 4u);
}

TEST(ClientLimits, RaisedServeTheWishThatWaits) {
  Jammed world;
  world.open(0, 0, owners_only(2));
  EXPECT_EQ(world.fill(0), 2u);
  world.handle(ClientChanged{ClientKey{0}, 1, 0, owners_only(6)});
  world.want(0, kUser, {4, 4, 4}, true);
  EXPECT_TRUE(world.has_credit(0, kUser, {4, 4, 4}));
}

TEST(ClientLimits, ComeWithTheSessionAndDoNotOutliveTheClient) {
  Jammed world;
  world.open(0, 0, owners_only(2));
  EXPECT_EQ(world.fill(0), 2u);
  world.end_all();
  world.close(0);
  world.open(0, 0, owners_only(kAsAllClients));
  EXPECT_EQ(world.fill(0), 64u);
}

TEST(FullLevel, IsTheNarrowestLimitThatLeavesNoRoom) {
  Jammed world;
  world.open(0, 0, owners_only(10));
  world.open(1, 0, owners_only(10));
  world.open(2, 1, owners_only(kAsAllClients));
  const auto level = [&](std::uint32_t session, std::uint64_t owners) {
    return world.core.full_level(SessionId{session}, kUser, {owners, 1, 1});
  };
  EXPECT_EQ(level(0, 10), LimitLevel::none);  // there is, or can be, room
  EXPECT_EQ(level(0, 11), LimitLevel::client);
  EXPECT_EQ(world.fill(0, ClassId::prefetch), 10u);
  EXPECT_EQ(level(1, 1), LimitLevel::client);
  EXPECT_EQ(level(2, 1), LimitLevel::none);
  EXPECT_EQ(world.fill(2), 54u);
  EXPECT_EQ(level(2, 1), LimitLevel::host);
  EXPECT_EQ(level(7, 1), LimitLevel::none);  // nobody's
}

TEST(FullLevel, TellsClassAndSlotsApart) {
  Jammed world;
  Limits limits = world.core.limits();
  limits.classes[index_of(kUser)].outstanding.owners = 3;
  ASSERT_EQ(world.core.set_limits(limits, nullptr), StatusCode::ok);
  world.open(0, 0, owners_only(kAsAllClients));
  EXPECT_EQ(world.fill(0), 3u);
  EXPECT_EQ(world.core.full_level(SessionId{0}, kUser, {1, 1, 1}), LimitLevel::cls);
  EXPECT_EQ(world.core.full_level(SessionId{0}, ClassId::prefetch, {1, 1, 1}), LimitLevel::none);
  EXPECT_EQ(world.core.full_level(SessionId{0}, ClassId::prefetch, {62, 1, 1}),
            LimitLevel::session);
}

}  // namespace
}  // namespace tentq::core
