// The ring's promises, one at a time, and what a hostile producer gets for breaking each rule.
#include "shm/ring.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstring>
#include <thread>

#include "tests/shm/ring_memory.h"

namespace tentq::shm {
namespace {

using Cookies = std::vector<std::uint64_t>;

TEST(Ring, EmptyRingHasNothing) {
  RingMemory ring(8);
  EXPECT_FALSE(ring.consumer.ready());
  EXPECT_FALSE(ring.consumer.stalled());
  EXPECT_EQ(ring.take(), Cookies{});
  EXPECT_EQ(ring.fault, RingFault::none);
  EXPECT_EQ(ring.producer.room(RingUse::work), 8u);
}

TEST(Ring, GroupArrivesWholeWithItsSizeAndIndices) {
  RingMemory ring(8);
  std::uint64_t position = 99;
  ASSERT_TRUE(ring.producer.publish(bodies_from(10, 3), RingUse::work, &position));
  EXPECT_EQ(position, 0u);
  EXPECT_TRUE(ring.consumer.ready());
  EXPECT_EQ(ring.take(), (Cookies{10, 11, 12}));
  for (std::uint16_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ring.taken[i].group_size, 3);
    EXPECT_EQ(ring.taken[i].group_index, i);
  }
  EXPECT_FALSE(ring.consumer.ready());
}

TEST(Ring, EveryByteOfABodyArrives) {
  RingMemory ring(2);
  CellBody body;
  std::memset(static_cast<void*>(&body), 0x5a, sizeof body);
  body.reserved[3] = 0x0123456789abcdef;
  ASSERT_TRUE(ring.producer.publish({&body, 1}, RingUse::work));
  ASSERT_EQ(ring.consumer.take_group(ring.taken, &ring.fault), 1u);
  body.group_size = 1;
  body.group_index = 0;
  EXPECT_EQ(std::memcmp(&body, &ring.taken[0], sizeof body), 0);
}

TEST(Ring, WrapsAroundManyTimes) {
  RingMemory ring(8);
  std::uint64_t next = 0;
  for (int round = 0; round < 1000; ++round) {
    const std::size_t count = 1 + static_cast<std::size_t>(round) % 8;
    std::uint64_t position = 0;
    ASSERT_TRUE(ring.producer.publish(bodies_from(next, count), RingUse::work, &position));
    EXPECT_EQ(position, next);
    const Cookies cookies = ring.take();
    ASSERT_EQ(cookies.size(), count);
    EXPECT_EQ(cookies.front(), next);
    EXPECT_EQ(cookies.back(), next + count - 1);
    next += count;
    ring.consumer.publish_head();
    EXPECT_EQ(ring.producer.head(), next);
  }
  EXPECT_EQ(ring.fault, RingFault::none);
}

TEST(Ring, FullRingRefusesAndChangesNothing) {
  RingMemory ring(4);
  ASSERT_TRUE(ring.producer.publish(bodies_from(0, 4), RingUse::work));
  EXPECT_EQ(ring.producer.room(RingUse::work), 0u);
  const std::uint64_t tail = ring.tail.load();
  EXPECT_FALSE(ring.producer.publish(bodies_from(4, 1), RingUse::work));
  EXPECT_FALSE(ring.producer.publish(bodies_from(4, 1), RingUse::control));
  EXPECT_EQ(ring.tail.load(), tail);
  EXPECT_EQ(ring.take(), (Cookies{0, 1, 2, 3}));
}

TEST(Ring, GroupThatDoesNotFitIsRefusedWhole) {
  RingMemory ring(4);
  ASSERT_TRUE(ring.producer.publish(bodies_from(0, 3), RingUse::work));
  EXPECT_FALSE(ring.producer.publish(bodies_from(3, 2), RingUse::work));
  EXPECT_TRUE(ring.producer.publish(bodies_from(3, 1), RingUse::work));
  EXPECT_EQ(ring.take(), (Cookies{0, 1, 2}));
  EXPECT_EQ(ring.take(), Cookies{3});
  EXPECT_EQ(ring.take(), Cookies{});
}

TEST(Ring, TakenCellsAreFreeOnlyOnceTheHeadIsPublished) {
  RingMemory ring(2);
  ASSERT_TRUE(ring.producer.publish(bodies_from(0, 2), RingUse::work));
  ASSERT_EQ(ring.take().size(), 2u);
  EXPECT_FALSE(ring.producer.publish(bodies_from(2, 1), RingUse::work));
  ring.consumer.publish_head();
  EXPECT_TRUE(ring.producer.publish(bodies_from(2, 1), RingUse::work));
}

TEST(Ring, ReservedCellsAreForControlOnly) {
  RingMemory ring(8, 3);
  EXPECT_EQ(ring.producer.room(RingUse::work), 5u);
  EXPECT_EQ(ring.producer.room(RingUse::control), 8u);
  EXPECT_FALSE(ring.producer.publish(bodies_from(0, 6), RingUse::work));
  ASSERT_TRUE(ring.producer.publish(bodies_from(0, 5), RingUse::work));
  EXPECT_FALSE(ring.producer.publish(bodies_from(5, 1), RingUse::work));
  // A ring full of work can still be cancelled.
  for (std::uint64_t i = 5; i < 8; ++i) {
    EXPECT_TRUE(ring.producer.publish(bodies_from(i, 1), RingUse::control));
  }
  EXPECT_FALSE(ring.producer.publish(bodies_from(8, 1), RingUse::control));
  EXPECT_EQ(ring.producer.room(RingUse::work), 0u);
  EXPECT_EQ(ring.take().size(), 5u);
}

TEST(Ring, ControlCellsInTheReserveLeaveWorkWithoutRoomNotWithNegativeRoom) {
  RingMemory ring(8, 3);
  ASSERT_TRUE(ring.producer.publish(bodies_from(0, 7), RingUse::control));
  EXPECT_EQ(ring.producer.room(RingUse::work), 0u);
  EXPECT_FALSE(ring.producer.publish(bodies_from(7, 1), RingUse::work));
  EXPECT_EQ(ring.producer.room(RingUse::control), 1u);
}

TEST(Ring, LargestGroupIsTheWholeRing) {
  RingMemory ring(1024);
  ASSERT_TRUE(ring.producer.publish(bodies_from(0, 1024), RingUse::work));
  EXPECT_EQ(ring.take().size(), 1024u);
  ring.consumer.publish_head();
  ASSERT_TRUE(ring.producer.publish(bodies_from(0, 1024), RingUse::work));
  EXPECT_EQ(ring.take().size(), 1024u);
}

TEST(Ring, CancellationStateOfTheThreadIsRestored) {
  RingMemory ring(4);
  std::thread([&ring] {
    int before = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    ring.producer.publish(bodies_from(0, 1), RingUse::work);
    int after = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &after);
    EXPECT_EQ(after, PTHREAD_CANCEL_DISABLE);
    ring.producer.publish(bodies_from(1, 1), RingUse::work);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &after);
    EXPECT_EQ(after, PTHREAD_CANCEL_ENABLE);
  }).join();
}

