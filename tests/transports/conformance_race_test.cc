// The sleep handshake of transports/transport.h, raced: the conductor goes to sleep at every moment
// around a completion and must never sleep over it.
#include <gtest/gtest.h>

#include <vector>

#include "tests/transports/factories.h"
#include "tests/transports/rig.h"

namespace tentq::test {
namespace {

class SleepConformance : public testing::TestWithParam<Factory> {};

std::string name_of(const testing::TestParamInfo<Factory>& tested) {
  return tested.param.name;
}

INSTANTIATE_TEST_SUITE_P(Transports, SleepConformance, testing::ValuesIn(all_factories()), name_of);

void dawdle(std::uint32_t round) {
  for (std::uint32_t i = round * 2'654'435'761u >> 22; i != 0; --i) asm volatile("");
}

TEST_P(SleepConformance, ArmedSleeperIsAlwaysWoken) {
  Rig rig(GetParam().make(64), 1u << 20);
  for (std::uint32_t round = 0; round < 2000; ++round) {
    std::vector<Chunk> chunks;
    for (std::uint64_t i = 0; i <= round % 3; ++i) {
      chunks.push_back(rig.chunk(Op::write, i * 65'536, i * 65'536, 64 + round % 4096));
    }
    const std::size_t before = rig.seen();
    rig.post_all(chunks);
    dawdle(round);
    ASSERT_TRUE(rig.run_until(before + chunks.size()));
  }
}

TEST_P(SleepConformance, CompletionOfAChunkPostedWhileArmedWakes) {
  Rig rig(GetParam().make(64), 1u << 20);
  for (std::size_t round = 1; round <= 100; ++round) {
    ASSERT_TRUE(rig.transport().arm_wakeup());
    const Chunk chunk = rig.chunk(Op::read, 0, 0, 128, round % 2 == 0);
    while (rig.transport().post({&chunk, 1}).accepted == 0) {
    }
    ASSERT_TRUE(becomes_readable(rig.transport().wakeup_fd()));
    ASSERT_TRUE(rig.run_until(round));
    EXPECT_FALSE(is_readable(rig.transport().wakeup_fd())) << "poll() left the fd readable";
  }
}

TEST_P(SleepConformance, NobodySleepsOverACompletionThatIsThere) {
  Rig rig(GetParam().make(64), 1u << 20);
  const int fd = rig.transport().wakeup_fd();
  for (std::size_t round = 1; round <= 50; ++round) {
    const Chunk chunk = rig.chunk(Op::write, 0, 0, 128, round % 2 == 0);
    while (rig.transport().post({&chunk, 1}).accepted == 0) {
    }
    // Either it says so at once, or the fd does; then the completion is there and not polled yet.
    ASSERT_TRUE(!rig.transport().arm_wakeup() || becomes_readable(fd));
    EXPECT_FALSE(rig.transport().arm_wakeup());
    EXPECT_FALSE(rig.transport().arm_wakeup());
    ASSERT_TRUE(rig.run_until(round));
  }
}

TEST_P(SleepConformance, AnIdleTransportLetsTheConductorSleep) {
  Rig rig(GetParam().make(64), 4096);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(rig.transport().arm_wakeup());
    EXPECT_FALSE(is_readable(rig.transport().wakeup_fd()));
    EXPECT_EQ(rig.poll_once(), 0u);
  }
  const int fd = rig.transport().wakeup_fd();
  const Chunk chunk = rig.chunk(Op::read, 0, 0, 100);
  rig.post_all({&chunk, 1});
  ASSERT_TRUE(rig.run_until(1));
  EXPECT_EQ(rig.transport().wakeup_fd(), fd);
  EXPECT_TRUE(rig.transport().arm_wakeup());
}

}  // namespace
}  // namespace tentq::test
