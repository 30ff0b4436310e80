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

// Several threads spend and give back; `scarce` says which kind of credit is short.
void run_givers(std::uint64_t CreditAmounts::*scarce) {
  constexpr std::uint64_t kGrant = 3;
  constexpr int kThreads = 4;
  CreditMemory credit;
  CreditAmounts granted{1000, 1000, 1000};
  granted.*scarce = kGrant;
  credit.grantor.set_granted(granted);
  std::atomic<std::uint64_t> held{0};
  std::atomic<bool> exceeded{false};
  std::atomic<int> starting{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      CreditAmounts amounts{1, 1, 1};
      amounts.*scarce = 1 + static_cast<std::uint64_t>(t) % 3;
      for (--starting; starting != 0;) std::this_thread::yield();
      for (std::uint32_t i = 0; i < 20'000; ++i) {
        if (!credit.spender.spend(amounts)) continue;
        if (held.fetch_add(amounts.*scarce) + amounts.*scarce > kGrant) exceeded = true;
        dawdle(i);
        if (i % 64 == 0) std::this_thread::yield();
        held.fetch_sub(amounts.*scarce);
        credit.spender.unspend(amounts);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(exceeded);
  EXPECT_EQ(credit.grantor.consumed(), CreditAmounts{});
}

TEST(CreditStress, SpendersThatGiveBackNeverHoldMoreThanTheGrantOfAnyKind) {
  run_givers(&CreditAmounts::owners);
  run_givers(&CreditAmounts::bytes);
  run_givers(&CreditAmounts::extents);
}

// Litmus test of the credit handshake, from both sides: the client spends the last unit while the
// daemon takes it back. Both at once would be the same credit used twice.
TEST(CreditLitmus, SpendingAndLoweringNeverBothWin) {
  constexpr std::uint32_t kRounds = 20'000;
  CreditMemory credit;
  Race race(kRounds);
  bool spent = false;
  std::uint64_t both = 0, daemon_won = 0, client_won = 0;
  std::thread client([&] {
    const OnProcessor there(0);
    for (std::uint32_t i = 0;; ++i) {
      if (!race.start(0)) break;
      dawdle(i);
      spent = credit.spender.spend({1, 0, 0});
      race.finish(0);
    }
  });
  const OnProcessor here(1);
  for (std::uint32_t i = 0;; ++i) {
    credit.consumed.owners = 0;
    credit.grantor.set_granted({1, 0, 0});
    if (!race.start(1)) break;
    dawdle(i * 3 + 1);
    credit.grantor.set_granted({0, 0, 0});
    const bool taken_back = credit.grantor.consumed().owners == 0;
    race.finish(1);
    both += spent && taken_back;
    daemon_won += taken_back;
    client_won += spent;
  }
  client.join();
  EXPECT_EQ(both, 0u);
  std::printf("%u rounds: spent %zu, taken back %zu\n", race.rounds_done(),
              static_cast<std::size_t>(client_won), static_cast<std::size_t>(daemon_won));
}

// Two threads of a client want the last of one kind: who loses it gives back the other kinds.
TEST(CreditLitmus, LoserOfTheLastUnitGivesBackEverything) {
  constexpr std::uint32_t kRounds = 20'000;
  CreditMemory credit;
  Race race(kRounds);
  bool other = false;
  std::thread spender([&] {
    const OnProcessor there(0);
    for (std::uint32_t round = 0;; ++round) {
      if (!race.start(0)) break;
      dawdle(round);
      other = credit.spender.spend({1, 1, 1});
      race.finish(0);
    }
  });
  const OnProcessor here(1);
  std::uint32_t wrong = 0, refused = 0;
  for (std::uint32_t round = 0;; ++round) {
    const bool scarce_bytes = round % 2 == 0;
    credit.grantor.set_granted({9, scarce_bytes ? 1u : 9u, scarce_bytes ? 9u : 1u});
    if (!race.start(1)) break;
    dawdle(round * 3 + 1);
    const bool mine = credit.spender.spend({1, 1, 1});
    race.finish(1);
    const std::uint64_t held = std::uint64_t{mine} + std::uint64_t{other};
    wrong += held > 1 || credit.grantor.consumed() != CreditAmounts{held, held, held};
    refused += held == 0;
    credit.spender.unspend({held, held, held});
  }
  spender.join();
  EXPECT_EQ(wrong, 0u);
  std::printf("%u rounds, both refused in %u\n", race.rounds_done(), refused);
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
