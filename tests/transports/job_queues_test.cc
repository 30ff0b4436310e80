// The queues between the conductor and the copying threads, alone and raced.
#include "transports/shm/job_queues.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tentq::test {
namespace {

TEST(JobRing, IsFirstInFirstOutAndBounded) {
  JobRing ring(4);
  EXPECT_TRUE(ring.empty());
  EXPECT_FALSE(ring.take());
  for (std::uint32_t round = 0; round < 10; ++round) {
    for (std::uint32_t i = 0; i < 4; ++i) EXPECT_TRUE(ring.push({i, round}));
    EXPECT_FALSE(ring.push({9, 9}));
    for (std::uint32_t i = 0; i < 4; ++i) {
      const auto ticket = ring.take();
      ASSERT_TRUE(ticket);
      EXPECT_EQ(ticket->slot, i);
      EXPECT_EQ(ticket->generation, round);
    }
    EXPECT_TRUE(ring.empty());
  }
}

TEST(JobRing, EveryTicketIsTakenByExactlyOneThread) {
  constexpr std::uint32_t kTickets = 60'000;
  JobRing ring(16);
  std::vector<std::atomic<std::uint32_t>> taken(kTickets);
  std::atomic<std::uint32_t> total{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (total.load() < kTickets) {
        const auto ticket = ring.take();
        if (!ticket) {
          std::this_thread::yield();
          continue;
        }
        EXPECT_EQ(ticket->generation, ticket->slot * 3);
        taken[ticket->slot].fetch_add(1);
        total.fetch_add(1);
      }
    });
  }
  for (std::uint32_t i = 0; i < kTickets; ++i) {
    while (!ring.push({i, i * 3})) std::this_thread::yield();
  }
  for (auto& thread : threads) thread.join();
  for (const auto& count : taken) ASSERT_EQ(count.load(), 1u);
  EXPECT_TRUE(ring.empty());
}

TEST(DoneRing, CarriesEverythingInOrderFromOneThreadToAnother) {
  constexpr std::uint32_t kSlots = 8;
  DoneRing ring(kSlots);
  EXPECT_FALSE(ring.ready());
  std::atomic<std::uint32_t> taken{0};
  std::thread producer([&] {
    for (std::uint32_t i = 0; i < 20'000; ++i) {
      while (i - taken.load() >= kSlots) std::this_thread::yield();
      ring.push(i);
    }
  });
  for (std::uint32_t i = 0; i < 20'000;) {
    if (const auto slot = ring.take()) {
      EXPECT_EQ(*slot, i);
      taken.store(++i);
    } else {
      std::this_thread::yield();
    }
  }
  producer.join();
  EXPECT_FALSE(ring.ready());
}

}  // namespace
}  // namespace tentq::test
