// The four calls of the sleep handshakes, one at a time: when they make a system call and when not,
// and that nothing a hostile client does to its side blocks the daemon's.
#include "shm/handshake.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <limits>

namespace tentq::shm {
namespace {

using std::chrono::milliseconds;

bool readable(int fd) {
  pollfd wanted{fd, POLLIN, 0};
  return ::poll(&wanted, 1, 0) == 1;
}

void make_blocking(int fd) {
  ASSERT_EQ(::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK), 0);
}

class Doorbell : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(create_doorbell(&bell_), 0);
    ringer_ = DoorbellRinger(&published_, &need_wakeup_, bell_.get());
  }
  Fd bell_;
  std::atomic<std::uint64_t> published_{0};
  std::atomic<std::uint32_t> need_wakeup_{0};
  DoorbellRinger ringer_;
  DoorbellSleeper sleeper_{&published_, &need_wakeup_};
};

TEST_F(Doorbell, AwakeDaemonIsNotRung) {
  EXPECT_FALSE(ringer_.published());
  EXPECT_FALSE(readable(bell_.get()));
  EXPECT_TRUE(sleeper_.changed());
  EXPECT_FALSE(sleeper_.changed());
}

TEST_F(Doorbell, ParkedSessionIsRung) {
  ASSERT_TRUE(sleeper_.park());
  EXPECT_TRUE(sleeper_.parked());
  EXPECT_TRUE(ringer_.published());
  EXPECT_TRUE(readable(bell_.get()));
  EXPECT_TRUE(drain_doorbell(bell_.get()));
  EXPECT_FALSE(drain_doorbell(bell_.get()));
  sleeper_.unpark();
  EXPECT_FALSE(sleeper_.parked());
  EXPECT_TRUE(sleeper_.changed());
  EXPECT_FALSE(ringer_.published());
}

TEST_F(Doorbell, SessionWithUnseenWorkDoesNotPark) {
  ringer_.published();
  EXPECT_FALSE(sleeper_.park());
  EXPECT_FALSE(sleeper_.parked());
  EXPECT_EQ(need_wakeup_, 0u);
  EXPECT_TRUE(sleeper_.changed());
  EXPECT_TRUE(sleeper_.park());
}

TEST_F(Doorbell, PublishedWordThatRunsBackwardsCountsAsChange) {
  ringer_.published();
  EXPECT_TRUE(sleeper_.changed());
  published_ = 0;  // a hostile client: a needless look, nothing worse
  EXPECT_TRUE(sleeper_.changed());
  EXPECT_FALSE(sleeper_.changed());
}

TEST_F(Doorbell, ClientThatMakesTheDoorbellBlockingCannotStopTheDaemon) {
  make_blocking(bell_.get());
  EXPECT_FALSE(drain_doorbell(bell_.get()));  // plain read() would wait for ever
  const std::uint64_t full = std::numeric_limits<std::uint64_t>::max() - 1;
  ASSERT_EQ(::write(bell_.get(), &full, sizeof full), static_cast<ssize_t>(sizeof full));
  EXPECT_TRUE(drain_doorbell(bell_.get()));
}

class Completion : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(create_completion_pair(&daemon_end_, &client_end_), 0);
    notifier_ = CompletionNotifier(&word_, &waiters_, &armed_, daemon_end_.get());
  }
  Fd daemon_end_, client_end_;
  std::atomic<std::uint32_t> word_{0}, waiters_{0}, armed_{0};
  CompletionWaiter waiter_{&word_, &waiters_, &armed_};
  CompletionNotifier notifier_;
};

TEST_F(Completion, NobodyWaitsAndNoSystemCallIsMade) {
  const std::uint32_t ticket = waiter_.ticket();
  EXPECT_FALSE(notifier_.notify());
  EXPECT_NE(waiter_.ticket(), ticket);
}

TEST_F(Completion, WaitForAChangeThatHappenedReturnsAtOnce) {
  const std::uint32_t ticket = waiter_.ticket();
  notifier_.notify();
  EXPECT_TRUE(waiter_.wait(ticket, std::chrono::hours(1)));
  EXPECT_EQ(waiters_, 0u);
}

TEST_F(Completion, WaitEndsAfterItsSlice) {
  EXPECT_FALSE(waiter_.wait(waiter_.ticket(), milliseconds(1)));
  EXPECT_FALSE(waiter_.wait(waiter_.ticket(), milliseconds(0)));
  EXPECT_FALSE(waiter_.wait(waiter_.ticket(), milliseconds(-5)));
  EXPECT_EQ(waiters_, 0u);
}

TEST_F(Completion, ArmedFdIsWrittenOnceAtTheNextChange) {
  ASSERT_TRUE(waiter_.arm_fd(waiter_.ticket()));
  EXPECT_FALSE(readable(client_end_.get()));
  EXPECT_TRUE(notifier_.notify());
  EXPECT_TRUE(readable(client_end_.get()));
  drain_completion_fd(client_end_.get());
  EXPECT_FALSE(readable(client_end_.get()));
  EXPECT_FALSE(notifier_.notify());  // not armed again
  EXPECT_FALSE(readable(client_end_.get()));
}

TEST_F(Completion, ArmingAfterTheChangeSaysLookAgain) {
  const std::uint32_t ticket = waiter_.ticket();
  notifier_.notify();
  EXPECT_FALSE(waiter_.arm_fd(ticket));
}

TEST_F(Completion, GarbageInTheClientsWordsCostsOneSystemCallATurn) {
  waiters_ = 0xdeadbeef;
  armed_ = 0xdeadbeef;
  EXPECT_TRUE(notifier_.notify());
  EXPECT_EQ(armed_, 0u);
  EXPECT_TRUE(notifier_.notify());
  EXPECT_EQ(word_, 2u);
}

TEST_F(Completion, ClientThatNeverReadsItsFdCannotStopTheDaemon) {
  make_blocking(client_end_.get());
  for (int i = 0; i < 10'000; ++i) {
    armed_ = 1;
    notifier_.notify();
  }
  EXPECT_TRUE(readable(client_end_.get()));
  EXPECT_EQ(word_, 10'000u);
}

TEST_F(Completion, ClientThatClosedItsFdCausesNoSignal) {
  client_end_.reset();
  armed_ = 1;
  EXPECT_TRUE(notifier_.notify());
}

TEST_F(Completion, FdsAreCloseOnExec) {
  EXPECT_EQ(::fcntl(daemon_end_.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::fcntl(client_end_.get(), F_GETFD), FD_CLOEXEC);
  Fd bell;
  ASSERT_EQ(create_doorbell(&bell), 0);
  EXPECT_EQ(::fcntl(bell.get(), F_GETFD), FD_CLOEXEC);
}

}  // namespace
}  // namespace tentq::shm
