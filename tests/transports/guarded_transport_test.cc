// The shared-memory transport over memory that its owner takes away.
#include <gtest/gtest.h>

#include <vector>

#include "tests/transports/rig.h"
#include "tests/transports/vanishing_memory.h"
#include "transports/shm/guarded_copy.h"
#include "transports/shm/shm_transport.h"

namespace tentq::test {
namespace {

constexpr std::uint64_t kBlock = 64u << 10;

class GuardedTransport : public testing::Test {
 protected:
  static void SetUpTestSuite() { install_sigbus_guard(); }

  // A chunk whose local side is the memory that vanishes.
  Chunk exposed(Op op, std::uint64_t offset, std::uint64_t length, bool resident) {
    Chunk chunk = rig_.chunk(op, 0, offset, length, resident);
    chunk.local = {RegionIndex(7), offset, memory_.data() + offset, resident};
    return chunk;
  }

  VanishingMemory memory_{16 * kBlock};
  Rig rig_{std::make_unique<ShmTransport>(ShmOptions{.workers = 2}), 16 * kBlock};
};

TEST_F(GuardedTransport, AVanishedRangeFailsItsChunksAndNoOther) {
  memory_.shrink_to(8 * kBlock);
  std::vector<Chunk> chunks;
  for (std::uint64_t i = 0; i < 16; ++i) {
    for (const Op op : {Op::read, Op::write}) {
      chunks.push_back(exposed(op, i * kBlock, kBlock, false));
      chunks.push_back(exposed(op, i * kBlock, 4096, true));
      chunks.push_back(rig_.chunk(op, i * kBlock, i * kBlock, 4096, true));
    }
  }
  rig_.post_all(chunks);
  ASSERT_TRUE(rig_.run_until(chunks.size()));
  for (const Chunk& chunk : chunks) {
    ASSERT_EQ(rig_.times_seen(chunk.id), 1);
    const Completion completion = rig_.completion_of(chunk.id);
    const bool gone = chunk.local.region == RegionIndex(7) && chunk.local.offset >= 8 * kBlock;
    EXPECT_EQ(completion.outcome, gone ? ChunkOutcome::memory_fault : ChunkOutcome::done);
    EXPECT_EQ(completion.bytes, gone ? 0 : chunk.length);
  }
}

TEST_F(GuardedTransport, APartThatVanishedFailsTheWholeChunkAndSaysHowFarItCame) {
  ShmOptions options;
  options.piece_bytes = kBlock;
  Rig rig(std::make_unique<ShmTransport>(options), 4096);
  memory_.shrink_to(3 * kBlock + 4096);
  const Chunk chunk = exposed(Op::read, 0, 8 * kBlock, false);
  rig.post_all({&chunk, 1});
  ASSERT_TRUE(rig.run_until(1));
  EXPECT_EQ(rig.completion_of(chunk.id).outcome, ChunkOutcome::memory_fault);
  EXPECT_EQ(rig.completion_of(chunk.id).bytes, 3 * kBlock);
}

TEST_F(GuardedTransport, MemoryThatComesBackWorksAgain) {
  memory_.shrink_to(0);
  const Chunk lost = exposed(Op::write, 0, kBlock, false);
  rig_.post_all({&lost, 1});
  ASSERT_TRUE(rig_.run_until(1));
  EXPECT_EQ(rig_.completion_of(lost.id).outcome, ChunkOutcome::memory_fault);
  memory_.grow_to(16 * kBlock);
  const Chunk back = exposed(Op::write, 0, kBlock, false);
  rig_.post_all({&back, 1});
  ASSERT_TRUE(rig_.run_until(2));
  rig_.expect_all_done({&back, 1});
}

}  // namespace
}  // namespace tentq::test
