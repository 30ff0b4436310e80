// Notifications between two clients.
#include "tests/client/fixture.h"

namespace tentq::testing {
namespace {

class Notify : public ClientTest {
 protected:
  void begin(FakeDaemonOptions options = {}) {
    start(std::move(options));
    pair_ = std::make_unique<Pair>(connect("store-0"), connect("engine-0"));
  }
  TaskStatus await_outcome(NotificationId id) {
    TaskStatus status = pair_->engine->notification_status(id);
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (!status.done() && std::chrono::steady_clock::now() < end) {
      ::sched_yield();
      status = pair_->engine->notification_status(id);
    }
    return status;
  }
  std::vector<ReceivedNotification> receive(std::size_t count) {
    std::vector<ReceivedNotification> all;
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (all.size() < count && std::chrono::steady_clock::now() < end) {
      for (auto& one : take_notifications(*pair_->store)) {
        all.push_back(std::move(one));
      }
    }
    return all;
  }
  std::unique_ptr<Pair> pair_;
};

TEST_F(Notify, ArrivesWithItsBytesAndSender) {
  begin();
  const std::string message(4096, '\0');
  const auto sent =
      pair_->engine->send_notification(*pair_->segment, std::string(64, 'n'), message);
  ASSERT_TRUE(sent.ok()) << sent.status().to_string();
  const auto got = receive(1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].sender, "engine-0");
  EXPECT_EQ(got[0].name, std::string(64, 'n'));
  EXPECT_EQ(got[0].message, message);
  EXPECT_EQ(await_outcome(*sent).state, State::completed);
  EXPECT_EQ(await_outcome(*sent).state, State::completed);  // kept
  EXPECT_EQ(pair_->engine->notification_status(NotificationId{999}).state, State::invalid);
}

TEST_F(Notify, TooLongIsRefused) {
  begin();
  EXPECT_EQ(
      pair_->engine->send_notification(*pair_->segment, std::string(65, 'n'), "").status().code(),
      Code::invalid_argument);
  EXPECT_EQ(
      pair_->engine->send_notification(*pair_->segment, "", std::string(4097, 'm')).status().code(),
      Code::invalid_argument);
}

TEST_F(Notify, ComesAfterTheDataItAnnounces) {
  begin({.hold = true});
  Result<Batch> batch = pair_->engine->allocate_batch(4);
  ASSERT_TRUE(pair_->engine->submit(*batch, pair_->apart(3, 100)).ok());
  const auto sent =
      pair_->engine->send_notification(*pair_->segment, "data", "", {.after = &*batch});
  ASSERT_TRUE(sent.ok());
  ASSERT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().notifies == 1; }));
  EXPECT_TRUE(take_notifications(*pair_->store).empty());
  EXPECT_EQ(pair_->engine->notification_status(*sent).state, State::pending);
  pair_->engine->free_batch(*batch);  // the notification keeps what it needs
  daemon().hold(false);
  EXPECT_EQ(receive(1).size(), 1u);
  EXPECT_EQ(await_outcome(*sent).state, State::completed);
}

TEST_F(Notify, IsDroppedWithAReasonWhenTheDataFails) {
  begin({.hold = true});
  Result<Batch> batch = pair_->engine->allocate_batch(4);
  ASSERT_TRUE(pair_->engine->submit(*batch, pair_->apart(2, 100)).ok());
  const auto early = pair_->engine->send_notification(*pair_->segment, "", "", {.after = &*batch});
  ASSERT_TRUE(pair_->engine->cancel(*batch, 0).ok());
  daemon().hold(false);
  ASSERT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(await_outcome(*early).reason, TaskReason::predecessor_failed);
  // One that is sent when the failure is known already never leaves the library.
  const auto late = pair_->engine->send_notification(*pair_->segment, "", "", {.after = &*batch});
  ASSERT_TRUE(late.ok());
  EXPECT_EQ(pair_->engine->notification_status(*late).state, State::failed);
  EXPECT_EQ(pair_->engine->notification_status(*late).reason, TaskReason::predecessor_failed);
  EXPECT_EQ(daemon().snapshot().notifies, 1u);
}

TEST_F(Notify, ManyMoreThanArenaRingAndSlotsHold) {
  FakeDaemonOptions options;
  options.sizes.ring_cells = 16;
  options.sizes.ring_reserved = 8;
  options.sizes.slots = 16;
  options.sizes.arena_bytes = 32u << 10;  // 8 KiB for each of the four rings
  begin(options);
  constexpr std::size_t kCount = 300;
  std::vector<ReceivedNotification> got;
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::string message(i * 13 % 4000, static_cast<char>('a' + i % 26));
    for (;;) {
      const auto sent =
          pair_->engine->send_notification(*pair_->segment, std::to_string(i), message);
      if (sent.ok()) break;
      ASSERT_EQ(sent.status().code(), Code::too_many_requests);
      ::sched_yield();
    }
    for (auto& one : take_notifications(*pair_->store)) {
      got.push_back(std::move(one));
    }
  }
  for (auto& one : receive(kCount - got.size())) got.push_back(std::move(one));
  ASSERT_EQ(got.size(), kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(got[i].name, std::to_string(i));
    EXPECT_EQ(got[i].message, std::string(i * 13 % 4000, static_cast<char>('a' + i % 26)));
  }
  EXPECT_EQ(daemon().snapshot().violations, 0u);
}

TEST_F(Notify, AFullMailboxIsCounted) {
  start();
  Result<Client> store = connect("store-0", {.mailbox = 2});
  const Result<Memory> memory = store->allocate(4096);
  Result<Client> engine = connect("engine-0");
  const Result<Segment> segment = engine->open_segment("store-0");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(engine->send_notification(*segment, "n", "").ok());
  std::uint64_t lost = 0;
  std::size_t got = 0;
  const auto end = std::chrono::steady_clock::now() + kLong;
  while (got + lost < 5 && std::chrono::steady_clock::now() < end) {
    const Result<NotificationBatch> batch = store->receive_notifications();
    got += batch->notifications.size();
    lost = batch->lost;
  }
  EXPECT_EQ(got + lost, 5u);
}

TEST_F(Notify, AnonymousClientsAreSentNothing) {
  start();
  Result<Client> client = connect("");
  EXPECT_EQ(client->receive_notifications().status().code(), Code::invalid_argument);
}

TEST_F(Notify, SegmentOfAnotherClientIsRefused) {
  begin();
  const auto sent = pair_->store->send_notification(*pair_->segment, "", "");
  EXPECT_EQ(sent.status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace tentq::testing
