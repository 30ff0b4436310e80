// Admission credit: exact at every level, taken back when others need it, gathered for the oldest.
#include <gtest/gtest.h>

#include <limits>

#include "tests/core/world.h"

namespace tentq::core {
namespace {

constexpr ClassId kUser = ClassId::standard;
constexpr ClassId kBg = ClassId::background;
constexpr std::uint32_t kFgOnly = bit_of(kUser);
constexpr std::uint64_t kS = 64 * kKiB;
using namespace std::chrono_literals;

// A host of `owners` owners whose only lane takes one chunk at a time.
struct Small : World {
  explicit Small(std::uint64_t owners) : World(shape(owners)) { open_lane(0, kS, 1, kS); }
  static WorldShape shape(std::uint64_t owners) {
    WorldShape shape;
    shape.limits = small_limits(owners, kMiB);
    return shape;
  }
  std::uint64_t unused(std::uint32_t session, ClassId cls = kUser) const {
    const CreditKey key{session, index_of(cls)};
    return granted.at(key).owners - consumed.at(key).owners;
  }
  void fill(std::uint32_t session, ClassId cls = kUser) {
    while (unused(session, cls) != 0) submit(session, cls, 1);
  }
};

TEST(Credit, TheFirstSessionGetsGenerousGrantsAndLeavesSomeForTheNext) {
  World world;
  world.open_session(0);
  for (const ClassId cls : {kUser, ClassId::standard, ClassId::prefetch, kBg}) {
    EXPECT_TRUE(world.has_credit(0, cls, {16, kGiB, 16}));
  }
  world.open_session(1, 1);
  EXPECT_TRUE(world.has_credit(1, kUser, {8, kGiB, 8}));
}

TEST(Credit, ALoneClientNeverNeedsARoundTrip) {
  World world;
  world.open_lane();
  world.open_session(0, 0, 128, kFgOnly);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(world.has_credit(0, kUser, {1, kMiB, 1})) << i;
    world.submit(0, kUser, kMiB);
    if (i % 3 == 2) world.end_all();
  }
  EXPECT_TRUE(world.reclaims.empty());
  world.end_all();
  EXPECT_EQ(world.core.counters().completed, 1000u);
}

TEST(Credit, AClientThatTakesMoreIsRefusedAndCounted) {
  Small world(8);
  world.open_session(0, 0, 128, kFgOnly);
  world.fill(0);
  world.forget();
  world.submit(0, kUser, 1);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].reason, Reason::over_credit);
  EXPECT_FALSE(may_retry(Reason::over_credit));
  EXPECT_EQ(world.core.counters().rejected[static_cast<std::size_t>(Reason::over_credit)], 1u);
}

TEST(Credit, ARefusedCallIsNoPartOfWhatAWaitingWishNeeds) {
  Small world(8);
  world.open_session(0, 0, 128, kFgOnly);
  world.want(0, kUser, {4, 4, 4}, false);
  world.submit(0, kUser, 1);
  world.open_session(1, 1, 128, kFgOnly);
  world.want(1, kUser, {8, 8, 8}, true);
  ASSERT_GE(world.unused(1), 2u);
  world.handle(DrainRequested{});
  const std::uint64_t before = world.core.state_hash();
  world.submit(1, kUser, 1);
  world.submit(1, kUser, 1);
  EXPECT_EQ(world.core.state_hash(), before);
  EXPECT_EQ(world.ended.size(), 2u);
  world.end_all();
  EXPECT_TRUE(world.has_credit(1, kUser, {8, 8, 8}));
}

TEST(Credit, UnusedCreditIsTakenBackForAWish) {
  Small world(8);
  world.open_session(0, 0, 128, kFgOnly);
  world.want(0, kUser, {8, 8, 8}, false);
  ASSERT_EQ(world.unused(0), 8u);
  world.open_session(1, 1, 128, kFgOnly);
  EXPECT_EQ(world.unused(1), 0u);
  world.want(1, kUser, {3, 3, 3}, false);
  EXPECT_GE(world.unused(1), 3u);
  EXPECT_GE(world.unused(0), 1u);  // not more than is needed, by and large
  EXPECT_LE(world.unused(0) + world.unused(1), 8u);
  EXPECT_EQ(world.reclaims.size(), 1u);
}

