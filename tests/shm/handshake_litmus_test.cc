// Litmus tests of the sleep handshakes: both sides race, over and over; a side that sleeps although
// there is work is found by a wait that is far longer than any scheduling delay.
#include <gtest/gtest.h>

#include <chrono>
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

TEST(HandshakeLitmus, DaemonNeverSleepsOnPublishedWork) {
  Fd bell;
  ASSERT_EQ(create_doorbell(&bell), 0);
  std::atomic<std::uint64_t> published{0};
  std::atomic<std::uint32_t> need_wakeup{0}, work{0}, done{0};
  std::atomic<bool> lost{false};
  std::thread client([&] {
    DoorbellRinger ringer(&published, &need_wakeup, bell.get());
    for (std::uint32_t round = 1; round <= kRounds && !lost; ++round) {
      work.store(round, std::memory_order_relaxed);
      ringer.published();
      while (done.load() < round && !lost) std::this_thread::yield();
      dawdle(round);
    }
  });
  DoorbellSleeper sleeper(&published, &need_wakeup);
  std::uint32_t parked = 0;
  while (done.load() < kRounds && !lost) {
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
  const std::uint32_t rounds = kRounds / 2;
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
      }
    });
  }
  CompletionNotifier notifier(&word, &waiters, &armed, daemon_end.get());
  std::uint32_t woken = 0;
  for (std::uint32_t round = 1; round <= rounds && !lost; ++round) {
    dawdle(round);
    slot.store(round, std::memory_order_relaxed);
    woken += notifier.notify();
    while (arrived < round * threads && !lost) std::this_thread::yield();
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
