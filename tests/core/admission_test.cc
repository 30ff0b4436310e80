// Admission: all or nothing, at every level, with reasons that tell whether to try again.
#include <gtest/gtest.h>

#include <limits>

#include "tests/core/world.h"

namespace tentq::core {
namespace {

constexpr ClassId kUser = ClassId::standard;
constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

std::uint64_t rejected(const World& world, Reason reason) {
  return world.core.counters().rejected[static_cast<std::size_t>(reason)];
}

// Submits and expects the whole call to be refused with nothing changed.
void expect_refused(World& world, std::uint32_t session, ClassId cls,
                    const std::vector<OwnerSpec>& specs, Reason reason) {
  world.forget();
  const std::uint64_t before = world.core.state_hash();
  const std::uint64_t counted = rejected(world, reason);
  world.submit(session, cls, specs);
  EXPECT_EQ(world.core.state_hash(), before);
  EXPECT_TRUE(world.admitted.empty());
  ASSERT_EQ(world.ended.size(), specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(world.ended[i].state, TaskState::failed);
    EXPECT_EQ(world.ended[i].reason, reason) << to_string(world.ended[i].reason);
    EXPECT_FALSE(world.ended[i].owner.valid());
    EXPECT_EQ(world.ended[i].slot, specs[i].slot);
    EXPECT_EQ(world.ended[i].slot_generation, specs[i].slot_generation);
  }
  EXPECT_EQ(rejected(world, reason), counted + specs.size());
}

TEST(Admission, AnEmptyCallIsOkAndChangesNothing) {
  World world;
  world.open_session(0);
  const std::uint64_t before = world.core.state_hash();
  world.submit(0, kUser, std::vector<OwnerSpec>{});
  EXPECT_EQ(world.core.state_hash(), before);
  EXPECT_TRUE(world.ended.empty());
  EXPECT_TRUE(world.admitted.empty());
}

TEST(Admission, AdmitsTheWholeCallAndChargesIt) {
  World world;
  world.open_lane();
  world.open_session(0);
  world.submit(0, kUser, {world.spec(0, 100), world.spec(0, 200), world.spec(0, 300)});
  EXPECT_EQ(world.admitted.size(), 3u);
  EXPECT_EQ(world.core.outstanding(), (Amounts{3, 600, 3}));
  EXPECT_EQ(world.core.session_totals(SessionId{0}).outstanding, (Amounts{3, 600, 3}));
  EXPECT_EQ(world.core.counters().enqueued, 3u);
  world.end_all();
  ASSERT_EQ(world.ended.size(), 3u);
  EXPECT_EQ(world.ended[2].state, TaskState::completed);
  EXPECT_EQ(world.ended[2].bytes_done, 300u);
  EXPECT_EQ(world.core.outstanding(), Amounts{});
}

TEST(Admission, AnInvalidOwnerRefusesTheWholeCall) {
  World world;
  world.open_lane();
  world.open_session(0);
  OwnerSpec empty = world.spec(0, 0);
  expect_refused(world, 0, kUser, {world.spec(0, 10), empty}, Reason::invalid_cell);
  OwnerSpec many = world.spec(0, 10);
  many.extents = 4097;
  expect_refused(world, 0, kUser, {many}, Reason::invalid_cell);
  OwnerSpec backwards = world.spec(0, 10);
  backwards.deadline = Duration{-1};
  expect_refused(world, 0, kUser, {backwards}, Reason::invalid_cell);
  OwnerSpec outside = world.spec(0, 10);
  outside.slot = 1024;
  expect_refused(world, 0, kUser, {outside}, Reason::invalid_cell);
  OwnerSpec nowhere = world.spec(0, 10, 3);
  expect_refused(world, 0, kUser, {nowhere}, Reason::no_route);
  OwnerSpec internal = world.spec(0, 10);
  internal.internal = true;
  expect_refused(world, 0, kUser, {internal}, Reason::not_permitted);
}

TEST(Admission, ASlotThatIsTakenIsRefusedWithoutMutation) {
  World world;
  world.open_lane();
  world.open_session(0);
  const OwnerSpec first = world.spec(0, 10 * kMiB);
  world.submit(0, kUser, {first});
  const OwnerId owner = world.last();
  expect_refused(world, 0, kUser, {first}, Reason::invalid_cell);
  EXPECT_EQ(world.state_of(owner), OwnerState::dispatching);
  const OwnerSpec twice = world.spec(0, 10);
  expect_refused(world, 0, kUser, {twice, twice}, Reason::invalid_cell);
}

TEST(Admission, ACallOfMoreOwnersThanTheCoreHasIsTooLarge) {
  WorldShape shape;
  shape.maxima.owners = 64;
  shape.limits = small_limits(64, kGiB);
  World world(shape);
  world.open_lane();
  world.open_session(0);
  std::vector<OwnerSpec> specs;
  for (int i = 0; i < 65; ++i) specs.push_back(world.spec(0, 1));
  expect_refused(world, 0, kUser, specs, Reason::too_large);
}

TEST(Admission, TheSlotOfAnEndedOwnerCanBeUsedAgain) {
  World world;
  world.open_lane();
  world.open_session(0, 0, 1);
  for (int i = 0; i < 5; ++i) {
    world.submit(0, ClassId::foreground, 100);
    world.end_all();
  }
  EXPECT_EQ(world.core.counters().completed, 5u);
}

TEST(Admission, AnUnknownClassIsNotPermitted) {
  World world;
  world.open_lane();
  world.open_session(0, 0, 128, bit_of(ClassId::background));
  expect_refused(world, 0, kUser, {world.spec(0, 10)}, Reason::not_permitted);
  expect_refused(world, 0, static_cast<ClassId>(7), {world.spec(0, 10)}, Reason::not_permitted);
}

TEST(Admission, TheInboxsVerdictEndsTheCallAndItsCreditComesBack) {
  World world;
  world.open_lane();
  world.open_session(0);
  const Amounts before = world.granted[{0, index_of(kUser)}];
  const std::vector<OwnerSpec> specs{world.spec(0, 700)};
  const std::uint64_t hash = world.core.state_hash();
  world.handle(Submitted{SessionId{0}, kUser, false, Reason::stale_handle, specs});
  EXPECT_EQ(world.core.state_hash(), hash);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].reason, Reason::stale_handle);
  const Amounts after = world.granted[{0, index_of(kUser)}];
  EXPECT_EQ(after, (Amounts{before.owners + 1, before.bytes + 700, before.extents + 1}));
}

