// The handshakes of shm/ written down for the model, once as they are built and once with weaker
// orders: as built nothing is lost in any interleaving; weakened, the model finds the failure. The
// programs repeat shm/handshake.h, shm/credit.h and shm/ring.h step by step; keep them alike.
#include "tests/shm/store_buffer_model.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tentq::shm::model {
namespace {

template <class Predicate>
bool possible(const std::vector<Program>& threads, int words, const Predicate& predicate) {
  const Exploration exploration = explore(threads, words);
  EXPECT_GT(exploration.states, 1u);
  EXPECT_FALSE(exploration.outcomes.empty());
  return std::any_of(exploration.outcomes.begin(), exploration.outcomes.end(), predicate);
}

bool somebody_sleeps(const Outcome& outcome) {
  return std::find(outcome.finished.begin(), outcome.finished.end(), false) !=
         outcome.finished.end();
}

// Wake-up: DoorbellRinger::published against DoorbellSleeper::park.
bool doorbell_can_be_lost(Order client_order, Order daemon_order) {
  enum { published, need_wakeup, bell, words };
  Program client;
  client.add(published, 1, client_order);
  client.load(0, need_wakeup);
  const int quiet = client.jump_if_equal(0, 0);
  client.store(bell, 1, Order::seq_cst);
  client.aim(quiet, client.here());
  Program daemon;
  daemon.store(need_wakeup, 1, daemon_order);
  daemon.load(0, published);
  const int awake = daemon.jump_if_not_equal(0, 0);
  daemon.await(bell);
  daemon.aim(awake, daemon.here());
  return possible({client, daemon}, words, somebody_sleeps);
}

TEST(StoreBufferModel, DaemonNeverSleepsOnPublishedWork) {
  EXPECT_FALSE(doorbell_can_be_lost(Order::seq_cst, Order::seq_cst));
}

TEST(StoreBufferModel, WeakerDoorbellOnEitherSideIsLost) {
  EXPECT_TRUE(doorbell_can_be_lost(Order::release, Order::seq_cst));
  EXPECT_TRUE(doorbell_can_be_lost(Order::seq_cst, Order::release));
  EXPECT_TRUE(doorbell_can_be_lost(Order::release, Order::release));
}

// Waiter: CompletionNotifier::notify against CompletionWaiter::wait, two changes in a row.
bool completion_can_be_lost(Order client_order, Order daemon_order) {
  enum { slot, completions, waiters, words };
  Program client;
  client.load(0, completions);  // the ticket
  client.load(1, slot);
  const int found = client.jump_if_equal(1, 2);
  client.add(waiters, 1, client_order);
  client.futex_sleep(completions, 0);
  client.add(waiters, -1, Order::relaxed);
  client.jump(0);
  client.aim(found, client.here());
  Program daemon;
  for (int result = 1; result <= 2; ++result) {
    daemon.store(slot, result, Order::release);
    daemon.add(completions, 1, daemon_order);
    daemon.load(0, waiters);
    const int nobody = daemon.jump_if_equal(0, 0);
    daemon.futex_wake(completions);
    daemon.aim(nobody, daemon.here());
  }
  return possible({client, daemon}, words, somebody_sleeps);
}

TEST(StoreBufferModel, ThreadNeverSleepsOnACompletion) {
  EXPECT_FALSE(completion_can_be_lost(Order::seq_cst, Order::seq_cst));
}

TEST(StoreBufferModel, WeakerNotifyIsLost) {
  EXPECT_TRUE(completion_can_be_lost(Order::seq_cst, Order::release));
  EXPECT_TRUE(completion_can_be_lost(Order::release, Order::release));
}

// The kernel itself orders the waiter's store before its comparison; the library does not rely on
// it.
TEST(StoreBufferModel, WeakerWaiterAloneIsCoveredByTheKernel) {
  EXPECT_FALSE(completion_can_be_lost(Order::release, Order::seq_cst));
}

// The completion fd: notify against arm_fd, with the disarming, two changes in a row.
bool completion_fd_can_be_lost(Order client_order, Order daemon_order, bool disarm_after_write) {
  enum { slot, completions, armed, fd, words };
  Program client;
  client.load(0, completions);
  client.load(1, slot);
  const int found = client.jump_if_equal(1, 2);
  client.store(armed, 1, client_order);
  client.load(2, completions);
  const int newer = client.jump_if_greater(2, 0);
  client.await(fd);
  client.aim(newer, client.here());
  client.jump(0);
  client.aim(found, client.here());
  Program daemon;
  for (int result = 1; result <= 2; ++result) {
    daemon.store(slot, result, Order::release);
    daemon.add(completions, 1, daemon_order);
    daemon.load(0, armed);
    const int nobody = daemon.jump_if_equal(0, 0);
    if (!disarm_after_write) daemon.store(armed, 0, Order::seq_cst);
    daemon.store(fd, 1, Order::seq_cst);
    if (disarm_after_write) daemon.store(armed, 0, Order::seq_cst);
    daemon.aim(nobody, daemon.here());
  }
  return possible({client, daemon}, words, somebody_sleeps);
}

TEST(StoreBufferModel, CompletionFdIsNeverSilentOnACompletion) {
  EXPECT_FALSE(completion_fd_can_be_lost(Order::seq_cst, Order::seq_cst, false));
}

TEST(StoreBufferModel, WeakerCompletionFdOnEitherSideIsLost) {
  EXPECT_TRUE(completion_fd_can_be_lost(Order::release, Order::seq_cst, false));
  EXPECT_TRUE(completion_fd_can_be_lost(Order::seq_cst, Order::release, false));
}

TEST(StoreBufferModel, DisarmingAfterTheWriteIsLost) {
  EXPECT_TRUE(completion_fd_can_be_lost(Order::seq_cst, Order::seq_cst, true));
}

// Credit: spend_one against set_granted and consumed. The grant is 1, `lowered_by` counts it down.
Program spender(int consumed, int lowered_by, Order order) {
  Program client;
  client.add(consumed, 1, order, 0);
  client.load(1, lowered_by);
  client.set(2, 0);
  // Fits if the consumption before plus 1 is at most 1 − lowered_by: both are 0.
  const int over = client.jump_if_not_equal(0, 0);
  const int lowered = client.jump_if_not_equal(1, 0);
  client.set(2, 1);
  const int done = client.jump();
  client.aim(over, client.here());
  client.aim(lowered, client.here());
  client.add(consumed, -1, Order::seq_cst);
  client.aim(done, client.here());
  return client;
}

Program lowerer(int consumed, int lowered_by, Order order) {
  Program daemon;
  daemon.store(lowered_by, 1, order);
  daemon.load(0, consumed);
  const int honoured = daemon.jump_if_not_equal(0, 0);
  daemon.set(2, 1);  // given to somebody else
  daemon.aim(honoured, daemon.here());
  return daemon;
}

// Register 2 of each thread says whether it has the one unit of credit.
bool used_twice(const Outcome& outcome) {
  int users = 0;
  for (const std::vector<int>& registers : outcome.registers) users += registers[2];
  return users > 1;
}

bool credit_can_be_used_twice(Order client_order, Order daemon_order) {
  enum { consumed, lowered_by, words };
  return possible(
      {spender(consumed, lowered_by, client_order), lowerer(consumed, lowered_by, daemon_order)},
      words, used_twice);
}

TEST(StoreBufferModel, CreditIsSpentOrTakenBackNeverBoth) {
  EXPECT_FALSE(credit_can_be_used_twice(Order::seq_cst, Order::seq_cst));
}

TEST(StoreBufferModel, WeakerCreditOnEitherSideIsUsedTwice) {
  EXPECT_TRUE(credit_can_be_used_twice(Order::release, Order::seq_cst));
  EXPECT_TRUE(credit_can_be_used_twice(Order::seq_cst, Order::release));
}

TEST(StoreBufferModel, SeveralSpendersAndALoweringUseCreditOnce) {
  enum { consumed, lowered_by, words };
  const Program client = spender(consumed, lowered_by, Order::seq_cst);
  const Program daemon = lowerer(consumed, lowered_by, Order::seq_cst);
  EXPECT_FALSE(possible({client, client, daemon}, words, used_twice));
  EXPECT_FALSE(possible({client, client, client}, words, used_twice));
  // What was undone is nobody's: without the daemon the consumption ends where it is held.
  EXPECT_FALSE(possible({client, client}, words, [](const Outcome& outcome) {
    return outcome.words[consumed] != outcome.registers[0][2] + outcome.registers[1][2];
  }));
}

// Publication: RingProducer::fill against RingConsumer::take_group, a group of two cells.
bool group_can_be_torn(Order first_cell_order, Order other_cell_order, bool first_cell_last) {
  enum { body0, seq0, body1, seq1, words };
  const auto fill_other = [&](Program& program) {
    program.store(body1, 1, Order::relaxed);
    program.store(seq1, 1, other_cell_order);
  };
  Program producer;
  if (first_cell_last) fill_other(producer);
  producer.store(body0, 1, Order::relaxed);
  producer.store(seq0, 1, first_cell_order);
  if (!first_cell_last) fill_other(producer);
  Program daemon;
  daemon.load(0, seq0);
  daemon.load(1, body0);
  daemon.load(2, seq1);
  daemon.load(3, body1);
  return possible({producer, daemon}, words, [](const Outcome& outcome) {
    const std::vector<int>& seen = outcome.registers[1];
    return seen[0] == 1 && (seen[1] == 0 || seen[2] == 0 || seen[3] == 0);
  });
}

TEST(StoreBufferModel, GroupIsSeenWholeOrNotAtAll) {
  EXPECT_FALSE(group_can_be_torn(Order::release, Order::release, true));
  EXPECT_TRUE(group_can_be_torn(Order::relaxed, Order::release, true));
  EXPECT_TRUE(group_can_be_torn(Order::release, Order::release, false));
}

// Wishes: CreditSpender::wish, twice, against CreditGrantor::take_wish.
bool wish_can_be_torn(Order amounts_order) {
  enum { serial, owners, bytes, words };
  Program client;
  for (int wish = 1; wish <= 2; ++wish) {
    client.add(serial, 1, Order::relaxed);
    client.store(owners, wish, amounts_order);
    client.store(bytes, wish, amounts_order);
    client.store(serial, 2 * wish, Order::release);
  }
  Program daemon;
  daemon.load(0, serial);
  daemon.load(1, owners);
  daemon.load(2, bytes);
  daemon.load(3, serial);
  return possible({client, daemon}, words, [](const Outcome& outcome) {
    const std::vector<int>& seen = outcome.registers[1];
    const bool taken = seen[0] != 0 && seen[0] % 2 == 0 && seen[3] == seen[0];
    return taken && seen[1] != seen[2];
  });
}

TEST(StoreBufferModel, WishIsTakenWholeOrNotAtAll) {
  EXPECT_FALSE(wish_can_be_torn(Order::release));
  EXPECT_TRUE(wish_can_be_torn(Order::relaxed));
}

// The model itself: it forbids and allows what is known of the two classic litmus tests.
TEST(StoreBufferModel, StoreBufferingIsAllowedUnlessSeqCst) {
  enum { x, y, words };
  const auto both_read_zero = [](Order order) {
    Program a, b;
    a.store(x, 1, order);
    a.load(0, y);
    b.store(y, 1, order);
    b.load(0, x);
    return possible({a, b}, words, [](const Outcome& outcome) {
      return outcome.registers[0][0] == 0 && outcome.registers[1][0] == 0;
    });
  };
  EXPECT_FALSE(both_read_zero(Order::seq_cst));
  EXPECT_TRUE(both_read_zero(Order::release));
  EXPECT_TRUE(both_read_zero(Order::relaxed));
}

TEST(StoreBufferModel, OwnStoresAreSeenBeforeTheyAreVisible) {
  enum { x, words };
  Program a;
  a.store(x, 5, Order::relaxed);
  a.add(x, 2, Order::relaxed, 1);
  a.load(0, x);
  EXPECT_FALSE(possible({a}, words, [](const Outcome& outcome) {
    return outcome.registers[0][0] != 7 || outcome.registers[0][1] != 5 || outcome.words[x] != 7;
  }));
}

}  // namespace
}  // namespace tentq::shm::model
