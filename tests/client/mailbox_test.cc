// The mailbox: bounded, repeats dropped, losses counted.
#include "client/mailbox.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

namespace tentq::lib {
namespace {

Notification message(std::uint64_t sender, std::uint64_t serial, std::uint64_t lost = 0) {
  auto made = make_message<Notification>();
  made.sender_incarnation = sender;
  made.serial = serial;
  made.lost_before = lost;
  made.sender.assign("store-0");
  made.name_bytes = 1;
  made.message_bytes = 2;
  made.payload = {'n', 'o', 'k'};
  return made;
}

TEST(Mailbox, GivesWhatArrivedInOrder) {
  Mailbox mailbox(4);
  EXPECT_TRUE(mailbox.put(message(1, 1)));
  EXPECT_TRUE(mailbox.put(message(2, 1)));
  const NotificationBatch batch = mailbox.take();
  ASSERT_EQ(batch.notifications.size(), 2u);
  EXPECT_EQ(batch.notifications[0].sender, "store-0");
  EXPECT_EQ(batch.notifications[0].name, "n");
  EXPECT_EQ(batch.notifications[0].message, "ok");
  EXPECT_EQ(batch.lost, 0u);
  EXPECT_TRUE(mailbox.take().notifications.empty());
}

TEST(Mailbox, FullIsCountedAndRepeatsAreNot) {
  Mailbox mailbox(1);
  EXPECT_TRUE(mailbox.put(message(1, 1)));
  EXPECT_FALSE(mailbox.put(message(1, 1)));
  EXPECT_FALSE(mailbox.put(message(1, 2)));
  EXPECT_EQ(mailbox.take().lost, 1u);
}

TEST(Mailbox, LossesAtTheDaemonAddUpOverItsRestarts) {
  Mailbox mailbox(8);
  mailbox.put(message(1, 1, 3));
  mailbox.put(message(1, 2, 5));
  mailbox.put(message(1, 3, 1));  // another daemon counts anew
  EXPECT_EQ(mailbox.take().lost, 6u);
}

TEST(DuplicateFilter, BoundedBySenders) {
  DuplicateFilter filter(2);
  EXPECT_TRUE(filter.first_time(1, 1));
  EXPECT_TRUE(filter.first_time(2, 1));
  EXPECT_FALSE(filter.first_time(1, 1));
  EXPECT_TRUE(filter.first_time(3, 1));  // forgets sender 2, not heard from for longest
  EXPECT_EQ(filter.senders(), 2u);
  EXPECT_FALSE(filter.first_time(1, 1));
  EXPECT_TRUE(filter.first_time(2, 1));
}

TEST(DuplicateFilter, FarJumpsForgetNothingThatCanRepeat) {
  DuplicateFilter filter(1);
  EXPECT_TRUE(filter.first_time(1, 1));
  EXPECT_TRUE(filter.first_time(1, 1 + kSerialsOpen));
  EXPECT_FALSE(filter.first_time(1, 1));
  EXPECT_TRUE(filter.first_time(1, 100 * kSerialsOpen));
  EXPECT_FALSE(filter.first_time(1, 1));  // too old to be anything but a repeat
  EXPECT_TRUE(filter.first_time(1, 99 * kSerialsOpen + 1));
}

TEST(DuplicateFilter, LikeASetWithinTheWindow) {
  const bool ok = rc::check([] {
    DuplicateFilter filter(1);
    std::set<std::uint64_t> seen;
    std::uint64_t next = 1;
    const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 4000));
    for (const int step : steps) {
      const auto back = static_cast<std::uint64_t>(step);
      const std::uint64_t serial = step % 2 == 0 || back >= next ? next : next - back;
      next = std::max(next, serial + 1);
      RC_ASSERT(filter.first_time(7, serial) == seen.insert(serial).second);
    }
  });
  EXPECT_TRUE(ok);
}

}  // namespace
}  // namespace tentq::lib