// A producer that follows no rule: it writes cells and the tail as it likes.
class HostileRing : public testing::Test {
 protected:
  void forge(std::uint64_t position, std::uint16_t size, std::uint16_t index) {
    Cell& cell = ring_.cells[position % kCells];
    cell.body = CellBody{};
    cell.body.group_size = size;
    cell.body.group_index = index;
    cell.seq.store(position + 1);
  }
  RingFault take_expecting_nothing() {
    EXPECT_EQ(ring_.take(), Cookies{});
    EXPECT_EQ(ring_.consumer.head(), head_);
    return ring_.fault;
  }

  static constexpr std::uint32_t kCells = 8;
  RingMemory ring_{kCells};
  std::uint64_t head_ = 0;
};

TEST_F(HostileRing, TailFurtherAheadThanTheRingIsAFault) {
  forge(0, 1, 0);
  ring_.tail = kCells + 1;
  EXPECT_FALSE(ring_.consumer.check_tail());
}

TEST_F(HostileRing, TailExactlyOneRingAheadIsFine) {
  forge(0, 1, 0);
  ring_.tail = kCells;
  EXPECT_TRUE(ring_.consumer.check_tail());
  EXPECT_EQ(ring_.take().size(), 1u);
  EXPECT_EQ(ring_.fault, RingFault::none);
}

TEST_F(HostileRing, TailBehindTheHeadIsAFault) {
  ASSERT_TRUE(ring_.producer.publish(bodies_from(0, 2), RingUse::work));
  ASSERT_EQ(ring_.take().size(), 2u);
  EXPECT_TRUE(ring_.consumer.check_tail());
  ring_.tail = 1;
  EXPECT_FALSE(ring_.consumer.check_tail());
}

TEST_F(HostileRing, TailThatMovedBackIsAFault) {
  ring_.tail = 5;
  EXPECT_TRUE(ring_.consumer.check_tail());
  ring_.tail = 4;
  EXPECT_FALSE(ring_.consumer.check_tail());
}

TEST_F(HostileRing, HugeTailDoesNotWrapIntoRange) {
  ring_.tail = ~std::uint64_t{0};
  EXPECT_FALSE(ring_.consumer.check_tail());
}

TEST_F(HostileRing, PublishedCellWithoutReservationIsAFault) {
  forge(0, 1, 0);
  EXPECT_EQ(ring_.take().size(), 1u);
  EXPECT_FALSE(ring_.consumer.check_tail());
}

