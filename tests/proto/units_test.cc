// Ids, units and classes.
#include "proto/units.h"

#include <gtest/gtest.h>

#include "proto/check.h"
#include "proto/classes.h"
#include "proto/ids.h"

namespace tentq {
namespace {

using namespace literals;

TEST(Units, BytesAddCompareAndScale) {
  EXPECT_EQ(1_KiB, 1024_B);
  EXPECT_EQ(1_MiB, Bytes{1u << 20});
  EXPECT_EQ((1_GiB).count(), std::uint64_t{1} << 30);
  EXPECT_EQ(3_KiB - 1_KiB + 1_B, Bytes{2049});
  EXPECT_LT(1_KiB, 1025_B);
}

TEST(Units, TimesAreNanosecondsOfTheMonotonicClock) {
  EXPECT_EQ(to_ns(time_from_ns(123)), 123);
  EXPECT_EQ(time_from_ns(5) + Duration{7}, time_from_ns(12));
  EXPECT_GT(kNever, time_from_ns(1ll << 62));
}

TEST(Ids, DefaultIsInvalidAndKindsDoNotMix) {
  EXPECT_FALSE(SessionId{}.valid());
  EXPECT_TRUE(SessionId{0}.valid());
  EXPECT_FALSE(OwnerId{}.valid());
  static_assert(!std::is_convertible_v<SessionId, RegionIndex>);
  static_assert(!std::is_convertible_v<std::uint32_t, SessionId>);
}

TEST(Classes, ClientsNeverGetTheInternalClass) {
  EXPECT_EQ(kClientClassMask & bit_of(ClassId::internal), 0u);
  for (const ClassId cls :
       {ClassId::foreground, ClassId::standard, ClassId::prefetch, ClassId::background}) {
    EXPECT_NE(kClientClassMask & bit_of(cls), 0u);
    EXPECT_LT(index_of(cls), kClassCount);
  }
  static_assert(kClassCount <= kMaxClasses);
}

TEST(CheckDeathTest, FailureNamesTheExpressionAndThePlace) {
  EXPECT_DEATH(TENTQ_CHECK(1 + 1 == 3), "check failed: 1 \\+ 1 == 3 .*units_test.cc:");
}

}  // namespace
}  // namespace tentq
