// The knobs of FakeTransport.
#include "transports/fake/fake_transport.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/transports/rig.h"

namespace tentq::test {
namespace {

TEST(FakeTransport, MovesNothingBeforeItIsPolled) {
  Rig rig(std::make_unique<FakeTransport>(), 4096);
  const Chunk chunk = rig.chunk(Op::read, 0, 0, 100);
  fill_pattern(rig.source_of(chunk), 1);
  rig.post_all({&chunk, 1});
  EXPECT_FALSE(has_pattern(rig.target_of(chunk), 1));
  EXPECT_FALSE(rig.transport().arm_wakeup());
  EXPECT_EQ(rig.poll_once(), 1u);
  EXPECT_TRUE(has_pattern(rig.target_of(chunk), 1));
}

TEST(FakeTransport, CompletesInTheOrderOfPostingAndAsFastAsItIsTold) {
  FakeTransport transport(FakeOptions{0, 2});
  Rig rig(std::make_unique<FakeTransport>(), 4096);
  std::vector<Chunk> chunks;
  for (int i = 0; i < 5; ++i) chunks.push_back(rig.chunk(Op::read, 0, 0, 10));
  EXPECT_EQ(transport.post(chunks).accepted, 5u);
  EXPECT_EQ(transport.pending_chunks(), 5u);
  std::vector<Completion> completions(5);
  EXPECT_EQ(transport.poll(completions), 2u);
  EXPECT_EQ(completions[0].id, chunks[0].id);
  EXPECT_EQ(completions[1].id, chunks[1].id);
  EXPECT_EQ(transport.poll(std::span(completions).first(1)), 1u);
  EXPECT_EQ(completions[0].id, chunks[2].id);
}

TEST(FakeTransport, RefusesExactlyWhatIsOverItsCapacity) {
  Rig rig(std::make_unique<FakeTransport>(FakeOptions{3, 0}), 4096);
  std::vector<Chunk> chunks;
  for (int i = 0; i < 4; ++i) chunks.push_back(rig.chunk(Op::read, 0, 0, 10));
  const PostOutcome outcome = rig.transport().post(chunks);
  EXPECT_EQ(outcome.accepted, 3u);
  EXPECT_EQ(outcome.refusal, PostRefusal::saturated);
  EXPECT_EQ(rig.transport().post(std::span(chunks).last(1)).accepted, 0u);
  EXPECT_EQ(rig.poll_once(), 3u);
  EXPECT_EQ(rig.transport().post(std::span(chunks).last(1)).accepted, 1u);
}

TEST(FakeTransport, AChunkWithoutMemoryOfThisProcessFaults) {
  Rig rig(std::make_unique<FakeTransport>(), 4096);
  Chunk chunk = rig.chunk(Op::write, 0, 0, 10);
  chunk.remote.mapped = nullptr;
  rig.post_all({&chunk, 1});
  EXPECT_EQ(rig.poll_once(), 1u);
  EXPECT_EQ(rig.completion_of(chunk.id).outcome, ChunkOutcome::memory_fault);
  EXPECT_EQ(rig.completion_of(chunk.id).bytes, 0u);
}

}  // namespace
}  // namespace tentq::test
