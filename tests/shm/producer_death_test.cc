// A producer process that is killed at any instruction: what the daemon's side sees is whole groups
// and then nothing, or a reservation that shows as stalled; never a part of a group.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>

#include "shm/ring.h"
#include "shm/session_memory.h"

namespace tentq::shm {
namespace {

constexpr ClassId kClass = ClassId::foreground;
constexpr std::uint32_t kCells = 4096;
constexpr std::uint32_t kLargestGroup = 200;
constexpr int kMostRounds = 2'000;
constexpr int kLeastRounds = 100;
constexpr std::chrono::seconds kEnough{8};  // on a slow or sanitized build

SessionSizes small_sizes() {
  SessionSizes sizes;
  sizes.class_mask = bit_of(kClass);
  sizes.ring_cells = kCells;
  sizes.ring_reserved = 0;
  sizes.slots = 1;
  return sizes;
}

// Bodies whose every field follows from the group's number, so that a torn one cannot look right.
CellBody body_of(std::uint64_t group, std::uint64_t index) {
  CellBody body;
  body.kind = CellKind::transfer;
  body.cookie = group * 1000 + index;
  body.length = ~body.cookie;
  body.local_offset = body.cookie ^ 0x5555;
  body.reserved[3] = body.cookie * 7;
  return body;
}

std::uint32_t size_of_group(std::uint64_t group) {
  return 1 + static_cast<std::uint32_t>(group * 2654435761u % kLargestGroup);
}

[[noreturn]] void produce_until_killed(const OwnedSessionMemory& memory) {
  const std::size_t c = index_of(kClass);
  RingProducer ring(memory.view.ring(kClass), kCells, 0, &memory.view.req()->tails[c].value,
                    &memory.view.sta()->heads[c].value);
  CellBody bodies[kLargestGroup];
  for (std::uint64_t group = 0;; ++group) {
    const std::uint32_t size = size_of_group(group);
    for (std::uint32_t i = 0; i < size; ++i) bodies[i] = body_of(group, i);
    while (!ring.publish({bodies, size}, RingUse::work)) std::this_thread::yield();
  }
}

// Takes everything that is published; false if a group is not exactly the next one.
bool take_all(RingConsumer& ring, std::span<CellBody> taken, std::uint64_t* next,
              RingFault* fault) {
  while (const std::uint32_t size = ring.take_group(taken, fault)) {
    if (size != size_of_group(*next)) return false;
    for (std::uint32_t i = 0; i < size; ++i) {
      CellBody expected = body_of(*next, i);
      expected.group_size = static_cast<std::uint16_t>(size);
      expected.group_index = static_cast<std::uint16_t>(i);
      if (std::memcmp(&expected, &taken[i], sizeof expected) != 0) return false;
    }
    ++*next;
  }
  ring.publish_head();
  return *fault == RingFault::none;
}

TEST(ProducerDeath, KilledAnywhereItNeverShowsAPartOfAGroup) {
  const std::uint32_t seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  std::minstd_rand random(seed);
  OwnedSessionMemory memory;
  ASSERT_EQ(create_session_memory(small_sizes(), &memory), 0);
  std::atomic<std::uint64_t>& tail = memory.view.req()->tails[index_of(kClass)].value;
  std::atomic<std::uint64_t>& head = memory.view.sta()->heads[index_of(kClass)].value;
  std::vector<CellBody> taken(kCells);
  int stalled = 0;
  std::uint64_t groups = 0;
  const auto end = std::chrono::steady_clock::now() + kEnough;
  const auto late = [&end] { return std::chrono::steady_clock::now() >= end; };
  int round = 0;
  for (; round < kMostRounds && (round < kLeastRounds || !late()); ++round) {
    std::memset(memory.req.data(), 0, memory.req.size());
    head = 0;
    RingConsumer ring(memory.view.ring(kClass), kCells, &tail, &head);
    RingFault fault = RingFault::none;
    std::uint64_t next = 0;
    const std::uint64_t kill_after = random() % 40;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) produce_until_killed(memory);
    bool whole = true;
    while (whole && next < kill_after) {
      const std::uint64_t before = next;
      whole = take_all(ring, taken, &next, &fault);
      if (next == before) std::this_thread::yield();
    }
    for (std::uint64_t spin = random() % 2000; spin != 0; --spin) asm volatile("");
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    whole = whole && take_all(ring, taken, &next, &fault);
    ASSERT_TRUE(whole) << "round " << round << " group " << next << " fault "
                       << static_cast<int>(fault);
    stalled += ring.stalled();
    groups += next;
  }
  std::printf("%d deaths, %d of them between reservation and first cell, %llu groups\n", round,
              stalled, static_cast<unsigned long long>(groups));
}

}  // namespace
}  // namespace tentq::shm
