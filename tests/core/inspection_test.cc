// What can be seen from outside, and limits that contradict each other.
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/core/world.h"

namespace tentq::core {
namespace {

constexpr ClassId kUser = ClassId::standard;
constexpr ClassId kBg = ClassId::background;
constexpr std::uint64_t kS = 64 * kKiB;

TEST(Inspection, ExplainsWhyAnOwnerWaits) {
  WorldShape shape;
  shape.policy = Policy::strict;
  World world(shape);
  world.open_lane(0, 2 * kS, 2, kS);
  world.open_session(0, 0);
  world.submit(0, kUser, 4 * kS);
  const OwnerId head = world.last();
  world.submit(0, kUser, 100);
  const OwnerId second = world.last();
  world.submit(0, kBg, 100);
  const OwnerId background = world.last();
  EXPECT_EQ(world.core.explain(head)->cause, WaitCause::window);
  EXPECT_EQ(world.core.explain(head)->lane_in_flight_bytes, 2 * kS);
  EXPECT_EQ(world.core.explain(head)->lane_window_bytes, 2 * kS);
  EXPECT_EQ(world.core.explain(second)->cause, WaitCause::order);
  EXPECT_EQ(world.core.explain(second)->owners_ahead, 1u);
  EXPECT_EQ(world.core.explain(background)->cause, WaitCause::window);
  world.hold_effects = true;
  world.end_oldest();
  EXPECT_EQ(world.core.explain(background)->cause, WaitCause::class_order);
  world.hold_effects = false;
  world.take_effects();
  world.cancel(head);
  EXPECT_EQ(world.core.explain(head)->cause, WaitCause::draining);
  world.end_all();
  EXPECT_FALSE(world.core.explain(head).has_value());
  EXPECT_FALSE(world.core.find_owner(OwnerId{}).has_value());
}

TEST(Inspection, TotalsFollowEveryStep) {
  World world;
  world.open_lane(0, kS, 1, kS);
  world.open_session(0, 0);
  const Time first = world.now;
  world.submit(0, kUser, 3 * kS);
  world.now += Duration{1000};
  world.submit(0, kUser, 50);
  ClassTotals totals = world.core.class_totals(kUser);
  EXPECT_EQ(totals.queued_owners, 1u);
  EXPECT_EQ(totals.queued_bytes, 2 * kS + 50);
  EXPECT_EQ(totals.in_flight_owners, 1u);
  EXPECT_EQ(totals.in_flight_bytes, kS);
  EXPECT_EQ(totals.oldest_enqueued, first);
  EXPECT_EQ(world.core.class_totals(kBg).oldest_enqueued, kNever);
  const LaneTotals lane = world.core.lane_totals(LaneId{0});
  EXPECT_EQ(lane.queued_owners, 2u);
  EXPECT_EQ(lane.queued_bytes, 2 * kS + 50);
  EXPECT_EQ(lane.in_flight_chunks, 1u);
  const SessionTotals session = world.core.session_totals(SessionId{0});
  EXPECT_EQ(session.outstanding, (Amounts{2, 3 * kS + 50, 2}));
  EXPECT_EQ(session.queued_owners, 1u);
  EXPECT_EQ(session.in_flight_owners, 1u);
  world.end_all();
  EXPECT_EQ(world.core.class_totals(kUser).queued_bytes, 0u);
  EXPECT_EQ(world.core.class_totals(kUser).oldest_enqueued, kNever);
  EXPECT_EQ(world.core.lane_totals(LaneId{9999}).window_bytes, 0u);
  EXPECT_EQ(world.core.session_totals(SessionId{}).outstanding, Amounts{});
}

TEST(Inspection, TheOldestIsFoundAmongAllClientsLanesAndThoseWithoutARoute) {
  for (const Policy policy : {Policy::wdrr, Policy::fifo}) {
    WorldShape shape;
    shape.policy = policy;
    World world(shape);
    world.open_lane(0, kS, 1, kS);
    world.open_lane(1, kS, 1, kS);
    world.open_session(0, 0);
    world.open_session(1, 5);
    world.submit(0, kBg, 1, 0);
    world.submit(0, kBg, 1, 1);  // both lanes are taken
    world.now += Duration{1000};
    const Time oldest = world.now;
    world.submit(1, kUser, 1, 1);
    world.now += Duration{1000};
    world.submit(0, kUser, 1, 0);
    EXPECT_EQ(world.core.class_totals(kUser).oldest_enqueued, oldest);
    world.end_chunk(world.in_flight[1].chunk);
    EXPECT_GT(world.core.class_totals(kUser).oldest_enqueued, oldest);
  }
}

TEST(Inspection, ListsTheOldestFirstAndAtMostWhatWasAskedFor) {
  World world;
  world.open_lane(0, kS, 1, kS);
  world.open_session(0, 0);
  world.open_session(1, 1);
  for (std::uint64_t i = 0; i < 20; ++i) {
    world.now += Duration{10};
    world.submit(static_cast<std::uint32_t>(i % 2), kUser, i + 1);
  }
  const auto all = world.core.list_owners({}, 100);
  ASSERT_EQ(all.size(), 20u);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].length, i + 1);
  const auto some = world.core.list_owners(
      [](const OwnerView& owner) { return owner.session == SessionId{1}; }, 3);
  ASSERT_EQ(some.size(), 3u);
  EXPECT_EQ(some[0].length, 2u);
  EXPECT_EQ(some[2].length, 6u);
  EXPECT_TRUE(world.core.list_owners({}, 0).empty());
}

