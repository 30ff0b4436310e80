// Notifications to processes of another host: after the data that they announce, once, and never
// lost without a word.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "tests/processes/notes.h"
#include "tests/processes/pattern.h"
#include "tests/processes/two_hosts.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals

class HostsNotifications : public TwoHosts {
 protected:
  Memory share(Client& client, std::size_t bytes) {
    Rights rights;
    rights.other_hosts = Access::remote_read_write;
    return allocate_at(client, bytes, 0, rights);
  }
};

TEST_F(HostsNotifications, NeverComeBeforeTheDataThatTheyAnnounce) {
  start();
  constexpr std::uint64_t kRounds = 200;
  constexpr std::size_t kAreas = 8;
  Client receiver = attach(stores().socket(), "receiver");
  Memory target = share(receiver, kAreas * 1_MiB);
  Client sender = attach(engines().socket(), "sender");
  Memory memory = allocate_at(sender, kAreas * 1_MiB);
  const Segment segment = need(sender.open_segment(this->segment("receiver")), "open_segment");
  std::set<std::uint64_t> seen;
  for (std::uint64_t sent = 0; seen.size() < kRounds;) {
    for (; sent < kRounds && sent < seen.size() + kAreas; ++sent) {
      const std::uint64_t offset = sent % kAreas * 1_MiB;
      const std::span<std::byte> bytes =
          memory.bytes().subspan(offset, sent % 5 == 0 ? 1_MiB : 4_KiB);
      fill_pattern(bytes, sent);
      Batch batch = need(sender.allocate_batch(1), "allocate_batch");
      const Request request = write_to(segment, offset, bytes);
      need(sender.submit_wait(batch, std::span(&request, 1), {}, kLong), "submit");
      const std::string_view message(reinterpret_cast<const char*>(&sent), sizeof sent);
      need(sender.send_notification(segment, "block", message, {.after = &batch}).status(), "send");
      need(batch.wait(kLong), "wait");
      sender.free_batch(batch);
    }
    for (const ReceivedNotification& note : next_notifications(receiver)) {
      std::uint64_t round = kRounds;
      ASSERT_EQ(note.message.size(), sizeof round);
      std::memcpy(&round, note.message.data(), sizeof round);
      EXPECT_EQ(note.name, "block");
      EXPECT_EQ(note.sender, "sender");
      EXPECT_TRUE(seen.insert(round).second) << "twice";
      const std::size_t length = round % 5 == 0 ? 1_MiB : 4_KiB;
      EXPECT_EQ(pattern_differences(target.bytes().subspan(round % kAreas * 1_MiB, length), round),
                0u);
    }
  }
}

TEST_F(HostsNotifications, FailWithTheReasonOfTheOtherHost) {
  start();
  std::optional<Client> receiver = attach(stores().socket(), "receiver");
  std::optional<Memory> target = share(*receiver, 1_MiB);
  Client sender = attach(engines().socket(), "sender");
  Memory memory = allocate_at(sender, 64_KiB);
  const Segment segment = need(sender.open_segment(this->segment("receiver")), "open_segment");
  Batch batch = need(sender.allocate_batch(1), "allocate_batch");
  const Request outside = write_to(segment, 1_MiB, memory.bytes().first(64));
  need(sender.submit_wait(batch, std::span(&outside, 1), {}, kLong), "submit");
  const NotificationId dropped =
      need(sender.send_notification(segment, "n", "m", {.after = &batch}), "send");
  EXPECT_EQ(outcome(sender, dropped).reason, TaskReason::predecessor_failed);
  need(batch.wait(kLong), "wait");
  sender.free_batch(batch);
  const NotificationId taken = need(
      sender.send_notification(segment, std::string(64, 'n'), std::string(4'096, 'm')), "send");
  EXPECT_EQ(outcome(sender, taken).state, State::completed);
  target.reset();
  receiver.reset();
  const NotificationId lost = need(sender.send_notification(segment, "n", "m"), "send");
  EXPECT_EQ(outcome(sender, lost).state, State::failed);
  EXPECT_EQ(outcome(sender, lost).reason, TaskReason::peer_lost);
}

// Each is delivered once though the daemon of the receiver, and then that of the sender, dies with
// them under way.
TEST_F(HostsNotifications, OutliveTheDeathOfEitherDaemon) {
  start({{"limits", {{"route_budget", "60s"}}}});
  Client receiver = attach(stores().socket(), "receiver");
  Memory target = share(receiver, 1_MiB);
  Client sender = attach(engines().socket(), "sender");
  const Segment segment = need(sender.open_segment(this->segment("receiver")), "open_segment");
  std::uint64_t sent = 0;
  std::set<std::string> seen;
  for (DaemonProcess* victim : {&stores(), &engines(), &stores()}) {
    std::vector<NotificationId> ids;
    for (int i = 0; i < 20; ++i) {
      if (i == 10 && victim == &stores()) victim->kill();
      ids.push_back(need(sender.send_notification(segment, "n", std::to_string(sent)), "send"));
      ++sent;
    }
    if (victim == &engines()) victim->kill();
    victim->start();
    // While a daemon is away its clients' calls say so.
    EXPECT_TRUE(eventually(kLong,
                           [&] {
                             (void)sender.drive();
                             (void)receiver.drive();
                             const Result<NotificationBatch> got = receiver.receive_notifications();
                             if (!got.ok()) return false;
                             for (const ReceivedNotification& note : got.value().notifications) {
                               EXPECT_TRUE(seen.insert(std::string(note.message)).second)
                                   << note.message << " twice";
                             }
                             return seen.size() == sent;
                           }))
        << seen.size() << " of " << sent;
    for (const NotificationId id : ids) EXPECT_EQ(outcome(sender, id).state, State::completed);
  }
}

}  // namespace
}  // namespace tentq::test