TEST(Credit, WhatWasConsumedBeforeTheLowerGrantsIsHonoured) {
  Small world(8);
  world.open_session(0, 0, 128, kFgOnly);
  world.want(0, kUser, {8, 8, 8}, false);
  world.open_session(1, 1, 128, kFgOnly);
  // The client has consumed five, and published nothing yet.
  world.consumed[{0, index_of(kUser)}] = {5, 5, 5};
  world.want(1, kUser, {8, 8, 8}, true);
  EXPECT_FALSE(world.has_credit(1, kUser, {8, 8, 8}));
  world.consumed[{0, index_of(kUser)}] = {0, 0, 0};
  std::vector<OwnerSpec> five;
  for (int i = 0; i < 5; ++i) five.push_back(world.spec(0, 1));
  world.submit(0, kUser, five);
  EXPECT_EQ(world.admitted.size(), 5u);
}

TEST(Credit, AConsumedCounterMayHoldAnything) {
  constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t lie : {std::uint64_t{0}, std::uint64_t{3}, kEnd, kEnd / 2}) {
    Small world(8);
    world.open_session(0, 0, 128, kFgOnly);
    world.want(0, kUser, {8, 8, 8}, false);
    world.submit(0, kUser, 1);
    world.open_session(1, 1, 128, kFgOnly);
    world.consumed[{0, index_of(kUser)}] = {lie, lie, lie};
    world.want(1, kUser, {4, 4, 4}, true);
    world.want(0, kUser, {lie, 1, 1}, false);
    world.handle(CreditConsumed{SessionId{0}, kUser, {lie, 0, lie}});  // unasked
    EXPECT_LE(world.core.session_totals(SessionId{0}).granted.owners +
                  world.core.session_totals(SessionId{1}).granted.owners,
              8u);
    world.end_all();
    world.close(0);
    world.want(1, kUser, {4, 4, 4}, true);
    EXPECT_TRUE(world.has_credit(1, kUser, {4, 4, 4})) << lie;
  }
}

TEST(Credit, WishesOfUnknownSessionsAndClassesAreIgnored) {
  Small world(8);
  world.open_session(0, 0, 128, kFgOnly);
  const std::uint64_t before = world.core.state_hash();
  world.handle(CreditWanted{SessionId{5}, kUser, {1, 1, 1}, {}, true});
  world.handle(CreditWanted{SessionId{}, kUser, {1, 1, 1}, {}, true});
  world.handle(CreditWanted{SessionId{0}, kBg, {1, 1, 1}, {}, true});
  world.handle(CreditWanted{SessionId{0}, ClassId::internal, {1, 1, 1}, {}, true});
  world.handle(CreditWanted{SessionId{0}, static_cast<ClassId>(200), {1, 1, 1}, {}, true});
  EXPECT_EQ(world.core.state_hash(), before);
}

TEST(Credit, GathersForTheOldestAndNobodyOvertakesIt) {
  Small world(8);
  world.open_session(0, 0, 128, kFgOnly);
  world.open_session(1, 1, 128, kFgOnly);
  world.open_session(2, 2, 128, kFgOnly);
  world.want(0, kUser, {8, 8, 8}, true);
  world.fill(0);
  ASSERT_EQ(world.core.outstanding().owners, 8u);
  world.want(1, kUser, {6, 6, 6}, true);  // the large call, first
  world.want(2, kUser, {1, 1, 1}, true);  // a small one behind it
  for (int i = 1; i <= 5; ++i) {
    world.end_oldest();
    EXPECT_EQ(world.unused(0), 0u) << i;  // not granted again to who released it
    EXPECT_EQ(world.unused(1), 0u) << i;
    EXPECT_EQ(world.unused(2), 0u) << i;  // and not to the small one
  }
  world.end_oldest();
  EXPECT_GE(world.unused(1), 6u);
  EXPECT_EQ(world.unused(2), 0u);
  world.end_oldest();
  EXPECT_GE(world.unused(2), 1u);
}

