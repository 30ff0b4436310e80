// Polling goes on while work tends to come within it, and stops where it tends not to.
#include "daemon/spin.h"

#include <gtest/gtest.h>

namespace tentq {
namespace {

using namespace std::chrono_literals;

constexpr Duration kMost = 50us;

void come_after(Spin* spin, Duration gap, int times) {
  for (int i = 0; i < times; ++i) spin->came_after(gap, kMost);
}

TEST(SpinTest, BeginsWithTheWholeLength) {
  EXPECT_EQ(Spin().length(kMost), kMost);
}

TEST(SpinTest, IsShortWhereWorkComesLater) {
  Spin spin;
  come_after(&spin, 51us, 20);
  EXPECT_EQ(spin.length(kMost), kMost / 8);
  EXPECT_GT(spin.length(kMost), 0us);
}

TEST(SpinTest, OneLatePieceOfWorkChangesNothing) {
  Spin spin;
  come_after(&spin, 10s, 1);
  EXPECT_EQ(spin.length(kMost), kMost);
}

TEST(SpinTest, GrowsAgainWhenSleepsWereShorterThanThePollingWouldHaveBeen) {
  Spin spin;
  come_after(&spin, 1ms, 100);
  come_after(&spin, 30us, 8);
  EXPECT_EQ(spin.length(kMost), kMost);
}

// Work that a short poll finds says nothing about a long one.
TEST(SpinTest, WhatComesAtOnceSpeaksForNeither) {
  Spin spin;
  come_after(&spin, 1ms, 100);
  come_after(&spin, 2us, 100);
  EXPECT_EQ(spin.length(kMost), kMost / 8);
}

TEST(SpinTest, WithoutPollingThereIsNone) {
  EXPECT_EQ(Spin().length(0us), 0us);
}

}  // namespace
}  // namespace tentq