TEST(Explain, NamesCapsReservesAndAgesWithTheirNumbers) {
  World world;
  world.open_lane(0, 4 * kS, 64, kS);
  world.open_session(0, 0);
  world.open_session(1, 1);
  Limits limits = world.core.limits();
  limits.classes[index_of(kBg)].in_flight_bytes = kS;
  limits.classes[index_of(ClassId::prefetch)].reserve_bytes = kS;
  limits.client_in_flight_bytes = 3 * kS;
  limits.age_max = std::chrono::milliseconds{1};
  ASSERT_EQ(world.core.set_limits(limits, nullptr), StatusCode::ok);
  const auto explain = [&world] { return world.core.explain(world.last()).value(); };
  world.submit(0, kBg, 2 * kS);
  EXPECT_EQ(explain().cause, WaitCause::class_cap);
  EXPECT_EQ(explain().class_in_flight_bytes, kS);
  EXPECT_EQ(explain().class_cap_bytes, kS);
  world.submit(0, kUser, 3 * kS);
  EXPECT_EQ(explain().cause, WaitCause::reserve);
  EXPECT_EQ(explain().lane_reserved_bytes, kS);
  world.submit(0, ClassId::prefetch, kS);
  EXPECT_EQ(explain().cause, WaitCause::client_cap);
  EXPECT_EQ(explain().client_in_flight_bytes, 3 * kS);
  EXPECT_EQ(explain().client_cap_bytes, 3 * kS);
  world.submit(1, ClassId::prefetch, 2 * kS);
  EXPECT_EQ(explain().cause, WaitCause::window);
  EXPECT_EQ(explain().lane_others_queued, 3u);
}

TEST(Explain, AnOldHeadWaitsForTheTurnOfOldOnes) {
  WorldShape shape;
  shape.policy = Policy::strict;
  shape.limits.age_max = std::chrono::milliseconds{1};
  World world(shape);
  world.open_lane(0, kS, 8, kS);
  world.open_session(0);
  world.submit(0, kUser, kS);
  world.submit(0, kBg, kS);
  world.submit(0, kBg, kS);
  const OwnerId second = world.last();
  world.advance(std::chrono::milliseconds{2});
  for (int i = 0; i < 10; ++i) world.submit(0, kUser, kS);
  EXPECT_EQ(world.core.explain(second)->cause, WaitCause::order);
  world.end_oldest();
  // The first old one went before its turn. Eight chunks of others later it is the second one's
  // turn.
  EXPECT_EQ(world.core.explain(second)->cause, WaitCause::aging);
  EXPECT_EQ(world.core.explain(second)->aging_owed_bytes, 8 * kS);
  for (int i = 0; i < 8; ++i) world.end_oldest();
  EXPECT_EQ(world.core.explain(second)->cause, WaitCause::window);
  world.end_oldest();
  EXPECT_EQ(world.core.explain(second)->cause, WaitCause::none);
}

