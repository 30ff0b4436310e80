// Admission credit between one client and the daemon: spending, undoing, lowering, wishing.
#include "shm/credit.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/shm/credit_memory.h"

namespace tentq::shm {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

TEST(Credit, NothingGrantedAdmitsNothing) {
  CreditMemory credit;
  EXPECT_FALSE(credit.spender.spend({1, 0, 0}));
  EXPECT_FALSE(credit.spender.spend({0, 1, 0}));
  EXPECT_FALSE(credit.spender.spend({0, 0, 1}));
  EXPECT_TRUE(credit.spender.spend({0, 0, 0}));
  EXPECT_EQ(credit.grantor.consumed(), CreditAmounts{});
}

TEST(Credit, LastUnitOfEachKindFitsAndOneMoreDoesNot) {
  CreditMemory credit;
  credit.grantor.set_granted({10, 100, 1000});
  EXPECT_TRUE(credit.spender.spend({9, 99, 999}));
  EXPECT_FALSE(credit.spender.spend({2, 1, 1}));
  EXPECT_FALSE(credit.spender.spend({1, 2, 1}));
  EXPECT_FALSE(credit.spender.spend({1, 1, 2}));
  EXPECT_TRUE(credit.spender.spend({1, 1, 1}));
  EXPECT_EQ(credit.spender.available(), CreditAmounts{});
  EXPECT_EQ(credit.grantor.consumed(), (CreditAmounts{10, 100, 1000}));
}

TEST(Credit, RefusalTakesNothingOfAnyKind) {
  CreditMemory credit;
  credit.grantor.set_granted({5, 5, 5});
  for (const CreditAmounts& amounts :
       {CreditAmounts{6, 1, 1}, CreditAmounts{1, 6, 1}, CreditAmounts{1, 1, 6},
        CreditAmounts{kMost, kMost, kMost}}) {
    EXPECT_FALSE(credit.spender.spend(amounts));
    EXPECT_EQ(credit.grantor.consumed(), CreditAmounts{});
    EXPECT_EQ(credit.spender.available(), (CreditAmounts{5, 5, 5}));
  }
}

TEST(Credit, UnspendGivesBackExactly) {
  CreditMemory credit;
  credit.grantor.set_granted({5, 500, 7});
  ASSERT_TRUE(credit.spender.spend({2, 300, 7}));
  ASSERT_TRUE(credit.spender.spend({1, 1, 0}));
  credit.spender.unspend({2, 300, 7});
  EXPECT_EQ(credit.grantor.consumed(), (CreditAmounts{1, 1, 0}));
  EXPECT_EQ(credit.spender.available(), (CreditAmounts{4, 499, 7}));
}

TEST(Credit, LoweredGrantHonoursWhatWasConsumedBefore) {
  CreditMemory credit;
  credit.grantor.set_granted({10, 1000, 0});
  ASSERT_TRUE(credit.spender.spend({4, 400, 0}));
  credit.grantor.set_granted({4, 400, 0});
  EXPECT_EQ(credit.grantor.consumed(), (CreditAmounts{4, 400, 0}));
  EXPECT_FALSE(credit.spender.spend({1, 1, 0}));
  // Lowered below what was consumed: nothing is left, and nothing wraps.
  credit.grantor.set_granted({2, 200, 0});
  EXPECT_EQ(credit.spender.available(), CreditAmounts{});
  EXPECT_FALSE(credit.spender.spend({1, 0, 0}));
  EXPECT_EQ(credit.grantor.consumed(), (CreditAmounts{4, 400, 0}));
  credit.grantor.set_granted({5, 500, 0});
  EXPECT_TRUE(credit.spender.spend({1, 100, 0}));
}

TEST(Credit, ConsumptionBelowZeroOrAbsurdGivesNothing) {
  CreditMemory credit;
  credit.grantor.set_granted({5, 5, 5});
  for (const std::uint64_t absurd : {kMost, kMost - 4, std::uint64_t{6}}) {
    credit.consumed.owners = absurd;
    EXPECT_EQ(credit.spender.available().owners, 0u);
    EXPECT_FALSE(credit.spender.spend({1, 1, 0}));
    EXPECT_EQ(credit.consumed.owners, absurd);
    EXPECT_EQ(credit.consumed.bytes, 0u);
  }
}

TEST(Credit, EachWishIsTakenOnce) {
  CreditMemory credit;
  CreditGrantor::Wish wish;
  EXPECT_FALSE(credit.grantor.take_wish(&wish));
  credit.spender.wish({3, 300, 30});
  ASSERT_TRUE(credit.grantor.take_wish(&wish));
  EXPECT_EQ(wish.amounts, (CreditAmounts{3, 300, 30}));
  EXPECT_FALSE(wish.waiting);
  EXPECT_FALSE(credit.grantor.take_wish(&wish));
  // The same amounts again are a new wish.
  credit.spender.wish({3, 300, 30});
  EXPECT_TRUE(credit.grantor.take_wish(&wish));
}

TEST(Credit, LaterWishOverwritesAnEarlierOne) {
  CreditMemory credit;
  credit.spender.wish({1, 1, 1});
  credit.spender.wish({2, 2, 2});
  CreditGrantor::Wish wish;
  ASSERT_TRUE(credit.grantor.take_wish(&wish));
  EXPECT_EQ(wish.amounts, (CreditAmounts{2, 2, 2}));
  EXPECT_FALSE(credit.grantor.take_wish(&wish));
}

TEST(Credit, WaitersKeepTheWishAliveUntilTheLastLeaves) {
  CreditMemory credit;
  credit.spender.begin_waiting();
  credit.spender.begin_waiting();
  credit.spender.wish({1, 1, 1});
  CreditGrantor::Wish wish;
  ASSERT_TRUE(credit.grantor.take_wish(&wish));
  EXPECT_TRUE(wish.waiting);
  credit.spender.end_waiting();
  EXPECT_TRUE(credit.grantor.still_waiting());
  credit.spender.end_waiting();
  EXPECT_FALSE(credit.grantor.still_waiting());
}

TEST(Credit, HalfWrittenWishIsNotTaken) {
  CreditMemory credit;
  credit.spender.wish({1, 1, 1});
  CreditGrantor::Wish wish;
  ASSERT_TRUE(credit.grantor.take_wish(&wish));
  credit.wanted.serial = 3;  // a thread stopped inside wish()
  credit.wanted.owners = 77;
  EXPECT_FALSE(credit.grantor.take_wish(&wish));
  // Another thread's wish gives way and does not wait.
  credit.spender.wish({5, 5, 5});
  EXPECT_EQ(credit.wanted.serial, 3u);
  EXPECT_EQ(credit.wanted.owners, 77u);
}

}  // namespace
}  // namespace tentq::shm
