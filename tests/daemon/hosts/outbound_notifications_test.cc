// Notifications to other hosts: told once each how they ended, over whichever link.
#include "daemon/hosts/outbound_notifications.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace tentq {
namespace {

using namespace std::chrono_literals;

const LinkKey kLink{1};
const LinkKey kNextLink{2};
const Time kStart = time_from_ns(1'000'000'000);

struct OutboundNotificationsTest : ::testing::Test {
  struct Told {
    LinkKey link;
    std::uint64_t segment;
    std::uint64_t serial;
    std::uint64_t request;
  };
  struct End {
    TaskState state;
    Reason reason;
    bool operator==(const End&) const = default;
  };

  OutboundNotificationsTest() { reach(kLink, 70); }

  void reach(LinkKey link, std::uint64_t wire) {
    target->state = RemoteState::open;
    target->link = link;
    target->wire = wire;
  }
  std::uint64_t add(std::uint64_t serial) {
    auto message = make_message<Notification>();
    message.serial = serial;
    return notifications.add(target, message, kStart + 5s);
  }
  void answer(const Told& to, TaskState state = TaskState::completed,
              Reason reason = Reason::none) {
    auto message = make_message<PeerNotified>(to.request);
    message.state = state;
    message.reason = reason;
    notifications.answered(to.link, message);
  }

  RemoteSegmentPtr target = std::make_shared<RemoteSegment>();
  std::vector<Told> told;
  std::map<std::uint64_t, End> ends;
  OutboundNotifications notifications{
      [this](LinkKey link, const PeerNotify& message) {
        told.push_back({link, message.segment, message.serial, message.header.request});
        return true;
      },
      [this](std::uint64_t number, TaskState state, Reason reason) {
        EXPECT_TRUE(ends.emplace(number, End{state, reason}).second) << "ended twice";
      }};
};

TEST_F(OutboundNotificationsTest, GoAtOnceAndEndAsTheOtherHostSays) {
  const std::uint64_t first = add(11);
  const std::uint64_t second = add(12);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].segment, 70u);
  EXPECT_EQ(told[0].serial, 11u);
  answer(told[1], TaskState::failed, Reason::mailbox_full);
  answer(told[0]);
  answer(told[0]);
  EXPECT_EQ(ends,
            (std::map<std::uint64_t, End>{{first, {TaskState::completed, Reason::none}},
                                          {second, {TaskState::failed, Reason::mailbox_full}}}));
  EXPECT_EQ(notifications.on_their_way(), 0u);
}

TEST_F(OutboundNotificationsTest, AreToldAgainOverTheNextLinkInTheirOrder) {
  add(11);
  add(12);
  target->state = RemoteState::away;
  notifications.link_down(kLink, kStart + 6s);
  add(13);
  notifications.look(kStart + 5s);
  EXPECT_EQ(told.size(), 2u);
  reach(kNextLink, 4);
  notifications.look(kStart + 5s);
  ASSERT_EQ(told.size(), 4u) << "13 had waited for too long, the others had been on their way";
  EXPECT_EQ(told[2].serial, 11u);
  EXPECT_EQ(told[2].link, kNextLink);
  EXPECT_EQ(told[2].segment, 4u);
  EXPECT_EQ(told[3].serial, 12u);
  // The old link's answer is nobody's.
  answer(told[0]);
  EXPECT_EQ(ends.size(), 1u);
  answer(told[2]);
  answer(told[3]);
  EXPECT_EQ(ends.size(), 3u);
}

TEST_F(OutboundNotificationsTest, EndWhenTheirTargetIsGoneOrStaysAway) {
  target->state = RemoteState::away;
  const std::uint64_t first = add(1);
  notifications.look(kStart + 4s);
  EXPECT_TRUE(ends.empty());
  notifications.look(kStart + 5s);
  EXPECT_EQ(ends.at(first), (End{TaskState::failed, Reason::peer_lost}));
  const std::uint64_t second = add(2);
  target->state = RemoteState::failed;
  target->failure = Reason::stale_handle;
  notifications.look(kStart);
  EXPECT_EQ(ends.at(second), (End{TaskState::failed, Reason::stale_handle}));
  EXPECT_TRUE(told.empty());
}

TEST_F(OutboundNotificationsTest, OneLinkCarriesABoundedNumberAtATime) {
  for (std::uint64_t serial = 1; serial <= 100; ++serial) add(serial);
  const std::size_t bound = told.size();
  EXPECT_LT(bound, 100u);
  EXPECT_EQ(notifications.waiting() + bound, 100u);
  for (std::size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(told[i].serial, i + 1);
    const Told next = told[i];
    answer(next);
    notifications.look(kStart);
  }
  EXPECT_EQ(ends.size(), 100u);
}

TEST_F(OutboundNotificationsTest, WhatIsForgottenEndsForNobodyAndMakesRoom) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t serial = 1; serial <= 100; ++serial) numbers.push_back(add(serial));
  for (const std::uint64_t number : numbers) notifications.forget(number);
  answer(Told(told[0]));
  EXPECT_TRUE(ends.empty());
  EXPECT_EQ(notifications.waiting() + notifications.on_their_way(), 0u);
  told.clear();
  add(101);
  EXPECT_EQ(told.size(), 1u);
}

}  // namespace
}  // namespace tentq
