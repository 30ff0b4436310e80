// The daemon dies: what was unfinished is repeated in the next one, what was finished stays so.
#include <poll.h>

#include <map>

#include "tests/client/fixture.h"

namespace tentq::testing {
namespace {

class Reattach : public ClientTest {
 protected:
  static Status submit(Pair& pair, Batch& batch, const std::vector<Request>& requests,
                       const SubmitOptions& options = {}) {
    return pair.engine->submit(batch, requests, options);
  }
};

TEST_F(Reattach, UnfinishedTransfersAreRepeatedAndVerified) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(16);
  std::vector<Request> requests = pair.apart(8, 1000);
  const Request adjacent = pair.request(1000, 1000);  // joins the first and the second
  requests.insert(requests.begin() + 1, adjacent);
  ASSERT_TRUE(submit(pair, *batch, requests, {.cls = Class::prefetch, .cookie = 5}).ok());
  ASSERT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().transfers == 7; }));
  const auto before = daemon().snapshot();
  kill();
  EXPECT_EQ(batch->overall().pending, 9u);
  start();
  ASSERT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(batch->overall().completed, 9u);
  EXPECT_TRUE(pair.arrived(0, 2000));
  EXPECT_TRUE(pair.arrived(14'000, 1000));
  const auto after = daemon().snapshot();
  EXPECT_EQ(after.replayed, 7u);
  ASSERT_EQ(after.cells.size(), 7u);
  EXPECT_EQ(after.cells[0].length, 3000u);
  for (std::size_t i = 0; i < 7; ++i) {  // exactly as first merged, in order
    EXPECT_EQ(after.cells[i].length, before.cells[i].length);
    EXPECT_EQ(after.cells[i].local_offset, before.cells[i].local_offset);
    EXPECT_EQ(after.cells[i].remote_offset, before.cells[i].remote_offset);
    EXPECT_EQ(after.cells[i].cookie, 5u);
  }
  EXPECT_EQ(after.violations, 0u);
  EXPECT_EQ(pair.engine->reattaches(), 1u);
}

TEST_F(Reattach, HelloSaysWhoItWasAndWhatIsOutstanding) {
  start();
  Pair pair(connect("store-0"), connect("engine-0"));
  const Hello first = daemon().snapshot().hello_of.at("engine-0");
  daemon().hold(true);
  Result<Batch> batch = pair.engine->allocate_batch(8);
  ASSERT_TRUE(submit(pair, *batch, pair.apart(3, 1000), {.cls = Class::background}).ok());
  ASSERT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().transfers == 3; }));
  kill();
  const auto end = std::chrono::steady_clock::now() + kLong;
  while (pair.engine->attached() && std::chrono::steady_clock::now() < end) ::sched_yield();
  ASSERT_TRUE(pair.engine->cancel(*batch, 1).ok());
  start({.hold = true});
  ASSERT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().replayed == 2; }));
  const Hello hello = daemon().snapshot().hello_of.at("engine-0");
  EXPECT_EQ(hello.reattach, 1u);
  EXPECT_EQ(hello.incarnation, first.incarnation);
  EXPECT_EQ(hello.name.view(), "engine-0");
  EXPECT_EQ(hello.token[0], 8);  // of its session before
  const Outstanding& was = hello.outstanding[index_of(ClassId::background)];
  EXPECT_EQ(was.owners, 2u);
  EXPECT_EQ(was.bytes, 2000u);
  EXPECT_EQ(was.extents, 2u);
  EXPECT_EQ(hello.outstanding[index_of(ClassId::standard)].owners, 0u);
  EXPECT_EQ(batch->status(0).state, State::pending);
  EXPECT_EQ(batch->status(1).state, State::canceled);
}

TEST_F(Reattach, TerminalBeforeTheDeathStaysTerminal) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(8);
  ASSERT_TRUE(submit(pair, *batch, pair.apart(4, 1000)).ok());
  ASSERT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().transfers == 4; }));
  // The daemon's last act: two slots, and no time left to tell anybody.
  daemon().finish_silently(2);
  kill();
  start({.hold = true});
  ASSERT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().transfers >= 2; }));
  EXPECT_EQ(batch->overall().completed, 2u);
  EXPECT_EQ(batch->status(0).state, State::completed);
  EXPECT_EQ(batch->status(0).bytes, 1000u);
  EXPECT_EQ(daemon().snapshot().transfers, 2u);
  kill();
  start();
  ASSERT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(batch->overall().completed, 4u);
  EXPECT_EQ(daemon().snapshot().replayed, 2u);
}

