// Credit under real threads: concurrent spenders never exceed the grant, and the race between
// spending and lowering has exactly one winner. Meant for ThreadSanitizer too.
#include <gtest/gtest.h>

#include <cstdio>
#include <thread>
#include <vector>

#include "tests/shm/credit_memory.h"
#include "tests/shm/race.h"

namespace tentq::shm {
namespace {

TEST(CreditStress, ConcurrentSpendersTakeTheWholeGrantAndNotOneMore) {
  constexpr std::uint64_t kGrant = 30'000;
  constexpr int kThreads = 4;
  CreditMemory credit;
  std::vector<std::uint64_t> taken(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&credit, &mine = taken[static_cast<std::size_t>(t)]] {
      while (credit.consumed.owners.load() < kGrant) {
        if (credit.spender.spend({1, 7, 0})) {
          ++mine;
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  for (std::uint64_t granted = 0; granted < kGrant;) {
    granted += 100;
    credit.grantor.set_granted({granted, granted * 7, 0});
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t all = 0;
  for (const std::uint64_t count : taken) all += count;
  EXPECT_EQ(all, kGrant);
  EXPECT_EQ(credit.grantor.consumed(), (CreditAmounts{kGrant, kGrant * 7, 0}));
}

TEST(CreditStress, SpendersThatGiveBackNeverHoldMoreThanTheGrant) {
  constexpr std::uint64_t kGrant = 5;
  CreditMemory credit;
  credit.grantor.set_granted({kGrant, 1000, 0});
  std::atomic<std::uint64_t> held{0};
  std::atomic<bool> exceeded{false};
  std::atomic<int> starting{4};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, amount = 1 + t % 3] {
      for (--starting; starting != 0;) std::this_thread::yield();
      for (int i = 0; i < 100'000; ++i) {
        if (!credit.spender.spend({amount, 1, 0})) continue;
        if (held.fetch_add(amount) + amount > kGrant) exceeded = true;
        held.fetch_sub(amount);
        credit.spender.unspend({amount, 1, 0});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(exceeded);
  EXPECT_EQ(credit.grantor.consumed(), CreditAmounts{});
}

// Litmus test of the credit handshake, from both sides: the client spends the last unit while the
// daemon takes it back. Both at once would be the same credit used twice.
TEST(CreditLitmus, SpendingAndLoweringNeverBothWin) {
  constexpr int kRounds = 20'000;
  CreditMemory credit;
  Race race;
  bool spent = false;
  std::uint64_t both = 0, daemon_won = 0, client_won = 0;
  std::thread client([&] {
    for (int i = 0; i < kRounds; ++i) {
      race.start(0);
      dawdle(static_cast<std::uint32_t>(i));
      spent = credit.spender.spend({1, 0, 0});
      race.finish(0);
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    credit.consumed.owners = 0;
    credit.grantor.set_granted({1, 0, 0});
    race.start(1);
    dawdle(static_cast<std::uint32_t>(i) * 3 + 1);
    credit.grantor.set_granted({0, 0, 0});
    const bool taken_back = credit.grantor.consumed().owners == 0;
    race.finish(1);
    both += spent && taken_back;
    daemon_won += taken_back;
    client_won += spent;
  }
  client.join();
  EXPECT_EQ(both, 0u);
  std::printf("%d rounds: spent %zu, taken back %zu\n", kRounds,
              static_cast<std::size_t>(client_won), static_cast<std::size_t>(daemon_won));
}

TEST(CreditStress, WishesOfManyThreadsAreTakenWhole) {
  constexpr int kThreads = 3;
  CreditMemory credit;
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&credit, &running, t] {
      for (std::uint64_t i = 0; i < 20'000; ++i) {
        const std::uint64_t n = i * kThreads + static_cast<std::uint64_t>(t);
        credit.spender.wish({n, n + 1, n + 2});
      }
      --running;
    });
  }
  std::uint64_t taken = 0, torn = 0;
  while (running != 0) {
    CreditGrantor::Wish wish;
    if (!credit.grantor.take_wish(&wish)) continue;
    ++taken;
    torn += wish.amounts.bytes != wish.amounts.owners + 1 ||
            wish.amounts.extents != wish.amounts.owners + 2;
  }
  for (std::thread& thread : threads) thread.join();
  CreditGrantor::Wish last;
  taken += credit.grantor.take_wish(&last);
  EXPECT_GT(taken, 0u);
  EXPECT_EQ(torn, 0u);
}

}  // namespace
}  // namespace tentq::shm
