// Several threads on one client; meant for ThreadSanitizer, and true without it.
#include <thread>

#include "tests/client/fixture.h"

namespace tentq::testing {
namespace {

class Threads : public ClientTest {
 protected:
  // Reads `rounds` batches of `width` requests in each of `count` threads; returns what completed.
  std::uint64_t hammer(Pair& pair, int count, int rounds, std::size_t width) {
    std::atomic<std::uint64_t> completed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t) {
      threads.emplace_back([&, t] {
        const auto cls = static_cast<Class>(1 + t % 4);
        const std::size_t base = static_cast<std::size_t>(t) * (Pair::kBytes / 8);
        for (int round = 0; round < rounds; ++round) {
          Result<Batch> batch = pair.engine->allocate_batch(static_cast<std::uint32_t>(width));
          std::vector<Request> requests;
          for (std::size_t i = 0; i < width; ++i) {
            requests.push_back(pair.request(base + i * 128, 64));
          }
          const Status status = pair.engine->submit_wait(*batch, requests, {.cls = cls}, kLong);
          EXPECT_TRUE(status.ok()) << status.to_string();
          if (round % 3 == 0) continue;  // freed while it runs
          EXPECT_TRUE(batch->wait(kLong).ok());
          const TaskStatus first = batch->status(0);
          EXPECT_EQ(batch->overall().completed, width)
              << to_string(first.state) << ", " << to_string(first.reason);
          completed += batch->overall().completed;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return completed;
  }
};

TEST_F(Threads, SubmitPollAndFreeAtOnce) {
  start();
  Pair pair(connect("store-0"), connect("engine-0"));
  EXPECT_EQ(hammer(pair, 4, 30, 16), 4u * 20 * 16);
  EXPECT_EQ(daemon().snapshot().violations, 0u);
}

TEST_F(Threads, OneBatchFilledAndWatchedByMany) {
  start();
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(200);
  std::vector<std::atomic<bool>> seen(200);
  std::vector<std::thread> threads;
  std::atomic<bool> stop{false};
  threads.emplace_back([&] {
    std::uint64_t looks = 0;
    bool last = false;
    do {
      last = stop;
      for (TaskId task = 0; task < batch->tasks(); ++task) {
        const TaskStatus status = batch->status(task);
        EXPECT_NE(status.state, State::invalid);
        ++looks;
      }
      (void)batch->overall();
    } while (!last);
    EXPECT_GE(looks, 200u);
  });
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const Request request = pair.request(static_cast<std::size_t>(t * 50 + i) * 16, 8);
        TaskId task = 0;
        EXPECT_TRUE(
            pair.engine->submit_wait(*batch, {&request, 1}, {.first_task = &task}, kLong).ok());
        EXPECT_FALSE(seen[task].exchange(true)) << "two calls were told the same task";
      }
    });
  }
  for (std::size_t t = 1; t < threads.size(); ++t) threads[t].join();
  ASSERT_TRUE(batch->wait(kLong).ok());
  stop = true;
  threads[0].join();
  EXPECT_EQ(batch->overall().completed, 200u);
}

TEST_F(Threads, TheDaemonDiesUnderAllOfThem) {
  FakeDaemonOptions options;
  start(options);
  Pair pair(connect("store-0"), connect("engine-0"));
  std::atomic<bool> done{false};
  std::thread killer([&] {
    for (int i = 0; i < 5; ++i) {
      if (!daemon().await([](const FakeDaemon& d) { return d.seen().transfers > 200; })) break;
      kill();
      start(options);
    }
    done = true;
  });
  const std::uint64_t before = hammer(pair, 3, 60, 16);
  EXPECT_EQ(before, 3u * 40 * 16);
  while (!done) (void)hammer(pair, 1, 3, 16);
  killer.join();
  EXPECT_EQ(daemon().snapshot().violations, 0u);
  EXPECT_GE(pair.engine->reattaches(), 1u);
}

TEST_F(Threads, ControlCallsFromManyThreads) {
  start();
  Result<Client> client = connect("store-0");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        Result<Memory> memory = client->allocate(4096);
        ASSERT_TRUE(memory.ok()) << memory.status().to_string();
        const Result<Segment> self = client->open_segment("store-0");
        ASSERT_TRUE(self.ok());
        EXPECT_TRUE(self->regions().ok());
        EXPECT_TRUE(client->unregister(memory->region()).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(daemon().snapshot().registrations, 80u);
}

}  // namespace
}  // namespace tentq::testing