TEST(Credit, AWishThatDoesNotWaitHoldsNothing) {
  Small world(8);
  world.open_session(0, 0, 128, kFgOnly);
  world.open_session(1, 1, 128, kFgOnly);
  world.open_session(2, 2, 128, kFgOnly);
  world.want(0, kUser, {8, 8, 8}, false);
  world.fill(0);
  world.want(1, kUser, {6, 6, 6}, false);
  world.end_oldest(2);
  EXPECT_EQ(world.unused(1), 0u);
  world.want(2, kUser, {1, 1, 1}, false);
  EXPECT_GE(world.unused(2), 1u);
}

TEST(Credit, ACallThatIsTriedAgainSucceedsOnceEnoughWasReleased) {
  Small world(8);
  world.open_session(0, 0, 128, kFgOnly);
  world.open_session(1, 1, 128, kFgOnly);
  world.want(0, kUser, {8, 8, 8}, false);
  world.fill(0);
  // Session 0 keeps submitting whatever it gets back; session 1 tries again and again.
  int tries = 0;
  while (!world.has_credit(1, kUser, {4, 4, 4}) && tries < 20) {
    world.want(1, kUser, {4, 4, 4}, false);
    world.end_oldest();
    world.fill(0);
    tries += 1;
  }
  EXPECT_LE(tries, 6);
}

TEST(Credit, AWaitThatWasGivenUpReleasesWhatGathered) {
  Small world(8);
  world.open_session(0, 0, 128, kFgOnly);
  world.open_session(1, 1, 128, kFgOnly);
  world.open_session(2, 2, 128, kFgOnly);
  world.want(0, kUser, {8, 8, 8}, true);
  world.fill(0);
  world.want(1, kUser, {8, 8, 8}, true);
  world.want(2, kUser, {1, 1, 1}, true);
  world.end_oldest(2);
  EXPECT_EQ(world.unused(2), 0u);
  world.want(1, kUser, {}, false);
  EXPECT_GE(world.unused(2), 1u);
}

TEST(Credit, ANewerWishKeepsThePlaceOfTheOlderOne) {
  Small world(8);
  world.open_session(0, 0, 128, kFgOnly);
  world.open_session(1, 1, 128, kFgOnly);
  world.open_session(2, 2, 128, kFgOnly);
  world.want(0, kUser, {8, 8, 8}, true);
  world.fill(0);
  world.want(1, kUser, {4, 4, 4}, true);
  world.want(2, kUser, {1, 1, 1}, true);
  world.want(1, kUser, {3, 3, 3}, true);
  world.end_oldest(2);
  EXPECT_EQ(world.unused(2), 0u);
  world.end_oldest();
  EXPECT_GE(world.unused(1), 3u);
}

TEST(Credit, AWishLargerThanTheLimitIsNotKept) {
  Small world(8);
  world.open_session(0, 0, 128, kFgOnly);
  world.open_session(1, 1, 128, kFgOnly);
  world.want(0, kUser, {9, 9, 9}, true);
  world.want(1, kUser, {4, 4, 4}, true);
  EXPECT_TRUE(world.has_credit(1, kUser, {4, 4, 4}));
  EXPECT_FALSE(world.core.next_deadline().has_value());
}

TEST(Credit, TheDeathOfTheOldestLetsTheNextOneHaveIt) {
  Small world(8);
  world.open_session(0, 0, 128, kFgOnly);
  world.open_session(1, 1, 128, kFgOnly);
  world.open_session(2, 2, 128, kFgOnly);
  world.want(0, kUser, {8, 8, 8}, true);
  world.fill(0);
  world.want(1, kUser, {8, 8, 8}, true);
  world.want(2, kUser, {2, 2, 2}, true);
  world.end_oldest(3);
  EXPECT_EQ(world.unused(2), 0u);
  world.close(1);
  EXPECT_GE(world.unused(2), 2u);
}

