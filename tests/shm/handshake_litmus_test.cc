// Litmus tests of the sleep handshakes: both sides race, over and over; a side that sleeps although
// there is work is found by a wait that is far longer than any scheduling delay.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "shm/handshake.h"
#include "shm/packet_socket.h"
#include "tests/shm/race.h"

namespace tentq::shm {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kLost{20};
constexpr std::uint32_t kRounds = 20'000;
constexpr std::uint32_t kSleeps = 5'000;  // with real sleeps, which take longer

// One step of each side at the same moment: the daemon must see the work or the client the sleeper.
TEST(HandshakeLitmus, ParkAndPublishNeverMissEachOther) {
  std::atomic<std::uint64_t> published{0};
  std::atomic<std::uint32_t> need_wakeup{0};
  Fd bell;
  ASSERT_EQ(create_doorbell(&bell), 0);
  DoorbellRinger ringer(&published, &need_wakeup, bell.get());
  DoorbellSleeper sleeper(&published, &need_wakeup);
  Race race(kRounds);
  bool rung = false;
  std::thread client([&] {
    const OnProcessor there(0);
    for (std::uint32_t round = 1;; ++round) {
      if (!race.start(0)) break;
      dawdle(round);
      rung = ringer.published();
      race.finish(0);
    }
  });
  const OnProcessor here(1);
  std::uint32_t missed = 0, rings = 0;
  for (std::uint32_t round = 1;; ++round) {
    if (!race.start(1)) break;
    dawdle(round * 3 + 1);
    const bool parked = sleeper.park();
    race.finish(1);
    missed += parked && !rung;
    rings += rung;
    sleeper.unpark();
    sleeper.changed();
  }
  client.join();
  EXPECT_EQ(missed, 0u);
  std::printf("%u rounds, %u rung\n", race.rounds_done(), rings);
}

TEST(HandshakeLitmus, ArmAndNotifyNeverMissEachOther) {
  std::atomic<std::uint32_t> word{0}, waiters{0}, armed{0};
  Fd daemon_end, client_end;
  ASSERT_EQ(create_completion_pair(&daemon_end, &client_end), 0);
  CompletionWaiter waiter(&word, &waiters, &armed);
  CompletionNotifier notifier(&word, &waiters, &armed, daemon_end.get());
  Race race(kRounds);
  bool sleeps = false;
  std::thread client([&] {
    const OnProcessor there(0);
    for (std::uint32_t round = 1;; ++round) {
      const std::uint32_t ticket = waiter.ticket();
      if (!race.start(0)) break;
      dawdle(round);
      sleeps = waiter.arm_fd(ticket);
      race.finish(0);
      drain_completion_fd(client_end.get());
    }
  });
  const OnProcessor here(1);
  std::uint32_t missed = 0, slept = 0;
  for (std::uint32_t round = 1;; ++round) {
    armed = 0;
    if (!race.start(1)) break;
    dawdle(round * 3 + 1);
    const bool woken = notifier.notify();
    race.finish(1);
    missed += sleeps && !woken;
    slept += sleeps;
  }
  client.join();
  EXPECT_EQ(missed, 0u);
  std::printf("%u rounds, %u slept\n", race.rounds_done(), slept);
}

TEST(HandshakeLitmus, DaemonNeverSleepsOnPublishedWork) {
  Fd bell;
  ASSERT_EQ(create_doorbell(&bell), 0);
  std::atomic<std::uint64_t> published{0};
  std::atomic<std::uint32_t> need_wakeup{0}, work{0}, done{0};
  std::atomic<bool> lost{false};
  std::thread client([&] {
    DoorbellRinger ringer(&published, &need_wakeup, bell.get());
    for (std::uint32_t round = 1; round <= kSleeps && !lost; ++round) {
      work.store(round, std::memory_order_relaxed);
      ringer.published();
      while (done.load() < round && !lost) std::this_thread::yield();
      dawdle(round);
    }
  });
  DoorbellSleeper sleeper(&published, &need_wakeup);
  std::uint32_t parked = 0;
  while (done.load() < kSleeps && !lost) {
    if (sleeper.changed()) {
      dawdle(done.load() * 3);
      done = work.load(std::memory_order_relaxed);
    } else if (sleeper.park()) {
      ++parked;
      lost = wait_readable(bell.get(), kLost) != 0;
      drain_doorbell(bell.get());
      sleeper.unpark();
    }
  }
  client.join();
  EXPECT_FALSE(lost) << "slept on work of round " << done + 1;
  EXPECT_GT(parked, 0u);
}

// One daemon, several sleeping threads of a client; each waits for every round.
void run_completion_litmus(bool by_fd) {
  constexpr std::uint32_t kThreads = 2;
  const std::uint32_t rounds = kSleeps;
  Fd daemon_end, client_end;
  ASSERT_EQ(create_completion_pair(&daemon_end, &client_end), 0);
  std::atomic<std::uint32_t> word{0}, waiters{0}, armed{0}, slot{0}, arrived{0};
  std::atomic<bool> lost{false};
  const auto sleep_once = [&](CompletionWaiter& waiter, std::uint32_t ticket) {
    const Clock::time_point begin = Clock::now();
    if (!by_fd) {
      waiter.wait(ticket, kLost);
    } else if (waiter.arm_fd(ticket)) {
      wait_readable(client_end.get(), kLost);
      drain_completion_fd(client_end.get());
    }
    if (Clock::now() - begin >= kLost) lost = true;
  };
  const std::uint32_t threads = by_fd ? 1 : kThreads;
  std::vector<std::thread> clients;
  for (std::uint32_t t = 0; t < threads; ++t) {
    clients.emplace_back([&] {
      CompletionWaiter waiter(&word, &waiters, &armed);
      for (std::uint32_t round = 1; round <= rounds && !lost; ++round) {
        for (;;) {
          const std::uint32_t ticket = waiter.ticket();
          if (slot.load(std::memory_order_relaxed) >= round || lost) break;
          sleep_once(waiter, ticket);
        }
        ++arrived;
        dawdle(round * 5);
      }
    });
  }
  CompletionNotifier notifier(&word, &waiters, &armed, daemon_end.get());
  std::uint32_t woken = 0;
  for (std::uint32_t round = 1; round <= rounds && !lost; ++round) {
    dawdle(round);
    slot.store(round, std::memory_order_relaxed);
    woken += notifier.notify();
    for (std::uint32_t spins = 1; arrived < round * threads && !lost; ++spins) {
      if (spins % 256 == 0) std::this_thread::yield();
    }
  }
  for (std::thread& client : clients) client.join();
  EXPECT_FALSE(lost);
  EXPECT_GT(woken, 0u);
  EXPECT_EQ(waiters, 0u);
}

TEST(HandshakeLitmus, ThreadsNeverSleepOnACompletion) {
  run_completion_litmus(false);
}

TEST(HandshakeLitmus, CompletionFdIsNeverSilentOnACompletion) {
  run_completion_litmus(true);
}

}  // namespace
}  // namespace tentq::shm
