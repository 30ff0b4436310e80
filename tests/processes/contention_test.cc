// Many threads and processes at a limit: calls are admitted whole or not at all, nothing is lost on
// the way, and large calls are not starved by small ones.
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/pattern.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals

class Contention : public DaemonFixture {};

constexpr std::size_t kCall = 7;

struct Tally {
  std::uint64_t accepted = 0;  // calls
  std::uint64_t refused = 0;
  std::uint64_t completed = 0;  // owners
  std::uint64_t torn = 0;       // batches that held a part of a call
};

// Calls of seven owners, as fast as they go, in one batch each.
Tally submit_calls(Client& client, SegmentId segment, std::span<std::byte> area, int calls) {
  Tally tally;
  std::vector<Request> requests;
  for (std::size_t i = 0; i < kCall; ++i) {
    requests.push_back(write_to(segment, 128 * i, area.subspan(128 * i, 64)));
  }
  std::vector<Batch> waiting;
  const auto settle = [&] {
    for (Batch& batch : waiting) {
      need(batch.wait(kLong), "wait");
      tally.completed += batch.overall().completed;
      client.free_batch(batch);
    }
    waiting.clear();
  };
  for (int i = 0; i < calls; ++i) {
    Batch batch = need(client.allocate_batch(kCall), "allocate_batch");
    const Status status = client.submit(batch, requests);
    const std::uint32_t tasks = batch.tasks();
    tally.torn += tasks != (status.ok() ? kCall : 0);
    if (status.ok()) {
      ++tally.accepted;
      waiting.push_back(std::move(batch));
    } else if (status.code() == Code::too_many_requests) {
      ++tally.refused;
      client.free_batch(batch);
      // Others may hold everything: their work must end before a call can be taken.
      if (waiting.empty()) ::poll(nullptr, 0, 1);
      settle();
    } else {
      need(status, "submit");
    }
    if (waiting.size() >= 8) settle();
  }
  settle();
  return tally;
}