TEST(Credit, ClassesThatWaitAreServedByTheirShareOfTheHost) {
  WorldShape shape = Small::shape(16);
  shape.limits.classes[index_of(kUser)].weight = 3;
  World world(shape);
  world.open_lane(0, kS, 1, kS);
  world.open_session(0, 0, 128, bit_of(kBg));
  world.open_session(1, 1, 128, kFgOnly);
  world.want(0, kBg, {16, 16, 16}, true);
  for (int i = 0; i < 16; ++i) world.submit(0, kBg, 1);
  world.want(0, kBg, {4, 4, 4}, true);
  world.want(1, kUser, {4, 4, 4}, true);
  world.end_oldest(4);
  EXPECT_TRUE(world.has_credit(1, kUser, {4, 4, 4}));
  EXPECT_FALSE(world.has_credit(0, kBg, {1, 1, 1}));
  world.end_oldest(4);
  EXPECT_TRUE(world.has_credit(0, kBg, {4, 4, 4}));
}

TEST(Credit, ASessionsOwnOtherClassesMakeRoomForItsWish) {
  WorldShape shape;
  World world(shape);
  world.open_session(0, 0, 8);
  EXPECT_FALSE(world.has_credit(0, kUser, {8, 1, 8}));
  world.want(0, kUser, {8, 8, 8}, false);
  EXPECT_TRUE(world.has_credit(0, kUser, {8, 8, 8}));
}

TEST(Credit, WhileSomebodyWaitsUnusedCreditIsAskedForAgain) {
  Small world(8);
  world.open_session(0, 0, 128, kFgOnly);
  world.open_session(1, 1, 128, kFgOnly);
  world.want(0, kUser, {8, 8, 8}, false);
  world.consumed[{0, index_of(kUser)}] = {8, 8, 8};  // for calls that it then gives up
  world.want(1, kUser, {8, 8, 8}, true);
  EXPECT_FALSE(world.has_credit(1, kUser, {8, 8, 8}));
  world.consumed[{0, index_of(kUser)}] = {};
  ASSERT_TRUE(world.core.next_deadline().has_value());
  EXPECT_LE(*world.core.next_deadline(), world.now + 10ms);
  world.advance_to_deadline();
  EXPECT_TRUE(world.has_credit(1, kUser, {8, 8, 8}));
}

TEST(Credit, SubmitsBetweenTheAskingAndTheAnswerAreHonoured) {
  Small world(8);
  world.open_session(0, 0, 128, kFgOnly);
  world.open_session(1, 1, 128, kFgOnly);
  world.want(0, kUser, {8, 8, 8}, false);
  world.forget();
  world.answer_reclaims = false;
  world.want(1, kUser, {8, 8, 8}, true);
  ASSERT_EQ(world.reclaims.size(), 1u);
  EXPECT_EQ(world.reclaims[0].granted.owners, 0u);
  for (int i = 0; i < 3; ++i) world.submit(0, kUser, 1);  // published before the lower grants
  EXPECT_EQ(world.admitted.size(), 3u);
  EXPECT_FALSE(world.has_credit(1, kUser, {1, 1, 1}));
  world.answer_reclaims = true;
  world.handle(CreditConsumed{SessionId{0}, kUser, {3, 3, 3}});
  world.end_oldest(2);
  EXPECT_FALSE(world.has_credit(1, kUser, {8, 8, 8}));
  world.end_oldest();
  EXPECT_TRUE(world.has_credit(1, kUser, {8, 8, 8}));
}

TEST(Credit, RaisesAreCoalesced) {
  World world;
  world.open_lane();
  world.open_session(0);
  for (int i = 0; i < 20; ++i) world.submit(0, kUser, 1);
  world.forget();
  world.hold_effects = true;
  world.end_all();
  world.hold_effects = false;
  world.take_effects();
  EXPECT_EQ(world.ended.size(), 20u);
  EXPECT_EQ(world.raises.size(), 1u);
}