TEST_F(Reattach, AStoreThatMakesNoCallIsServedAgainEachTime) {
  start();
  Pair pair(connect("store-0"), connect("engine-0"));
  for (std::uint64_t round = 1; round <= 5; ++round) {
    kill();
    start();
    ASSERT_TRUE(await_reattach(*pair.engine, round));
    ASSERT_TRUE(await_reattach(*pair.store, round));
    std::memset(pair.local->data(), 0, Pair::kBytes);
    Result<Batch> batch = pair.engine->allocate_batch(4);
    ASSERT_TRUE(pair.engine->submit_wait(*batch, pair.apart(4, 5000), {}, kLong).ok());
    ASSERT_TRUE(batch->wait(kLong).ok());
    ASSERT_EQ(batch->overall().completed, 4u) << "round " << round;
    EXPECT_TRUE(pair.arrived(0, 5000));
  }
}

TEST_F(Reattach, DurationsRunOn) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(8);
  ASSERT_TRUE(
      submit(pair, *batch, pair.apart(1, 100), {.deadline = 1h, .max_queue_wait = 1h}).ok());
  ASSERT_TRUE(submit(pair, *batch, pair.apart(1, 100), {.deadline = 1ns}).ok());
  ASSERT_TRUE(submit(pair, *batch, pair.apart(1, 100), {.max_queue_wait = 1ns}).ok());
  ASSERT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().transfers == 3; }));
  kill();
  start();
  ASSERT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(batch->status(0).state, State::completed);
  EXPECT_EQ(batch->status(1).state, State::timeout);
  EXPECT_EQ(batch->status(1).reason, TaskReason::deadline);
  EXPECT_EQ(batch->status(2).state, State::timeout);
  EXPECT_EQ(batch->status(2).reason, TaskReason::max_queue_wait);
  const auto seen = daemon().snapshot();
  ASSERT_EQ(seen.cells.size(), 1u);
  const std::uint64_t hour = 3'600'000'000'000;
  EXPECT_LT(seen.cells[0].deadline_ns, hour);
  EXPECT_GT(seen.cells[0].deadline_ns, hour - 60'000'000'000);
  EXPECT_LT(seen.cells[0].max_queue_wait_ns, hour);
}

TEST_F(Reattach, WhatMustNotBeRepeatedFails) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(8);
  ASSERT_TRUE(submit(pair, *batch, pair.apart(2, 100), {.no_resubmit = true}).ok());
  ASSERT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().transfers == 2; }));
  kill();
  ASSERT_TRUE(batch->wait(kLong).ok());  // without waiting for the next daemon
  EXPECT_EQ(batch->overall().failed, 2u);
  EXPECT_EQ(batch->overall().reason, TaskReason::daemon_gone);
  EXPECT_TRUE(batch->status(0).may_retry());
}

TEST_F(Reattach, RefusesAtOnceWhileThereIsNoDaemon) {
  start();
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(8);
  kill();
  const auto end = std::chrono::steady_clock::now() + kLong;
  while (pair.engine->attached() && std::chrono::steady_clock::now() < end) ::sched_yield();
  const Status status = submit(pair, *batch, pair.apart(1, 100));
  EXPECT_EQ(status.code(), Code::daemon_gone);
  EXPECT_TRUE(status.may_retry());
  EXPECT_EQ(batch->tasks(), 0u);
  EXPECT_EQ(pair.engine->allocate(4096).status().code(), Code::daemon_gone);
  EXPECT_EQ(pair.engine->open_segment("store-0").status().code(), Code::daemon_gone);
  EXPECT_EQ(pair.engine->submit_wait(*batch, pair.apart(1, 100), {}, 1ms).code(),
            Code::daemon_gone);
  start();
  ASSERT_TRUE(await_reattach(*pair.store, 1));
  EXPECT_TRUE(pair.engine->submit_wait(*batch, pair.apart(1, 100), {}, kLong).ok());
  EXPECT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(batch->overall().completed, 1u);
}

