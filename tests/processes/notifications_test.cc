// Notifications between processes: after the data that they announce, once, and never lost without
// a word.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/notes.h"
#include "tests/processes/pattern.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals

class Notifications : public DaemonFixture {};

struct Block {
  std::uint64_t round = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t hash = 0;
};
constexpr std::size_t kAreas = 4;
constexpr std::size_t kArea = 2'400u << 10;

// The receiver hashes what a notification announces at the instant at which it comes, and answers.
int check_blocks(const std::string& socket, std::uint64_t rounds, RoleChannel& channel) {
  Client client = attach(socket, "receiver");
  Memory memory = allocate_at(client, kAreas * kArea);
  channel.send(std::uint64_t{0});
  if (!channel.receive<std::uint64_t>(kLong)) return 1;  // the sender exports by now
  const Segment back = need(client.open_segment("sender"), "open_segment");
  std::uint64_t wrong = 0;
  std::vector<bool> seen(rounds, false);
  for (std::uint64_t count = 0; count < rounds;) {
    for (const ReceivedNotification& note : next_notifications(client)) {
      Block block;
      if (note.message.size() != sizeof block) return 1;
      std::memcpy(&block, note.message.data(), sizeof block);
      wrong += fingerprint(memory.bytes().subspan(block.offset, block.length)) != block.hash;
      wrong += block.round >= rounds || seen[block.round];  // twice
      if (block.round < rounds) seen[block.round] = true;
      ++count;
      need(client.send_notification(back, "done", note.message).status(), "answer");
    }
  }
  channel.send(wrong);
  return channel.receive<std::uint64_t>(kLong) ? 0 : 1;  // the answers have arrived
}

TEST_F(Notifications, NeverComeBeforeTheDataThatTheyAnnounce) {
  start();
  constexpr std::uint64_t kRounds = 1'200;
  Role receiver("receiver", std::chrono::seconds{120},
                [&](RoleChannel& channel) { return check_blocks(socket(), kRounds, channel); });
  ASSERT_TRUE(receiver.channel().receive<std::uint64_t>(kLong));
  Client client = attach(socket(), "sender");
  Memory memory = allocate_at(client, kAreas * kArea);
  receiver.channel().send(std::uint64_t{0});
  const Segment segment = need(client.open_segment("receiver"), "open_segment");
  std::vector<Batch> batches(kAreas);
  std::vector<bool> busy(kAreas, false);
  // Short blocks overtake long ones, so the answers come in any order.
  const auto take_answers = [&] {
    for (const ReceivedNotification& note : next_notifications(client)) {
      Block block;
      ASSERT_EQ(note.message.size(), sizeof block);
      std::memcpy(&block, note.message.data(), sizeof block);
      busy[block.offset / kArea] = false;
    }
  };
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    while (std::count(busy.begin(), busy.end(), false) == 0) take_answers();
    const auto area =
        static_cast<std::size_t>(std::find(busy.begin(), busy.end(), false) - busy.begin());
    busy[area] = true;
    const std::size_t length = round % 5 == 0 ? kArea : 16_KiB;
    const std::span<std::byte> bytes = memory.bytes().subspan(area * kArea, length);
    fill_pattern(bytes.first(16_KiB), round);
    const Block block{round, area * kArea, length, fingerprint(bytes)};
    if (batches[area]) client.free_batch(batches[area]);
    batches[area] = need(client.allocate_batch(1), "allocate_batch");
    const Request request = write_to(segment, area * kArea, bytes);
    need(client.submit_wait(batches[area], std::span(&request, 1), {}, kLong), "submit");
    const std::string_view message(reinterpret_cast<const char*>(&block), sizeof block);
    need(client.send_notification(segment, "block", message, {.after = &batches[area]}).status(),
         "send_notification");
  }
  while (std::count(busy.begin(), busy.end(), true) != 0) take_answers();
  EXPECT_EQ(receiver.channel().receive<std::uint64_t>(kLong), std::uint64_t{0});
  receiver.channel().send(std::uint64_t{0});
  EXPECT_EQ(receiver.join(kLong), 0);
}