TEST(Credit, GrantsNeverFallExceptByAReclaim) {
  World world;
  world.open_lane();
  world.open_session(0);
  std::map<CreditKey, Amounts> last;
  for (int i = 0; i < 200; ++i) {
    world.submit(0, i % 2 == 0 ? kUser : kBg, 1 + static_cast<std::uint64_t>(i));
    if (i % 7 == 0) world.end_all();
  }
  world.end_all();
  for (const RaiseCredit& raise : world.raises) {
    Amounts& before = last[{raise.session.value(), index_of(raise.cls)}];
    EXPECT_GE(raise.granted.owners, before.owners);
    EXPECT_GE(raise.granted.bytes, before.bytes);
    before = raise.granted;
  }
}

TEST(Replay, OutstandingOwnersAreGrantedAtOnceAndComeBackOneByOne) {
  Small world(16);
  SessionOpened event;
  event.session = SessionId{0};
  event.client = ClientKey{0};
  event.class_mask = kFgOnly;
  event.slots = 128;
  event.limit = world.core.limits().client;
  event.replayed[index_of(kUser)] = {10, 1000, 10};
  world.handle(event);
  EXPECT_GE((world.granted[{0, index_of(kUser)}].owners), 10u);
  world.handle(DrainRequested{});
  std::vector<OwnerSpec> specs;
  for (std::uint32_t i = 0; i < 10; ++i) {
    OwnerSpec spec;
    spec.slot = i == 5 ? 0 : i;  // one of them is unfit; the others do not suffer
    spec.lane = LaneId{0};
    spec.length = 100;
    specs.push_back(spec);
  }
  world.handle(Submitted{SessionId{0}, kUser, true, Reason::none, specs});
  EXPECT_EQ(world.admitted.size(), 9u);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].reason, Reason::invalid_cell);
}

TEST(Replay, IsOutsideDrainingOnlyAsFarAsItWasOutstanding) {
  Small world(16);
  SessionOpened event;
  event.session = SessionId{0};
  event.client = ClientKey{0};
  event.class_mask = kFgOnly;
  event.slots = 128;
  event.limit = world.core.limits().client;
  event.replayed[index_of(kUser)] = {1, 100, 1};
  world.handle(event);
  world.handle(DrainRequested{});
  OwnerSpec spec;
  spec.lane = LaneId{0};
  spec.length = 100;
  OwnerSpec more = spec;
  more.slot = 1;
  const std::vector<OwnerSpec> specs{spec, more};
  world.handle(Submitted{SessionId{0}, kUser, true, Reason::none, specs});
  EXPECT_EQ(world.admitted.size(), 1u);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].reason, Reason::draining);
}

TEST(Replay, WhatOthersHaveMeanwhileGathersForWhoComesBackLater) {
  Small world(16);
  world.open_session(0, 0, 128, kFgOnly);
  world.want(0, kUser, {16, 16, 16}, false);
  world.submit(0, kUser, 1);
  world.open_session(1, 1, 128, kFgOnly);
  world.close(1);
  SessionOpened event;
  event.session = SessionId{1};
  event.client = ClientKey{1};
  event.class_mask = kFgOnly;
  event.slots = 128;
  event.limit = world.core.limits().client;
  event.replayed[index_of(kUser)] = {16, 1000, 16};
  world.handle(event);
  EXPECT_FALSE(world.has_credit(1, kUser, {16, 1000, 16}));
  EXPECT_EQ(world.unused(0), 0u);
  world.end_all();
  EXPECT_TRUE(world.has_credit(1, kUser, {16, 1000, 16}));
}

TEST(Replay, AnAbsurdClaimIsGrantedUpToTheLimits) {
  constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();
  Small world(16);
  SessionOpened event;
  event.session = SessionId{0};
  event.client = ClientKey{0};
  event.slots = 4;
  event.limit = world.core.limits().client;
  for (Amounts& each : event.replayed) each = {kEnd, kEnd, kEnd};
  world.handle(event);
  EXPECT_LE(world.core.session_totals(SessionId{0}).granted.owners, 4u);
}

}  // namespace
}  // namespace tentq::core