TEST_F(Contention, ThreadsAtALimitAreAdmittedWholeOrNotAtAll) {
  start({{"limits", {{"client", {{"owners", 100}}}}}});
  constexpr std::size_t kThreads = 16;
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, kThreads * 1_KiB);
  std::vector<Tally> tallies(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      tallies[i] = submit_calls(client, segment, memory.bytes().subspan(i * 1_KiB, 1_KiB), 500);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Tally sum;
  for (const Tally& tally : tallies) {
    sum.accepted += tally.accepted;
    sum.refused += tally.refused;
    sum.completed += tally.completed;
    sum.torn += tally.torn;
  }
  EXPECT_EQ(sum.torn, 0u);
  EXPECT_EQ(sum.accepted + sum.refused, kThreads * 500);
  EXPECT_GT(sum.accepted, 0u);
  EXPECT_EQ(sum.completed, sum.accepted * kCall);
  EXPECT_EQ(counters().at("enqueued"), sum.accepted * kCall);
  EXPECT_EQ(counters().at("completed"), sum.accepted * kCall);
  EXPECT_EQ(counters().at("rejected"), 0);
  expect_idle();
  const nlohmann::json row = client_row("engine");
  EXPECT_EQ(row.at("slots_used"), 0);
  EXPECT_EQ(row.at("violations"), 0);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Contention, ProcessesShareTheHostsLimit) {
  start({{"limits",
          {{"host", {{"owners", 200}}},
           {"client", {{"owners", 200}}},
           {"internal_reserve", {{"owners", 16}}}}}});
  constexpr std::size_t kProcesses = 4;
  Exporter store(socket());
  std::vector<Role> roles;
  for (std::size_t i = 0; i < kProcesses; ++i) {
    const std::string name = "engine" + std::to_string(i);
    roles.emplace_back(name, std::chrono::seconds{120}, [&, name](RoleChannel& channel) {
      Client client = attach(socket(), name);
      const Segment segment = need(client.open_segment("store"), "open_segment");
      Memory memory = allocate_at(client, 4_KiB);
      channel.send(submit_calls(client, segment, memory.bytes(), 1'000));
      return 0;
    });
  }
  std::uint64_t accepted = 0;
  for (Role& role : roles) {
    const auto tally = role.channel().receive<Tally>(kLong);
    ASSERT_TRUE(tally);
    EXPECT_EQ(tally->torn, 0u);
    EXPECT_GT(tally->accepted, 0u);
    EXPECT_EQ(tally->completed, tally->accepted * kCall);
    accepted += tally->accepted;
    EXPECT_EQ(role.join(kLong), 0);
  }
  EXPECT_EQ(counters().at("enqueued"), accepted * kCall);
  EXPECT_EQ(counters().at("completed"), accepted * kCall);
  EXPECT_EQ(store.stop(), 0);
}

// A call that needs the whole limit gets its turn while small ones keep coming.
TEST_F(Contention, ALargeCallThatWaitsIsNotStarvedBySmallOnes) {
  start({{"limits", {{"client", {{"owners", 64}}}}}});
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_KiB);
  std::atomic<bool> stop{false};
  std::vector<std::thread> small;
  for (std::size_t i = 0; i < 3; ++i) {
    small.emplace_back([&, i] {
      while (!stop) submit_calls(client, segment, memory.bytes().subspan(16_KiB * i, 1_KiB), 20);
    });
  }
  std::vector<Request> large;
  for (std::size_t i = 0; i < 64; ++i) {
    large.push_back(
        write_to(segment, 64_KiB + 128 * i, memory.bytes().subspan(48_KiB + 128 * i, 64)));
  }
  for (int i = 0; i < 5; ++i) {
    Batch batch = need(client.allocate_batch(64), "allocate_batch");
    const Status status = client.submit_wait(batch, large, {}, std::chrono::seconds{20});
    EXPECT_TRUE(status.ok()) << "call " << i << ": " << status.to_string();
    if (status.ok()) {
      EXPECT_TRUE(batch.wait(kLong).ok());
      EXPECT_EQ(batch.overall().completed, 64u);
    }
    client.free_batch(batch);
  }
  stop = true;
  for (std::thread& thread : small) thread.join();
  EXPECT_EQ(store.stop(), 0);
}

// Batches at random: freed early, late, twice or never, with errors, deadlines and cancels between.
TEST_F(Contention, BatchesOfEveryFateLeaveNothingBehind) {
  start();
  Exporter store(socket());
  const auto seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<Batch> kept;
  {
    Client client = attach(socket(), "engine");
    const Segment segment = need(client.open_segment("store"), "open_segment");
    Memory memory = allocate_at(client, 64_KiB);
    for (int i = 0; i < 20'000; ++i) {
      Batch batch = need(client.allocate_batch(4), "allocate_batch");
      std::vector<Request> requests;
      for (std::size_t t = 0; t < 1 + random() % 4; ++t) {
        requests.push_back(write_to(segment, 256 * t, memory.bytes().subspan(256 * t, 128)));
      }
      SubmitOptions options;
      if (random() % 10 == 0) requests[0].remote_offset = 1_MiB;
      if (random() % 10 == 0) options.deadline = std::chrono::nanoseconds{1 + random() % 20'000};
      if (random() % 10 == 0) requests[0].length = 0;
      const Status status = client.submit_wait(batch, requests, options, kLong);
      ASSERT_TRUE(status.ok() || status.code() == Code::invalid_argument) << status.to_string();
      if (random() % 10 == 0 && batch.tasks() > 0) (void)client.cancel(batch);
      switch (random() % 8) {
        case 0: (void)batch.wait(kLong); break;
        case 1: client.free_batch(batch); break;
        case 2:
          if (kept.size() < 100) kept.push_back(std::move(batch));
          break;
        default: break;
      }
      client.free_batch(batch);
      ASSERT_FALSE(batch);
    }
    expect_idle();
    for (Batch& batch : kept) ASSERT_TRUE(batch.wait(kLong).ok());
    const nlohmann::json row = client_row("engine");
    EXPECT_EQ(row.at("slots_used"), 0) << "seed " << seed;
    EXPECT_EQ(row.at("outstanding_owners"), 0);
  }
  // Batches of a client that is gone still read as they stood.
  for (const Batch& batch : kept) EXPECT_TRUE(batch.done());
  EXPECT_EQ(store.stop(), 0);
}

}  // namespace
}  // namespace tentq::test