TEST_F(Reattach, AfterTheTimeoutEverythingFailsAndLaterCallsAttachAgain) {
  start({.hold = true});
  const ConnectOptions impatient{.reattach_timeout = 50ms};
  Pair pair(connect("store-0", impatient), connect("engine-0", impatient));
  Result<Batch> batch = pair.engine->allocate_batch(8);
  ASSERT_TRUE(submit(pair, *batch, pair.apart(2, 100)).ok());
  const auto sent = pair.engine->send_notification(*pair.segment, "", "", {.after = &*batch});
  ASSERT_TRUE(sent.ok());
  kill();
  ASSERT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(batch->overall().failed, 2u);
  EXPECT_EQ(batch->overall().reason, TaskReason::daemon_gone);
  EXPECT_EQ(pair.engine->notification_status(*sent).reason, TaskReason::daemon_gone);
  start();
  ASSERT_TRUE(await_reattach(*pair.store, 1));
  ASSERT_TRUE(pair.engine->submit_wait(*batch, pair.apart(2, 100), {}, kLong).ok());
  ASSERT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(batch->overall().failed, 2u);  // a terminal status never changes
  EXPECT_EQ(batch->overall().completed, 2u);
  EXPECT_EQ(daemon().snapshot().replayed, 0u);
}

TEST_F(Reattach, FreedBatchesAreRepeatedToo) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> before = pair.engine->allocate_batch(8);
  Result<Batch> between = pair.engine->allocate_batch(8);
  ASSERT_TRUE(submit(pair, *before, {pair.request(0, 100)}).ok());
  ASSERT_TRUE(submit(pair, *between, {pair.request(500, 100)}).ok());
  ASSERT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().transfers == 2; }));
  pair.engine->free_batch(*before);
  kill();
  pair.engine->free_batch(*between);
  start();
  // The store comes back at its own time; only then can they be carried out.
  EXPECT_TRUE(daemon().await(
      [](const FakeDaemon& d) { return d.seen().replayed == 2 && d.seen().queued == 0; }));
  pair.engine = Status(Code::not_found, "destroyed");  // waits for quiet
  EXPECT_TRUE(pair.arrived(0, 100));
  EXPECT_TRUE(pair.arrived(500, 100));
  EXPECT_EQ(daemon().snapshot().violations, 0u);
}

TEST_F(Reattach, MoreThanTheNextDaemonHoldsWaitsInTheLibrary) {
  FakeDaemonOptions options;
  options.hold = true;
  start(options);
  Pair pair(connect("store-0"), connect("engine-0"));
  std::vector<Batch> batches;
  for (int i = 0; i < 12; ++i) {
    batches.push_back(std::move(*pair.engine->allocate_batch(4)));
    ASSERT_TRUE(submit(pair, batches.back(), pair.apart(4, 100)).ok());
  }
  ASSERT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().transfers == 48; }));
  kill();
  options.hold = false;
  options.sizes.ring_cells = 16;  // the next daemon is configured smaller
  options.sizes.ring_reserved = 8;
  options.sizes.slots = 8;
  start(options);
  Result<Batch> later = pair.engine->allocate_batch(1);
  for (Batch& batch : batches) {
    ASSERT_TRUE(batch.wait(kLong).ok());
    EXPECT_EQ(batch.overall().completed, 4u);
    // What was unfinished before the restart goes first.
    if (&batch == &batches.front()) {
      EXPECT_EQ(submit(pair, *later, {pair.request(0, 8)}).code(), Code::too_many_requests);
    }
    pair.engine->free_batch(batch);
  }
  EXPECT_EQ(daemon().snapshot().replayed, 48u);
  EXPECT_EQ(daemon().snapshot().violations, 0u);
  const Request request = pair.request(0, 8);
  EXPECT_TRUE(pair.engine->submit_wait(*later, {&request, 1}, {}, kLong).ok());
}

TEST_F(Reattach, WhatTheNextDaemonRefusesFailsByItself) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(8);
  ASSERT_TRUE(submit(pair, *batch, pair.apart(2, 100)).ok());
  kill();
  start();
  daemon().fail_registrations(StatusCode::exhausted);
  // Either the client was faster than the refusal, or its transfers end with the reason.
  ASSERT_TRUE(await_reattach(*pair.engine, 1));
  if (!batch->wait(1s).ok()) return;
  for (TaskId task = 0; task < 2; ++task) {
    const TaskStatus status = batch->status(task);
    EXPECT_TRUE(status.state == State::completed || status.reason == TaskReason::unknown_region);
  }
}