TEST(Admission, EveryLimitHoldsAtItsBoundary) {
  // max − 1, max, max + 1 of owners, with the smallest level being each in turn.
  for (const int level : {0, 1, 2}) {
    WorldShape shape;
    shape.limits = small_limits(64, kGiB);
    Amounts four{4, kGiB, 512};
    if (level == 0) shape.limits.host = four;
    if (level == 1) shape.limits.classes[index_of(kUser)].outstanding = four;
    if (level == 2) shape.limits.client = four;
    World world(shape);
    world.open_lane(0, 4 * kMiB, 1);
    world.open_session(0, 0, 128, bit_of(kUser));
    world.want(0, kUser, {4, 4, 4}, false);
    std::vector<OwnerSpec> specs;
    for (int i = 0; i < 3; ++i) specs.push_back(world.spec(0, 1));
    world.submit(0, kUser, specs);
    EXPECT_EQ(world.admitted.size(), 3u) << level;
    world.submit(0, kUser, 1);
    EXPECT_EQ(world.admitted.size(), 4u) << level;
    world.submit(0, kUser, 1);
    EXPECT_EQ(world.admitted.size(), 4u) << level;
    EXPECT_EQ(world.ended.back().reason, Reason::over_credit) << level;
    EXPECT_FALSE(world.has_credit(0, kUser, {1, 1, 1}));
  }
}