TEST_F(HostileRing, GroupLargerThanItsReservationIsAFault) {
  forge(0, 3, 0);
  forge(1, 3, 1);
  forge(2, 3, 2);
  ring_.tail = 2;
  EXPECT_EQ(ring_.take().size(), 3u);
  EXPECT_FALSE(ring_.consumer.check_tail());
}

TEST_F(HostileRing, GroupOfNoCellsIsAFault) {
  forge(0, 0, 0);
  ring_.tail = 1;
  EXPECT_EQ(take_expecting_nothing(), RingFault::bad_group);
}

TEST_F(HostileRing, GroupLargerThanTheRingIsAFault) {
  forge(0, kCells + 1, 0);
  ring_.tail = kCells;
  EXPECT_EQ(take_expecting_nothing(), RingFault::bad_group);
}

TEST_F(HostileRing, GroupOf65535IsAFault) {
  forge(0, 65535, 0);
  ring_.tail = kCells;
  EXPECT_EQ(take_expecting_nothing(), RingFault::bad_group);
}

TEST_F(HostileRing, FirstCellWithAnotherIndexIsAFault) {
  forge(0, 2, 1);
  forge(1, 2, 0);
  ring_.tail = 2;
  EXPECT_EQ(take_expecting_nothing(), RingFault::bad_group);
}

TEST_F(HostileRing, CellOfAnotherSizeInsideAGroupIsAFault) {
  forge(0, 2, 0);
  forge(1, 3, 1);
  ring_.tail = 3;
  EXPECT_EQ(take_expecting_nothing(), RingFault::bad_group);
}

TEST_F(HostileRing, CellWithTheWrongIndexInsideAGroupIsAFault) {
  forge(0, 3, 0);
  forge(1, 3, 2);
  forge(2, 3, 1);
  ring_.tail = 3;
  EXPECT_EQ(take_expecting_nothing(), RingFault::bad_group);
}

TEST_F(HostileRing, UnpublishedCellInsideAPublishedGroupIsAFault) {
  forge(0, 2, 0);
  ring_.tail = 2;
  EXPECT_EQ(take_expecting_nothing(), RingFault::bad_sequence);
}

TEST_F(HostileRing, SequenceOfAnotherLapInsideAGroupIsAFault) {
  forge(0, 2, 0);
  forge(1, 2, 1);
  ring_.cells[1].seq = 2 + kCells;
  ring_.tail = 2;
  EXPECT_EQ(take_expecting_nothing(), RingFault::bad_sequence);
}

TEST_F(HostileRing, WrongSequenceAtTheHeadIsNotPublishedAndShowsAsStalled) {
  forge(0, 1, 0);
  ring_.tail = 1;
  for (const std::uint64_t seq : {0ull, 2ull, 1ull + kCells, ~0ull}) {
    ring_.cells[0].seq = seq;
    EXPECT_EQ(take_expecting_nothing(), RingFault::none) << seq;
    EXPECT_TRUE(ring_.consumer.stalled());
  }
}

TEST_F(HostileRing, FaultInAGroupLeavesTheGroupsBeforeItTaken) {
  ASSERT_TRUE(ring_.producer.publish(bodies_from(7, 1), RingUse::work));
  forge(1, 0, 0);
  ring_.tail = 2;
  EXPECT_EQ(ring_.take(), Cookies{7});
  head_ = 1;
  EXPECT_EQ(take_expecting_nothing(), RingFault::bad_group);
}

TEST(Ring, ReservationThatIsNeverPublishedShowsAsStalledProducer) {
  RingMemory ring(8);
  ring.tail = 2;  // a thread stopped right after its CAS
  EXPECT_TRUE(ring.consumer.stalled());
  EXPECT_FALSE(ring.consumer.ready());
  EXPECT_EQ(ring.take(), Cookies{});
  // Others publish behind it: still nothing to see, still the same stall.
  ASSERT_TRUE(ring.producer.publish(bodies_from(2, 1), RingUse::work));
  EXPECT_EQ(ring.take(), Cookies{});
  EXPECT_TRUE(ring.consumer.stalled());
  // It goes on at last.
  ring.cells[0].body.group_size = 2;
  ring.cells[1].body.group_size = 2;
  ring.cells[1].body.group_index = 1;
  ring.cells[1].seq = 2;
  ring.cells[0].seq = 1;
  EXPECT_FALSE(ring.consumer.stalled());
  EXPECT_EQ(ring.take().size(), 2u);
  EXPECT_EQ(ring.take(), Cookies{2});
  EXPECT_EQ(ring.fault, RingFault::none);
}

}  // namespace
}  // namespace tentq::shm
