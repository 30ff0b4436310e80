// The daemon is killed and started again under load: every owner ends once with verified bytes, and
// a process that only exports is served again.
#include <gtest/gtest.h>

#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/load.h"
#include "tests/processes/pattern.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals

class DaemonDeath : public DaemonFixture {};

TEST_F(DaemonDeath, TwentyTimesUnderLoadLosesNothing) {
  start();
  Exporter store(socket(), {.bytes = 4 * 256_KiB});
  Load load(socket(), {.clients = 4, .area = 256_KiB});
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(load.proceeds(3, kLong)) << "before death " << i << "\n" << daemon().log();
    daemon().kill();
    daemon().start();
  }
  ASSERT_TRUE(load.proceeds(20, kLong)) << daemon().log();
  EXPECT_TRUE(load.stop());
  EXPECT_EQ(load.mismatches(), 0u);
  EXPECT_EQ(load.failures(), 0u);
  EXPECT_EQ(store.reattaches(), 20u);
  EXPECT_EQ(store.stop(), 0);
}

// A thousand owners of one client: each ends exactly once, COMPLETED, with the right bytes.
TEST_F(DaemonDeath, EachOwnerOutstandingEndsOnce) {
  start(narrow_lanes());
  constexpr std::size_t kOwners = 1'000;
  constexpr std::size_t kBlock = 16_KiB;
  Exporter store(socket(), {.bytes = kOwners * kBlock});
  store.fill(1, 0, kOwners * kBlock);
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, kOwners * kBlock);
  for (int round = 0; round < 5; ++round) {
    std::fill(memory.bytes().begin(), memory.bytes().end(), std::byte{0});
    Batch batch = need(client.allocate_batch(kOwners), "allocate_batch");
    std::vector<Request> requests;
    for (std::size_t i = 0; i < kOwners; ++i) {
      requests.push_back(
          read_from(segment, i * kBlock, memory.bytes().subspan(i * kBlock, kBlock)));
    }
    for (std::size_t i = 0; i < kOwners; i += 100) {
      need(client.submit_wait(batch, std::span(requests).subspan(i, 100), {.merge = false}, kLong),
           "submit");
    }
    daemon().kill();
    daemon().start();
    ASSERT_TRUE(batch.wait(kLong).ok());
    EXPECT_EQ(batch.overall().completed, kOwners) << to_string(batch.overall().reason);
    EXPECT_EQ(pattern_differences(memory.bytes(), 1), 0u);
    client.free_batch(batch);
  }
  EXPECT_EQ(client.reattaches(), 5u);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(DaemonDeath, ATerminalStatusNeverChanges) {
  // A narrow lane, so that a deadline passes while its task is queued.
  start(narrow_lanes());
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 1_MiB);
  std::vector<Batch> batches;
  std::vector<TaskStatus> before;
  const auto add = [&](const Request& request, const SubmitOptions& options) {
    Batch batch = need(client.allocate_batch(1), "allocate_batch");
    need(client.submit_wait(batch, std::span(&request, 1), options, kLong), "submit");
    need(batch.wait(kLong), "wait");
    before.push_back(batch.status(0));
    batches.push_back(std::move(batch));
  };
  add(write_to(segment, 0, memory.bytes().first(64)), {});
  add(write_to(segment, 1_MiB, memory.bytes().first(64)), {});
  Batch ahead = need(client.allocate_batch(32), "allocate_batch");
  const std::vector<Request> bulk(32, write_to(segment, 0, memory.bytes()));
  need(client.submit_wait(ahead, bulk, {}, kLong), "submit");
  add(write_to(segment, 0, memory.bytes()), {.deadline = std::chrono::nanoseconds{1}});
  need(ahead.wait(kLong), "wait");
  ASSERT_EQ(before[0].state, State::completed);
  ASSERT_EQ(before[1].state, State::failed);
  ASSERT_EQ(before[2].state, State::timeout);
  const auto expect_unchanged = [&](const char* when) {
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const TaskStatus now = batches[i].status(0);
      EXPECT_EQ(now.state, before[i].state) << when;
      EXPECT_EQ(now.reason, before[i].reason) << when;
      EXPECT_EQ(now.bytes, before[i].bytes) << when;
      EXPECT_EQ(now.completed, before[i].completed) << when;
    }
  };
  for (int i = 0; i < 3; ++i) {
    daemon().kill();
    ASSERT_TRUE(eventually(kLong, [&] { return !client.attached(); }));
    expect_unchanged("while there is no daemon");
    daemon().start();
    ASSERT_TRUE(eventually(kLong, [&] { return client.attached(); }));
    must_complete(client, write_to(segment, 0, memory.bytes().first(64)));
    expect_unchanged("after the restart");
  }
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(DaemonDeath, AnExporterThatMakesNoCallIsServedAgain) {
  start();
  Exporter store(socket());
  store.fill(3, 0, 1_MiB);
  for (int i = 0; i < 5; ++i) {
    daemon().kill();
    daemon().start();
    // A new client each time; the exporter comes back by itself.
    Role reader("reader", std::chrono::seconds{60}, [&](RoleChannel&) {
      Client client = attach(socket(), "reader");
      Result<Segment> segment = client.open_segment("store");
      EXPECT_TRUE(eventually(kLong, [&] {
        segment = client.open_segment("store");
        return segment.ok();
      }));
      Memory memory = allocate_at(client, 1_MiB);
      must_complete(client, read_from(*segment, 0, memory.bytes()));
      return pattern_differences(memory.bytes(), 3) == 0 ? 0 : 2;
    });
    ASSERT_EQ(reader.join(kLong), 0) << "restart " << i << "\n" << daemon().log();
  }
  EXPECT_EQ(store.reattaches(), 5u);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(DaemonDeath, ThePlannedRestartLosesNothingEither) {
  start();
  Exporter store(socket(), {.bytes = 4 * 64_KiB});
  Load load(socket(), {.clients = 4});
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(load.proceeds(5, kLong)) << "before restart " << i << "\n" << daemon().log();
    ASSERT_EQ(daemon().stop(), 0) << daemon().log();
    daemon().start();
  }
  ASSERT_TRUE(load.proceeds(20, kLong)) << daemon().log();
  EXPECT_TRUE(load.stop());
  EXPECT_EQ(load.mismatches(), 0u);
  EXPECT_EQ(load.failures(), 0u);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(DaemonDeath, NotificationsComeOnceAndAfterTheirData) {
  start();
  constexpr std::uint64_t kRounds = 60;
  Role receiver("receiver", std::chrono::seconds{120}, [&](RoleChannel& channel) {
    Client client = attach(socket(), "receiver");
    Memory memory = allocate_at(client, 1_MiB);
    channel.send(std::uint64_t{0});
    std::uint64_t expected = 0;
    EXPECT_TRUE(eventually(std::chrono::seconds{100}, [&] {
      const NotificationBatch got = need(client.receive_notifications(), "receive");
      for (const ReceivedNotification& note : got.notifications) {
        if (note.message != std::to_string(expected)) throw std::runtime_error(note.message);
        const std::span<std::byte> block = memory.bytes().subspan(16_KiB * (expected % 64), 16_KiB);
        if (pattern_differences(block, expected) != 0) throw std::runtime_error("early");
        ++expected;
      }
      return expected == kRounds;
    }));
    return expected == kRounds ? 0 : 2;
  });
  ASSERT_TRUE(receiver.channel().receive<std::uint64_t>(kLong));
  Client client = attach(socket(), "sender");
  const Segment segment = need(client.open_segment("receiver"), "open_segment");
  Memory memory = allocate_at(client, 1_MiB);
  std::vector<NotificationId> sent;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::span<std::byte> block = memory.bytes().subspan(16_KiB * (round % 64), 16_KiB);
    fill_pattern(block, round);
    Batch batch = need(client.allocate_batch(1), "allocate_batch");
    const Request request = write_to(segment, 16_KiB * (round % 64), block);
    need(client.submit_wait(batch, std::span(&request, 1), {}, kLong), "submit");
    Result<NotificationId> id = Status(Code::daemon_gone, "");
    ASSERT_TRUE(eventually(kLong, [&] {
      id = client.send_notification(segment, "n", std::to_string(round), {.after = &batch});
      return id.ok();
    }));
    sent.push_back(*id);
    if (round % 20 == 10) {
      daemon().kill();
      daemon().start();
    }
    need(batch.wait(kLong), "wait");
    // Order between notifications is that of sending only while each waits for the one before.
    ASSERT_TRUE(eventually(kLong, [&] { return client.notification_status(sent.back()).done(); }));
    EXPECT_EQ(client.notification_status(sent.back()).state, State::completed);
  }
  EXPECT_EQ(receiver.join(kLong), 0);
}

}  // namespace
}  // namespace tentq::test