TEST_F(Reattach, AClientThatWasShutOutStaysOut) {
  start({.hold = true});
  for (const bool thread : {true, false}) {
    Pair pair(connect("store-0"), connect("engine-0", {.background_thread = thread}));
    Result<Batch> batch = pair.engine->allocate_batch(8);
    ASSERT_TRUE(submit(pair, *batch, pair.apart(2, 100)).ok());
    daemon().shut_out();
    ASSERT_TRUE(batch->wait(kLong).ok());
    EXPECT_EQ(batch->overall().failed, 2u);
    const Status status = submit(pair, *batch, pair.apart(1, 100));
    EXPECT_EQ(status.code(), Code::quarantined);
    EXPECT_FALSE(status.may_retry());
    EXPECT_EQ(pair.engine->reattaches(), 0u);
  }
}

TEST_F(Reattach, NotificationsAreRepeatedUnderTheirSerials) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(8);
  ASSERT_TRUE(submit(pair, *batch, pair.apart(2, 100)).ok());
  ASSERT_TRUE(pair.engine->send_notification(*pair.segment, "first", "").ok());
  const auto sent = pair.engine->send_notification(*pair.segment, "second", "", {.after = &*batch});
  ASSERT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().notifies == 2; }));
  kill();
  start();
  std::vector<std::string> names;
  const auto end = std::chrono::steady_clock::now() + kLong;
  while (names.size() < 2 && std::chrono::steady_clock::now() < end) {
    for (const auto& one : take_notifications(*pair.store)) {
      names.push_back(one.name);
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"first", "second"}));
  ASSERT_TRUE(batch->wait(kLong).ok());
  (void)sent;
}

TEST_F(Reattach, WithoutTheThreadWaitsDoIt) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0", {.background_thread = false}));
  Result<Batch> batch = pair.engine->allocate_batch(8);
  ASSERT_TRUE(submit(pair, *batch, pair.apart(4, 100)).ok());
  ASSERT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().transfers == 4; }));
  kill();
  start();
  ASSERT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(batch->overall().completed, 4u);
  EXPECT_EQ(pair.engine->reattaches(), 1u);
}

TEST_F(Reattach, WithoutTheThreadDriveDoesIt) {
  start();
  Result<Client> store = connect("store-0", {.background_thread = false, .promise_drive = true});
  const Result<Memory> memory = store->allocate(4096);
  const Result<int> fd = store->completion_fd();
  kill();
  const auto drive_until = [&](auto condition) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (!condition() && std::chrono::steady_clock::now() < end) {
      pollfd entry{*fd, POLLIN, 0};
      if (::poll(&entry, 1, 20'000) != 1) return false;
      (void)store->drive();
    }
    return condition();
  };
  ASSERT_TRUE(drive_until([&] { return !store->attached(); }));
  EXPECT_EQ(store->drive().code(), Code::daemon_gone);
  start();
  ASSERT_TRUE(drive_until([&] { return store->reattaches() == 1; }));
  EXPECT_TRUE(store->drive().ok());
  EXPECT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().registrations == 1; }));
}

TEST_F(Reattach, AnEventLoopKeepsItsFdOverRestarts) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  const Result<int> fd = pair.engine->completion_fd();
  Result<Batch> batch = pair.engine->allocate_batch(8);
  ASSERT_TRUE(submit(pair, *batch, pair.apart(1, 100)).ok());
  kill();
  start();
  const auto end = std::chrono::steady_clock::now() + kLong;
  while (!batch->done() && std::chrono::steady_clock::now() < end) {
    (void)pair.engine->drive();
    if (batch->done()) break;
    pollfd entry{*fd, POLLIN, 0};
    ASSERT_EQ(::poll(&entry, 1, 20'000), 1) << "nobody woke the event loop";
  }
  EXPECT_EQ(batch->overall().completed, 1u);
  EXPECT_EQ(*pair.engine->completion_fd(), *fd);
}

TEST_F(Reattach, DestroyingTheClientWithoutADaemonDoesNotWait) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(8);
  ASSERT_TRUE(submit(pair, *batch, pair.apart(2, 100)).ok());
  kill();
  pair.engine = Status(Code::not_found, "destroyed");
  EXPECT_EQ(batch->overall().pending, 0u);
}

}  // namespace
}  // namespace tentq::testing
