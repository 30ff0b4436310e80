// Roles: how they end, what passes between them, and that nothing of them is left.
#include "tests/support/role.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <stdexcept>

namespace tentq::test {
namespace {

constexpr std::chrono::seconds kLimit{60};

TEST(Role, EndsWithWhatItsBodyReturns) {
  Role role("seven", kLimit, [](RoleChannel&) { return 7; });
  EXPECT_EQ(role.join(kLimit), 7);
  EXPECT_EQ(role.join(kLimit), 0);  // already joined
}

TEST(Role, EndsWithOneAfterAnException) {
  Role role("thrower", kLimit, [](RoleChannel&) -> int { throw std::runtime_error("expected"); });
  EXPECT_EQ(role.join(kLimit), 1);
}

TEST(Role, IsKilledWhenItIsLate) {
  Role role("sleeper", kLimit, [](RoleChannel& channel) {
    channel.receive<int>(kLimit);
    return 0;
  });
  EXPECT_EQ(role.join(std::chrono::milliseconds{0}), -SIGKILL);
}

TEST(Role, EndsAtItsOwnTimeLimit) {
  Role role("limited", std::chrono::seconds{1}, [](RoleChannel& channel) {
    channel.receive<int>(kLimit);
    return 0;
  });
  EXPECT_EQ(role.join(kLimit), -SIGALRM);
}

TEST(Role, AnswersMessagesAndSeesTheEndOfItsParentsChannel) {
  const SharedArray<std::atomic<int>> ended(1);
  Role role("echo", kLimit, [&](RoleChannel& channel) {
    while (const auto number = channel.receive<int>(kLimit)) channel.send(*number + 1);
    ended[0] = 1;
    return 3;
  });
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(role.channel().send(i));
    ASSERT_EQ(role.channel().receive<int>(kLimit), i + 1);
  }
  role.channel() = RoleChannel(shm::Fd());
  EXPECT_EQ(role.join(kLimit), 3);
  EXPECT_EQ(ended[0], 1);
}

TEST(Role, AMessageOfAnotherSizeIsNoMessage) {
  Role role("small", kLimit, [](RoleChannel& channel) { return channel.send('x') ? 0 : 1; });
  EXPECT_FALSE(role.channel().receive<int>(kLimit));
  EXPECT_EQ(role.join(kLimit), 0);
}

TEST(Role, IsGoneWithItsObject) {
  pid_t pid = 0;
  {
    Role role("gone", kLimit, [](RoleChannel& channel) {
      channel.receive<int>(kLimit);
      return 0;
    });
    pid = role.pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

}  // namespace
}  // namespace tentq::test