TEST_F(Notifications, AreDroppedWithAReasonWhenTheirDataFails) {
  start();
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  Memory memory = allocate_at(client, 64_KiB);
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Batch batch = need(client.allocate_batch(2), "allocate_batch");
  const Request good = write_to(segment, 0, memory.bytes().first(64));
  const Request bad = write_to(segment, 1_MiB, memory.bytes().first(64));
  need(client.submit_wait(batch, std::span(&good, 1), {}, kLong), "submit");
  need(client.submit_wait(batch, std::span(&bad, 1), {}, kLong), "submit");
  const NotificationId id =
      need(client.send_notification(segment, "n", "m", {.after = &batch}), "send_notification");
  const TaskStatus dropped = outcome(client, id);
  EXPECT_EQ(dropped.state, State::failed);
  EXPECT_EQ(dropped.reason, TaskReason::predecessor_failed);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Notifications, ToAProcessThatIsGoneFailWithPeerLost) {
  start();
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  store.kill();
  store.join();
  ASSERT_TRUE(eventually(kLong, [&] { return client_row("store").is_null(); }));
  const NotificationId id = need(client.send_notification(segment, "n", "m"), "send_notification");
  EXPECT_EQ(outcome(client, id).state, State::failed);
  EXPECT_EQ(outcome(client, id).reason, TaskReason::peer_lost);
}

TEST_F(Notifications, TooLongOnesAreInvalidAtOnce) {
  start();
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  const std::string name(65, 'n');
  const std::string message(4'097, 'm');
  EXPECT_EQ(client.send_notification(segment, name, "m").status().code(), Code::invalid_argument);
  EXPECT_EQ(client.send_notification(segment, "n", message).status().code(),
            Code::invalid_argument);
  const NotificationId id = need(
      client.send_notification(segment, std::string(64, 'n'), std::string(4'096, 'm')), "longest");
  EXPECT_EQ(outcome(client, id).state, State::completed);
  EXPECT_EQ(store.stop(), 0);
}

// A receiver that takes nothing costs its sender room, never silence: what is sent is delivered or
// failed with mailbox_full, or counted as lost at the receiver.
TEST_F(Notifications, NoneIsLostSilently) {
  start({{"sessions", {{"mailbox", 16}}}});
  constexpr std::uint64_t kSent = 4'000;
  Role sender("sender", std::chrono::seconds{120}, [&](RoleChannel& channel) {
    if (!channel.receive<std::uint64_t>(kLong)) return 1;
    Client client = attach(socket(), "sender");
    const Segment segment = need(client.open_segment("lazy"), "open_segment");
    std::uint64_t delivered = 0;
    for (std::uint64_t i = 0; i < kSent; ++i) {
      for (;;) {
        auto id = client.send_notification(segment, "n", std::to_string(i));
        if (id.ok()) {
          const TaskStatus end = outcome(client, *id);
          if (end.state == State::completed)
            ++delivered;
          else if (end.reason != TaskReason::mailbox_full)
            return 2;
          break;
        }
        if (id.status().code() != Code::too_many_requests) return 3;
        (void)client.drive();
      }
    }
    channel.send(delivered);
    return channel.receive<std::uint64_t>(kLong) ? 0 : 1;
  });
  ConnectOptions options = connection(socket(), "lazy");
  options.mailbox = 64;
  Client client = attach(options);
  sender.channel().send(std::uint64_t{0});
  const auto delivered = sender.channel().receive<std::uint64_t>(kLong);
  ASSERT_TRUE(delivered);
  std::uint64_t received = 0;
  std::uint64_t lost = 0;
  EXPECT_TRUE(eventually(kLong,
                         [&] {
                           const NotificationBatch got =
                               need(client.receive_notifications(), "receive");
                           received += got.notifications.size();
                           lost = got.lost;
                           return received + lost >= kSent;
                         }))
      << received << " received, " << lost << " lost, " << *delivered << " delivered";
  EXPECT_EQ(received + lost, kSent);
  EXPECT_LE(received, *delivered);
  sender.channel().send(std::uint64_t{0});
  EXPECT_EQ(sender.join(kLong), 0);
}

}  // namespace
}  // namespace tentq::test
