// Several producer threads against one consumer: every cell arrives once, groups are never torn and
// each thread's groups stay in order. Meant for ThreadSanitizer too.
#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <thread>

#include "tests/shm/ring_memory.h"

namespace tentq::shm {
namespace {

constexpr std::uint32_t kCells = 64;
constexpr std::uint32_t kProducers = 4;
constexpr std::uint32_t kLargestGroup = 16;
constexpr std::uint64_t kCellsEach = 20'000;

// Producer number in the upper half, its own count of cells in the lower.
std::uint64_t cookie_of(std::uint32_t producer, std::uint64_t serial) {
  return (std::uint64_t{producer} << 32) | serial;
}

void produce(RingMemory& ring, std::uint32_t number, std::uint32_t seed,
             const std::atomic<bool>& give_up) {
  std::minstd_rand random(seed + number);
  for (std::uint64_t serial = 0; serial < kCellsEach;) {
    const std::uint64_t wanted = 1 + random() % kLargestGroup;
    const std::uint64_t count = std::min(wanted, kCellsEach - serial);
    const auto bodies = bodies_from(cookie_of(number, serial), count);
    const RingUse use = count == 1 ? RingUse::control : RingUse::work;
    while (!ring.producer.publish(bodies, use)) {
      if (give_up) return;
      std::this_thread::yield();
    }
    serial += count;
  }
}

TEST(RingStress, ManyProducersLoseAndTearNothing) {
  const std::uint32_t seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  RingMemory ring(kCells, 8);
  std::atomic<bool> give_up{false};
  std::vector<std::thread> producers;
  for (std::uint32_t p = 0; p < kProducers; ++p) {
    producers.emplace_back(produce, std::ref(ring), p, seed, std::cref(give_up));
  }
  std::uint64_t next[kProducers] = {};
  std::uint64_t taken = 0;
  bool torn = false;
  while (taken < kProducers * kCellsEach && ring.fault == RingFault::none && !torn) {
    const std::vector<std::uint64_t> cookies = ring.take();
    if (cookies.empty()) {
      ring.consumer.publish_head();
      std::this_thread::yield();
      continue;
    }
    const auto producer = static_cast<std::uint32_t>(cookies.front() >> 32);
    torn = producer >= kProducers;
    for (const std::uint64_t cookie : cookies) {
      torn = torn || cookie != cookie_of(producer, next[producer]++);
    }
    taken += cookies.size();
    if (taken % 3 == 0) ring.consumer.publish_head();
  }
  give_up = true;
  EXPECT_EQ(ring.fault, RingFault::none);
  EXPECT_FALSE(torn);
  for (std::thread& thread : producers) thread.join();
  for (const std::uint64_t count : next) EXPECT_EQ(count, kCellsEach);
  EXPECT_FALSE(ring.consumer.ready());
  EXPECT_FALSE(ring.consumer.stalled());
}

}  // namespace
}  // namespace tentq::shm