TEST(Limits, ContradictionsAreRefusedWhenTheyAreSet) {
  const HardMaxima maxima{64, 4, 4, 4};
  const auto refused = [&maxima](const Limits& limits, const char* name) {
    try {
      Core core(limits, maxima, Policy::wdrr, 1);
      ADD_FAILURE() << name;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
    Core core(small_limits(64, kGiB), maxima, Policy::wdrr, 1);
    const std::uint64_t before = core.state_hash();
    std::string why;
    EXPECT_EQ(core.set_limits(limits, &why), StatusCode::invalid_argument);
    EXPECT_NE(why.find(name), std::string::npos) << why;
    EXPECT_EQ(core.state_hash(), before);
    EXPECT_EQ(core.set_limits(limits, nullptr), StatusCode::invalid_argument);
  };
  const Limits good = small_limits(64, kGiB);
  Limits bad = good;
  bad.host.owners = 65;
  refused(bad, "host.owners");
  bad = good;
  bad.classes[index_of(kBg)].in_flight_bytes = kLeastCap - 1;
  refused(bad, "classes[4].in_flight_bytes");
  bad = good;
  bad.client_in_flight_bytes = 1;
  refused(bad, "client_in_flight_bytes");
  bad = good;
  bad.age_max = Duration{-1};
  refused(bad, "age_max");
  bad = good;
  bad.internal_reserve = {65, 0, 0};
  refused(bad, "internal_reserve");
  bad = good;
  bad.internal_reserve = {0, 2 * kGiB, 0};
  refused(bad, "internal_reserve");
  bad = good;
  bad.classes[3].weight = 0;
  refused(bad, "weight");
  bad = good;
  bad.largest_owner_bytes = 0;
  refused(bad, "largest_owner_bytes");
  for (const std::uint32_t owners : {0u, 65'536u}) {
    bad = good;
    bad.largest_call_owners = owners;
    refused(bad, "largest_call_owners");
  }
  bad = good;
  bad.route_budget = Duration{-1};
  refused(bad, "route_budget");
  bad = good;
  bad.retry_backoff_min = Duration{0};
  refused(bad, "retry_backoff_min");
  bad = good;
  bad.retry_backoff_max = bad.retry_backoff_min - Duration{1};
  refused(bad, "retry_backoff_max");
}

TEST(Limits, MaximaThatCannotBeHeldAreRefused) {
  const auto refused = [](const HardMaxima& maxima, const char* name) {
    try {
      Core core(small_limits(1, 1), maxima, Policy::wdrr, 1);
      ADD_FAILURE() << name;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
  };
  refused({0, 1, 1, 1}, "owners");
  refused({1u << 25, 1, 1, 1}, "owners");
  refused({1, 0, 1, 1}, "sessions");
  refused({1, 5000, 1, 1}, "sessions");
  refused({1, 1, 0, 1}, "clients");
  refused({1, 1, 1, 0}, "lanes");
  refused({1, 1, 1, 513}, "lanes");
  refused({1, 1, 4096, 513}, "lanes");
  refused({1, 1, 2048, 512}, "clients × maxima.lanes");
}

TEST(Limits, TheLargestNumbersOfEverythingWorkTogether) {
  WorldShape shape;
  shape.maxima = {64, 512, 512, 512};
  shape.limits = small_limits(64, kGiB);
  shape.check = false;
  World world(shape);
  world.open_lane(511, kS, 4, kS);
  world.open_session(511, 511);
  world.submit(511, kUser, 100, 511);
  ASSERT_EQ(world.in_flight.size(), 1u);
  EXPECT_EQ(world.in_flight[0].lane, LaneId{511});
  world.end_all();
  world.core.check_invariants();
}

}  // namespace
}  // namespace tentq::core
