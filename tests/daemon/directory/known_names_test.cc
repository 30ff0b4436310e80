// Listing, following, and listing again.
#include "daemon/directory/known_names.h"

#include <gtest/gtest.h>

#include <string>

namespace tentq::directory {
namespace {

const Holder kHolder{"10.0.0.2:7471", std::string(32, 'b'), 9, 90};

Entry entry(const std::string& name, std::int64_t modified = 1) {
  return {name, kHolder, 5, modified};
}

class DirectoryNames : public ::testing::Test {
 protected:
  ListNames lists() {
    const auto step = names.next(now);
    if (!step || !std::holds_alternative<ListNames>(*step)) throw std::runtime_error("no listing");
    return std::get<ListNames>(*step);
  }
  std::int64_t watches() {
    const auto step = names.next(now);
    if (!step || !std::holds_alternative<WatchFrom>(*step)) throw std::runtime_error("no watch");
    return std::get<WatchFrom>(*step).revision;
  }
  bool does_nothing() { return !names.next(now).has_value(); }
  void follow(std::vector<Entry> entries, std::int64_t revision) {
    lists();
    EXPECT_TRUE(names.listed(Listed{1, revision, std::move(entries), "z", false}, now));
    EXPECT_EQ(watches(), revision + 1);
    names.told(WatchBegan{1, revision}, now);
    ASSERT_TRUE(names.is_following());
  }
  void fail(Fault fault) { names.told(Failed{fault, "", ""}, now); }
  void wait() { now = names.next_deadline(); }

  Time now = time_from_ns(1'000'000'000);
  KnownNames names{4, 1};
};

TEST_F(DirectoryNames, PagesAreOneListing) {
  EXPECT_EQ(lists().revision, 0);
  EXPECT_TRUE(does_nothing());
  EXPECT_FALSE(names.listed(Listed{1, 10, {entry("a")}, "k1", true}, now));
  // A page later is of the same revision; what is not whole is not used.
  EXPECT_EQ(names.find("a"), nullptr);
  const ListNames second = lists();
  EXPECT_EQ(second.after, "k1");
  EXPECT_EQ(second.revision, 10);
  EXPECT_TRUE(names.listed(Listed{1, 12, {entry("b")}, "k2", false}, now));
  EXPECT_NE(names.find("a"), nullptr);
  EXPECT_NE(names.find("b"), nullptr);
  EXPECT_EQ(watches(), 11);
}

TEST_F(DirectoryNames, ChangesAreFollowed) {
  follow({entry("a")}, 10);
  names.told(Changes{11, {{"b", entry("b", 11)}, {"a", std::nullopt}}}, now);
  EXPECT_EQ(names.find("a"), nullptr);
  EXPECT_EQ(names.find("b")->modified, 11);
  EXPECT_EQ(names.next_deadline(), kNever);
}

TEST_F(DirectoryNames, AWatchGoesOnWhereItWas) {
  follow({}, 10);
  names.told(Changes{15, {{"b", entry("b", 15)}}}, now);
  names.told(Changes{0, {{"c", entry("c", 16)}}}, now);  // more of its revision follow
  fail(Fault::unreachable);
  EXPECT_FALSE(names.is_following());
  EXPECT_TRUE(does_nothing());
  wait();
  EXPECT_EQ(watches(), 16);
  EXPECT_NE(names.find("b"), nullptr);  // known names stay known
}

TEST_F(DirectoryNames, WhatWasCompactedIsListedAgain) {
  follow({entry("a")}, 10);
  fail(Fault::unreachable);
  wait();
  watches();
  fail(Fault::compacted);
  EXPECT_FALSE(names.is_open());
  EXPECT_NE(names.find("a"), nullptr);
  wait();
  EXPECT_EQ(lists().revision, 0);
  const auto before = names.listed(Listed{1, 50, {entry("b")}, "k", false}, now);
  ASSERT_TRUE(before.has_value());
  EXPECT_TRUE(before->contains("a"));
  EXPECT_EQ(names.find("a"), nullptr);
  EXPECT_EQ(watches(), 51);
}

TEST_F(DirectoryNames, AListingThatIsCompactedBetweenItsPagesBeginsAgain) {
  lists();
  names.listed(Listed{1, 10, {entry("a")}, "k1", true}, now);
  lists();
  EXPECT_FALSE(names.listed(Failed{Fault::compacted, "", ""}, now));
  wait();
  const ListNames again = lists();
  EXPECT_EQ(again.revision, 0);
  EXPECT_EQ(again.after, "");
}

TEST_F(DirectoryNames, AnEtcdThatKnowsLessLostItsData) {
  follow({entry("a")}, 10);
  fail(Fault::unreachable);
  wait();
  watches();
  names.told(WatchBegan{1, 3}, now);
  EXPECT_FALSE(names.is_open());
  EXPECT_EQ(lists().revision, 0);
}

TEST_F(DirectoryNames, AnotherClusterIsListedAgain) {
  follow({entry("a")}, 10);
  fail(Fault::unreachable);
  wait();
  watches();
  names.told(WatchBegan{2, 99}, now);
  EXPECT_EQ(lists().revision, 0);
}

TEST_F(DirectoryNames, ThereIsRoomForSoMany) {
  follow({entry("a"), entry("b"), entry("c"), entry("d"), entry("e")}, 10);
  EXPECT_EQ(names.table().size(), 4u);
  EXPECT_EQ(names.left_out(), 1u);
  names.told(Changes{11, {{"f", entry("f")}, {"a", entry("a", 11)}}}, now);
  EXPECT_EQ(names.find("f"), nullptr);
  EXPECT_EQ(names.find("a")->modified, 11);
  EXPECT_EQ(names.table().size(), 4u);
}

TEST_F(DirectoryNames, FailuresAreFollowedByLongerPauses) {
  for (std::uint32_t i = 1; i <= 12; ++i) {
    lists();
    names.listed(Failed{Fault::unreachable, "", ""}, now);
    EXPECT_EQ(names.failures(), i);
    EXPECT_TRUE(does_nothing());
    EXPECT_LE(names.next_deadline() - now, Backoff::kMost);
    wait();
  }
  EXPECT_GT(names.next_deadline(), time_from_ns(10'000'000'000));
  follow({}, 1);
  EXPECT_EQ(names.failures(), 0u);
}

}  // namespace
}  // namespace tentq::directory