TEST(Admission, ACallLargerThanALimitIsTooLargeAndNeverRetryable) {
  WorldShape shape;
  shape.limits = small_limits(8, kMiB);
  shape.limits.largest_owner_bytes = 2 * kMiB;
  shape.limits.largest_call_owners = 10;
  World world(shape);
  world.open_lane();
  world.open_session(0);
  expect_refused(world, 0, kUser, {world.spec(0, kMiB + 1)}, Reason::too_large);
  expect_refused(world, 0, kUser, {world.spec(0, 2 * kMiB + 1)}, Reason::too_large);
  std::vector<OwnerSpec> nine;
  for (int i = 0; i < 9; ++i) nine.push_back(world.spec(0, 1));
  expect_refused(world, 0, kUser, nine, Reason::too_large);
  for (int i = 0; i < 2; ++i) nine.push_back(world.spec(0, 1));
  expect_refused(world, 0, kUser, nine, Reason::too_large);
  EXPECT_FALSE(may_retry(Reason::too_large));
}

TEST(Admission, LengthsUpToTheLargestNumberDoNotWrap) {
  WorldShape shape;
  shape.limits = small_limits(64, kEnd);
  shape.limits.largest_owner_bytes = kEnd;
  World world(shape);
  world.open_lane();
  world.open_session(0, 0, 128, bit_of(kUser));
  expect_refused(world, 0, kUser, {world.spec(0, kEnd), world.spec(0, kEnd)}, Reason::over_credit);
  expect_refused(world, 0, kUser, {world.spec(0, kEnd / 2 + 2), world.spec(0, kEnd / 2 + 2)},
                 Reason::over_credit);
  world.want(0, kUser, {1, kEnd, 1}, true);
  ASSERT_TRUE(world.has_credit(0, kUser, {0, kEnd, 0}));
  world.submit(0, kUser, kEnd);
  ASSERT_EQ(world.admitted.size(), 1u);
  EXPECT_EQ(world.core.outstanding().bytes, kEnd);
  world.cancel(world.last());
  expect_refused(world, 0, kUser, {world.spec(0, 1)}, Reason::over_credit);
  world.end_all();
  EXPECT_EQ(world.core.outstanding(), Amounts{});
}

TEST(Admission, LimitZeroAdmitsNothingAndGrantsNothing) {
  for (const int level : {0, 1, 2}) {
    WorldShape shape;
    shape.limits = small_limits(8, kMiB);
    if (level == 0) shape.limits.host = {};
    if (level == 1) shape.limits.classes[index_of(kUser)].outstanding = {};
    if (level == 2) shape.limits.client = {};
    World world(shape);
    world.open_lane();
    world.open_session(0);
    EXPECT_FALSE(world.has_credit(0, kUser, {1, 0, 0}));
    expect_refused(world, 0, kUser, {world.spec(0, 1)}, Reason::too_large);
    world.want(0, kUser, {1, 1, 1}, true);
    EXPECT_FALSE(world.has_credit(0, kUser, {1, 0, 0}));
  }
}

TEST(Admission, UsersNeverTakeTheInternalReserveAndInternalWorkMayTakeAll) {
  WorldShape shape;
  shape.limits = small_limits(8, 8 * kMiB);
  shape.limits.internal_reserve = {2, 2 * kMiB, 2};
  World world(shape);
  world.open_lane(0, 4 * kMiB, 1);
  world.open_session(0, 0, 128, bit_of(kUser));
  world.open_session(1, 1, 128, bit_of(ClassId::internal));
  const auto internal = [&world] {
    OwnerSpec spec = world.spec(1, 1);
    spec.internal = true;
    return spec;
  };
  // Users: all but the reserve, with everything of theirs taken.
  world.want(0, kUser, {6, 6, 6}, true);
  std::vector<OwnerSpec> six;
  for (int i = 0; i < 6; ++i) six.push_back(world.spec(0, 1));
  world.submit(0, kUser, six);
  EXPECT_EQ(world.admitted.size(), 6u);
  expect_refused(world, 0, kUser, {world.spec(0, 1)}, Reason::over_credit);
  world.forget();
  world.submit(1, ClassId::internal, {internal(), internal()});
  EXPECT_EQ(world.admitted.size(), 2u);
  expect_refused(world, 1, ClassId::internal, {internal()}, Reason::over_limit);
  EXPECT_EQ(world.core.counters().internal_reserve_exhausted, 1u);
  // And when users are gone, up to the full limit.
  world.close(0);
  world.end_all();
  ASSERT_EQ(world.core.outstanding(), Amounts{});
  world.forget();
  std::vector<OwnerSpec> eight;
  for (int i = 0; i < 8; ++i) eight.push_back(internal());
  world.submit(1, ClassId::internal, eight);
  EXPECT_EQ(world.admitted.size(), 8u);
  // What internal work has, users cannot be promised.
  world.open_session(2, 2, 128, bit_of(kUser));
  EXPECT_FALSE(world.has_credit(2, kUser, {1, 0, 0}));
}

