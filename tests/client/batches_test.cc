// Cancelling, and freeing batches whose transfers are not done.
#include <thread>

#include "tests/client/fixture.h"

namespace tentq::testing {
namespace {

class Batches : public ClientTest {};

TEST_F(Batches, CancelEndsWhatIsQueued) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(4);
  ASSERT_TRUE(pair.engine->submit(*batch, pair.apart(3, 100)).ok());
  EXPECT_TRUE(pair.engine->cancel(*batch, 1).ok());
  EXPECT_TRUE(pair.engine->cancel(*batch, 1).ok());  // twice is harmless
  ASSERT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().cancels == 1; }));
  EXPECT_EQ(pair.engine->cancel(*batch, 3).code(), Code::not_found);
  daemon().hold(false);
  ASSERT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(batch->status(0).state, State::completed);
  EXPECT_EQ(batch->status(1).state, State::canceled);
  EXPECT_EQ(batch->status(1).reason, TaskReason::canceled);
  EXPECT_EQ(batch->overall().state, State::canceled);
  EXPECT_EQ(batch->overall().completed, 2u);
  EXPECT_TRUE(pair.engine->cancel(*batch, 0).ok());  // done already
  EXPECT_EQ(batch->status(0).state, State::completed);
  EXPECT_EQ(daemon().snapshot().cancels, 1u);
}

TEST_F(Batches, CancelOfADerivedTaskEndsItsOwner) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(4);
  const Request requests[] = {pair.request(0, 100), pair.request(100, 100)};
  ASSERT_TRUE(pair.engine->submit(*batch, requests).ok());
  ASSERT_TRUE(pair.engine->cancel(*batch, 1).ok());
  ASSERT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(batch->status(0).state, State::canceled);
  EXPECT_EQ(batch->status(1).state, State::canceled);
}

TEST_F(Batches, CancelFitsIntoAFullRing) {
  FakeDaemonOptions options;
  options.hold = true;
  options.sizes.ring_cells = 16;
  options.sizes.ring_reserved = 8;
  start(options);
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(64);
  ASSERT_TRUE(pair.engine->submit(*batch, pair.apart(8, 16)).ok());
  EXPECT_TRUE(pair.engine->cancel(*batch).ok());
  ASSERT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(batch->overall().canceled, 8u);
}

TEST_F(Batches, FreeingAnUnfinishedBatchIsDeferred) {
  FakeDaemonOptions options;
  options.hold = true;
  options.sizes.slots = 8;
  start(options);
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(8);
  ASSERT_TRUE(pair.engine->submit(*batch, pair.apart(8, 100)).ok());
  pair.engine->free_batch(*batch);
  EXPECT_FALSE(static_cast<bool>(*batch));
  EXPECT_EQ(batch->status(0).state, State::invalid);
  Result<Batch> next = pair.engine->allocate_batch(8);
  EXPECT_EQ(pair.engine->submit(*next, pair.apart(1, 100)).code(), Code::too_many_requests);
  daemon().hold(false);
  ASSERT_TRUE(pair.engine->submit_wait(*next, pair.apart(8, 100), {}, kLong).ok());
  ASSERT_TRUE(next->wait(kLong).ok());
  EXPECT_EQ(next->overall().completed, 8u);
  EXPECT_TRUE(pair.arrived(1400, 100));  // the freed one was carried out
  EXPECT_EQ(daemon().snapshot().violations, 0u);
}

TEST_F(Batches, FreedFromAnotherThreadWhileItsTransfersEnd) {
  FakeDaemonOptions options;
  options.sizes.slots = 32;
  start(options);
  Pair pair(connect("store-0"), connect("engine-0"));
  for (int round = 0; round < 100; ++round) {
    Result<Batch> batch = pair.engine->allocate_batch(8);
    ASSERT_TRUE(pair.engine->submit_wait(*batch, pair.apart(8, 16), {}, kLong).ok()) << round;
    std::thread([moved = std::move(*batch)]() mutable { moved = Batch(); }).join();
  }
  EXPECT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().transfers == 800; }));
  EXPECT_EQ(daemon().snapshot().violations, 0u);
}

TEST_F(Batches, DestroyingTheHandleFreesTheBatch) {
  FakeDaemonOptions options;
  options.sizes.slots = 4;
  start(options);
  Pair pair(connect("store-0"), connect("engine-0"));
  for (int round = 0; round < 10; ++round) {
    Result<Batch> batch = pair.engine->allocate_batch(4);
    ASSERT_TRUE(pair.engine->submit_wait(*batch, pair.apart(4, 16), {}, kLong).ok());
  }
}

TEST_F(Batches, DestroyingTheClientCancelsAndWaitsForQuiet) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(4);
  ASSERT_TRUE(pair.engine->submit(*batch, pair.apart(4, 16)).ok());
  pair.engine = Status(Code::not_found, "destroyed");
  EXPECT_EQ(daemon().snapshot().cancels, 4u);
  // Its batches read as they stood.
  EXPECT_EQ(batch->overall().canceled, 4u);
  EXPECT_EQ(batch->wait(0ns).code(), Code::daemon_gone);
}

TEST_F(Batches, DestroyingTheClientSendsItsLastNotification) {
  start();
  Result<Client> store = connect("store-0");
  const Result<Memory> memory = store->allocate(4096);
  {
    Result<Client> engine = connect("engine-0");
    const Result<Segment> segment = engine->open_segment("store-0");
    ASSERT_TRUE(engine->send_notification(*segment, "bye", "").ok());
  }
  std::vector<ReceivedNotification> got;
  const auto end = std::chrono::steady_clock::now() + kLong;
  while (got.empty() && std::chrono::steady_clock::now() < end) {
    got = take_notifications(*store);
  }
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].name, "bye");
  EXPECT_EQ(got[0].sender, "engine-0");
}

}  // namespace
}  // namespace tentq::testing
