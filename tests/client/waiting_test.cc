// Waiting: for batches, for room, for verdicts, and with an event loop.
#include <poll.h>
#include <sys/epoll.h>

#include <thread>

#include "tests/client/fixture.h"

namespace tentq::testing {
namespace {

class Waiting : public ClientTest {};

bool readable(int fd, std::chrono::milliseconds most) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, static_cast<int>(most.count())) > 0;
}

TEST_F(Waiting, ATimeoutEndsTheWaitAndNotTheWork) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(1);
  const Request request = pair.request(0, 100);
  ASSERT_TRUE(pair.engine->submit(*batch, {&request, 1}).ok());
  EXPECT_EQ(batch->wait(1ms).code(), Code::timeout);
  EXPECT_EQ(batch->wait(0ns).code(), Code::timeout);
  EXPECT_EQ(batch->status(0).state, State::pending);
  EXPECT_EQ(batch->overall().pending, 1u);
  daemon().hold(false);
  EXPECT_TRUE(batch->wait(std::chrono::nanoseconds::max()).ok());
  EXPECT_TRUE(batch->wait(0ns).ok());
}

TEST_F(Waiting, ASleeperIsWokenByTheFutexAlone) {
  start({.hold = true});
  // No spinning, so that the wait always reaches the futex.
  Pair pair(connect("store-0"), connect("engine-0", {.spin = 0ns}));
  Result<Batch> batch = pair.engine->allocate_batch(64);
  for (int round = 0; round < 50; ++round) {
    const Request request = pair.request(0, 100);
    daemon().hold(true);
    ASSERT_TRUE(pair.engine->submit(*batch, {&request, 1}).ok());
    std::thread waiter([&] { EXPECT_TRUE(batch->wait(kLong).ok()); });
    daemon().hold(false);
    waiter.join();
  }
}

TEST_F(Waiting, SubmitWaitWaitsForCreditAndKeepsItsWish) {
  FakeDaemonOptions options;
  options.grant = {2, 1u << 20, 2};
  options.hold = true;
  start(options);
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(4);
  ASSERT_TRUE(pair.engine->submit(*batch, pair.apart(2, 100)).ok());
  EXPECT_EQ(pair.engine->submit_wait(*batch, pair.apart(1, 100), {}, 1ms).code(),
            Code::too_many_requests);
  std::thread waiter(
      [&] { EXPECT_TRUE(pair.engine->submit_wait(*batch, pair.apart(2, 100), {}, kLong).ok()); });
  EXPECT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().waiting_wishes >= 1; }));
  EXPECT_EQ(batch->tasks(), 2u);
  daemon().hold(false);
  waiter.join();
  EXPECT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(batch->overall().completed, 4u);
}

TEST_F(Waiting, SubmitWaitDoesNotWaitForWhatNeverComes) {
  start();
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(1);
  EXPECT_EQ(pair.engine->submit_wait(*batch, pair.apart(2, 100), {}, kLong).code(),
            Code::batch_full);
  const Request request = pair.request(0, 0);
  EXPECT_EQ(pair.engine->submit_wait(*batch, {&request, 1}, {}, kLong).code(),
            Code::invalid_argument);
}

TEST_F(Waiting, SubmitWaitWaitsForRoomInTheRing) {
  FakeDaemonOptions options;
  options.sizes.ring_cells = 16;
  options.sizes.ring_reserved = 4;
  start(options);
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(1200);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(pair.engine->submit_wait(*batch, pair.apart(12, 16), {}, kLong).ok());
    if (i % 16 == 15) {
      ASSERT_TRUE(batch->wait(kLong).ok());
      pair.engine->free_batch(*batch);
      batch = pair.engine->allocate_batch(1200);
    }
  }
  ASSERT_TRUE(batch->wait(kLong).ok());
}

TEST_F(Waiting, VerdictsComeBeforeCompletions) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(2);
  const Request request = pair.request(0, 100);
  ASSERT_TRUE(pair.engine->submit(*batch, {&request, 1}).ok());
  EXPECT_TRUE(pair.engine->wait_verdict(*batch, kLong).ok());
  EXPECT_FALSE(batch->done());
  Request beyond = request;
  beyond.remote_offset = 1;
  daemon().hold(false);
  ASSERT_TRUE(pair.engine->submit(*batch, {&beyond, 1}).ok());
  ASSERT_TRUE(batch->wait(kLong).ok());
  const Status verdict = pair.engine->wait_verdict(*batch, kLong);
  EXPECT_EQ(verdict.code(), Code::invalid_argument);
  EXPECT_NE(verdict.text().find("out_of_range"), std::string::npos);
  EXPECT_EQ(batch->overall().state, State::failed);
  EXPECT_EQ(batch->overall().reason, TaskReason::out_of_range);
  EXPECT_EQ(batch->overall().completed, 1u);
  EXPECT_FALSE(batch->status(1).remedy().empty());
}

TEST_F(Waiting, CompletionFdWakesAnEventLoopOncePerNews) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  const Result<int> fd = pair.engine->completion_fd();
  ASSERT_TRUE(fd.ok());
  EXPECT_EQ(*pair.engine->completion_fd(), *fd);
  const shm::Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  ASSERT_EQ(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, *fd, &wanted), 0);
  Result<Batch> batch = pair.engine->allocate_batch(64);
  ASSERT_TRUE(pair.engine->drive().ok());
  for (int round = 0; round < 30; ++round) {
    while (readable(*fd, 0ms)) ASSERT_TRUE(pair.engine->drive().ok());
    daemon().hold(true);
    const Request request = pair.request(0, 100);
    ASSERT_TRUE(pair.engine->submit(*batch, {&request, 1}).ok());
    daemon().hold(false);
    while (!batch->done()) {
      epoll_event event{};
      ASSERT_EQ(::epoll_wait(epoll.get(), &event, 1, 20'000), 1) << "nobody woke the event loop";
      ASSERT_TRUE(pair.engine->drive().ok());
    }
  }
}

TEST_F(Waiting, AClientWithoutItsThreadIsDrivenByItsEventLoop) {
  start();
  Result<Client> store = connect("store-0", {.background_thread = false, .promise_drive = true});
  const Result<Memory> memory = store->allocate(4096);
  const Result<int> fd = store->completion_fd();
  Result<Client> engine = connect("engine-0");
  const Result<Segment> segment = engine->open_segment("store-0");
  while (readable(*fd, 0ms)) ASSERT_TRUE(store->drive().ok());
  ASSERT_TRUE(engine->send_notification(*segment, "done", "42").ok());
  std::vector<ReceivedNotification> got;
  while (got.empty()) {
    ASSERT_TRUE(readable(*fd, kLong)) << "a notification did not make the fd readable";
    ASSERT_TRUE(store->drive().ok());
    got = take_notifications(*store);
  }
  EXPECT_EQ(got[0].message, "42");
}

TEST_F(Waiting, AnEmptyBatchIsNotWaitedFor) {
  start();
  Result<Client> client = connect("engine-0");
  Result<Batch> batch = client->allocate_batch(1);
  EXPECT_TRUE(batch->wait(0ns).ok());
  EXPECT_TRUE(client->wait_verdict(*batch, 0ns).ok());
  EXPECT_EQ(client->allocate_batch(0).status().code(), Code::invalid_argument);
  Batch empty;
  EXPECT_EQ(empty.wait(0ns).code(), Code::daemon_gone);
  EXPECT_EQ(empty.status(0).state, State::invalid);
  EXPECT_EQ(empty.overall().state, State::invalid);
}

}  // namespace
}  // namespace tentq::testing