TEST(Admission, ASessionThatIsUnknownOrLeavingIsRefused) {
  World world;
  world.open_lane();
  world.open_session(0);
  world.open_session(1);
  world.submit(0, kUser, 10 * kMiB);
  world.close(0);
  world.forget();
  world.submit(0, kUser, 10);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].reason, Reason::canceled);
  const std::vector<OwnerSpec> specs{world.spec(1, 10)};
  world.handle(Submitted{SessionId{5}, kUser, false, Reason::none, specs});
  EXPECT_EQ(world.ended.back().reason, Reason::invalid_cell);
}

TEST(Admission, LoweredLimitsRefuseWhatWasPromisedAndTakeItBack) {
  WorldShape shape;
  shape.limits = small_limits(64, kGiB);
  World world(shape);
  world.open_lane();
  world.open_session(0, 0, 128, bit_of(kUser));
  Limits lower = small_limits(4, kGiB);
  EXPECT_EQ(world.core.set_limits(lower, nullptr), StatusCode::ok);
  std::vector<OwnerSpec> four;
  for (int i = 0; i < 4; ++i) four.push_back(world.spec(0, 1));
  world.hold_effects = true;  // the client submits before it can see the lower grants
  world.submit(0, kUser, four);
  world.submit(0, kUser, 1);
  world.hold_effects = false;
  world.take_effects();
  EXPECT_EQ(world.admitted.size(), 4u);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].reason, Reason::over_limit);
  EXPECT_TRUE(may_retry(Reason::over_limit));
  EXPECT_FALSE(world.has_credit(0, kUser, {1, 0, 0}));
  EXPECT_EQ(world.core.session_totals(SessionId{0}).granted.owners, 4u);
  world.end_all();
  EXPECT_TRUE(world.has_credit(0, kUser, {4, 4, 4}));
}

TEST(Admission, MemoryStaysBoundedAndGenerationsTellOwnersApart) {
  WorldShape shape;
  shape.maxima = {4, 2, 2, 1};
  shape.limits = small_limits(4, kMiB);
  World world(shape);
  world.open_lane();
  world.open_session(0, 0, 4, bit_of(kUser));
  std::vector<OwnerId> seen;
  for (int i = 0; i < 2000; ++i) {
    world.submit(0, kUser, 1);
    seen.push_back(world.last());
    world.end_all();
  }
  EXPECT_EQ(world.core.counters().completed, 2000u);
  for (const OwnerId& id : seen) {
    EXPECT_LT(id.index, 4u);
    EXPECT_FALSE(world.core.find_owner(id).has_value());
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
}

// A slot has one refusal to be told, whatever a session's slots are.
TEST(Refusals, EverySlotOfEverySessionMayBeRefusedInOneTurn) {
  WorldShape shape;
  shape.check = false;
  shape.maxima = {70'000, 2, 2, 2, 65'536};
  World world(shape);
  world.open_lane();
  for (std::uint32_t s = 0; s < 2; ++s) world.open_session(s, s, 65'536);
  world.hold_effects = true;
  for (std::uint32_t s = 0; s < 2; ++s) {
    for (std::uint32_t ring = 1; ring <= 4; ++ring) {
      std::vector<OwnerSpec> specs;
      for (int i = 0; i < 16'383; ++i) specs.push_back(world.spec(s, 4096));
      world.handle(
          Submitted{SessionId{s}, static_cast<ClassId>(ring), false, Reason::too_large, specs});
    }
  }
  world.hold_effects = false;
  world.take_effects();
  EXPECT_EQ(world.ended.size(), 2u * 4 * 16'383);
}

}  // namespace
}  // namespace tentq::core
