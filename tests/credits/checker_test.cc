// Every order of events between senders and a receiver, within bounds: no invariant breaks, and
// from every state everybody gets on, whether messages get through from there or not. And planted
// faults, to show that this can fail; mutant_check.cc does it with faults in the code itself.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/credits/explore.h"
#include "tests/credits/incast_model.h"
#include "tests/credits/mutual_reads.h"

namespace tentq::core {
namespace {

template <class Model>
Explored explore(const char* what, const Model& start, std::size_t states) {
  const Explored explored = Exploration<Model>().run(start, {60, states});
  std::printf("%s: %s\n", what, explored.text().c_str());
  return explored;
}

void expect_sound(const char* what, const IncastShape& shape, std::size_t states,
                  std::uint32_t depth) {
  const Explored explored = explore(what, IncastModel(shape), states);
  EXPECT_EQ(explored.fault, "");
  EXPECT_GE(explored.depth, depth);
}

TEST(CreditChecker, OneSender) {
  IncastShape shape;
  shape.senders = 1;
  expect_sound("one sender", shape, 100'000, 10);
  shape.chunks = 5;
  expect_sound("one sender, more chunks", shape, 60'000, 9);
  shape.ttl_ticks = 3;
  expect_sound("one sender, more chunks, longer ttl", shape, 60'000, 9);
  shape.ttl_ticks = 2;
  shape.copies = 0;
  shape.chunks = 1;
  expect_sound("one sender, one chunk, no copies", shape, 100'000, 20);
}

TEST(CreditChecker, OneSenderAndRestarts) {
  IncastShape shape;
  shape.senders = 1;
  shape.receiver_restarts = shape.sender_restarts = 1;
  expect_sound("one sender, restarts", shape, 100'000, 8);
  shape.warm = 5;
  expect_sound("one sender, restarts, warm", shape, 100'000, 8);
}

TEST(CreditChecker, ALegacySenderThatIsUpgraded) {
  IncastShape shape;
  shape.legacy_first = true;
  expect_sound("one of two does not speak credits at first", shape, 60'000, 6);
}

TEST(CreditChecker, TwoSenders) {
  IncastShape shape;
  expect_sound("two senders", shape, 150'000, 7);
  shape.warm = 5;
  expect_sound("two senders, warm", shape, 150'000, 7);
}

TEST(CreditChecker, TwoSendersAndRestarts) {
  IncastShape shape;
  shape.receiver_restarts = shape.sender_restarts = 1;
  expect_sound("two senders, restarts", shape, 150'000, 5);
  shape.warm = 5;
  expect_sound("two senders, restarts, warm", shape, 150'000, 5);
}

TEST(CreditChecker, ReadsOfEachOtherThroughFullWindows) {
  const Explored explored = explore("READs of each other", MutualReads(MutualShape{}), 60'000);
  EXPECT_EQ(explored.fault, "");
  EXPECT_GE(explored.depth, 6u);
}

// What the design forbids: the request carries the credit, and its server needs none.
TEST(CreditCheckerCanFail, WhenAServerNeedsTheRequestersCredit) {
  MutualShape shape;
  shape.server_asks = true;
  const Explored explored = explore("the server asks, too", MutualReads(shape), 200'000);
  EXPECT_NE(explored.fault, "");
}

TEST(CreditCheckerCanFail, WhenEarlierEpochsCount) {
  IncastShape shape;
  shape.planted = Planted::any_epoch;
  shape.receiver_restarts = 1;
  const Explored explored = explore("any epoch", IncastModel(shape), 200'000);
  EXPECT_NE(explored.fault, "");
  EXPECT_FALSE(explored.trace.empty());
}

TEST(CreditCheckerCanFail, WhenAGrantLastsLongerAtTheSender) {
  IncastShape shape;
  shape.planted = Planted::long_ttl;
  shape.senders = 1;
  const Explored explored = explore("long ttl", IncastModel(shape), 200'000);
  EXPECT_NE(explored.fault, "");
  EXPECT_FALSE(explored.trace.empty());
}

}  // namespace
}  // namespace tentq::core
