// The faults that FaultTransport injects, scripted and seeded.
#include "transports/fault/fault_transport.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <vector>

#include "tests/transports/rig.h"
#include "transports/fake/fake_transport.h"

namespace tentq::test {
namespace {

class FaultTransportTest : public testing::Test {
 protected:
  FaultTransport& with(FaultOptions options) {
    fault_ = std::make_unique<FaultTransport>(&inner_, std::move(options));
    return *fault_;
  }
  FaultTransport& scripted(std::vector<ChunkFault> script) {
    FaultOptions options;
    options.script = std::move(script);
    return with(options);
  }
  std::vector<Chunk> chunks(std::size_t count) {
    std::vector<Chunk> made;
    for (std::size_t i = 0; i < count; ++i) {
      made.push_back(rig_.chunk(Op::read, i * 64, i * 64, 64));
      fill_pattern(rig_.source_of(made.back()), made.back().id.ordinal);
    }
    return made;
  }
  std::vector<Completion> poll() {
    std::vector<Completion> completions(64);
    completions.resize(fault_->poll(completions));
    return completions;
  }

  FakeTransport inner_;
  Rig rig_{std::make_unique<FakeTransport>(), 65'536};
  std::unique_ptr<FaultTransport> fault_;
};

TEST_F(FaultTransportTest, SaturationStopsBeforeTheChunkAndChangesNothing) {
  auto& fault = scripted({ChunkFault::none, ChunkFault::saturated});
  const auto three = chunks(3);
  PostOutcome outcome = fault.post(three);
  EXPECT_EQ(outcome.accepted, 1u);
  EXPECT_EQ(outcome.refusal, PostRefusal::saturated);
  EXPECT_EQ(inner_.pending_chunks(), 1u);
  outcome = fault.post(std::span(three).subspan(1));
  EXPECT_EQ(outcome.accepted, 2u);
  EXPECT_EQ(outcome.refusal, PostRefusal::none);
  EXPECT_EQ(poll().size(), 3u);
  EXPECT_EQ(fault.faults(), 1u);
}

TEST_F(FaultTransportTest, RefusalIsTold) {
  auto& fault = scripted({ChunkFault::refused});
  const auto one = chunks(1);
  const PostOutcome outcome = fault.post(one);
  EXPECT_EQ(outcome.accepted, 0u);
  EXPECT_EQ(outcome.refusal, PostRefusal::failed);
}

TEST_F(FaultTransportTest, FailedChunksMoveNothingAndSayWhy) {
  auto& fault = scripted({ChunkFault::failed, ChunkFault::none, ChunkFault::memory_fault});
  const auto three = chunks(3);
  EXPECT_EQ(fault.post(three).accepted, 3u);
  EXPECT_FALSE(fault.arm_wakeup());
  std::array<int, 3> outcomes = {};
  for (const Completion& completion : poll()) {
    outcomes.at(completion.id.ordinal) = 1 + static_cast<int>(completion.outcome);
    EXPECT_EQ(completion.bytes, completion.outcome == ChunkOutcome::done ? 64u : 0u);
  }
  EXPECT_EQ(outcomes[0], 1 + static_cast<int>(ChunkOutcome::failed));
  EXPECT_EQ(outcomes[1], 1 + static_cast<int>(ChunkOutcome::done));
  EXPECT_EQ(outcomes[2], 1 + static_cast<int>(ChunkOutcome::memory_fault));
  EXPECT_FALSE(has_pattern(rig_.target_of(three[0]), 0));
  EXPECT_TRUE(has_pattern(rig_.target_of(three[1]), 1));
  EXPECT_FALSE(has_pattern(rig_.target_of(three[2]), 2));
}

TEST_F(FaultTransportTest, DelayedCompletionsComeAfterThatManyPolls) {
  FaultOptions options;
  options.script = {ChunkFault::delayed, ChunkFault::none};
  options.delay_polls = 3;
  auto& fault = with(options);
  const auto two = chunks(2);
  EXPECT_EQ(fault.post(two).accepted, 2u);
  ASSERT_EQ(poll().size(), 1u);
  EXPECT_FALSE(fault.arm_wakeup()) << "a held completion needs polls";
  EXPECT_TRUE(poll().empty());
  EXPECT_TRUE(poll().empty());
  const auto late = poll();
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].id, two[0].id);
  EXPECT_TRUE(fault.arm_wakeup());
}

TEST_F(FaultTransportTest, AChunkRefusedByTheInnerTransportIsNotHeldLater) {
  FakeTransport small(FakeOptions{1, 0});
  FaultOptions options;
  options.script = {ChunkFault::none, ChunkFault::delayed};
  FaultTransport fault(&small, options);
  const auto two = chunks(2);
  EXPECT_EQ(fault.post(two).accepted, 1u);
  std::vector<Completion> completions(4);
  EXPECT_EQ(fault.poll(completions), 1u);
  EXPECT_EQ(fault.post(std::span(two).last(1)).accepted, 1u);
  EXPECT_EQ(fault.poll(completions), 1u);
}

std::vector<std::uint32_t> completion_order(std::uint64_t seed) {
  Rig rig(std::make_unique<FakeTransport>(), 65'536);
  FakeTransport inner;
  FaultOptions options;
  options.delayed = 300;
  options.saturated = 100;
  options.failed = 50;
  options.reorder = true;
  options.seed = seed;
  FaultTransport fault(&inner, options);
  std::vector<Chunk> chunks;
  for (int i = 0; i < 100; ++i) chunks.push_back(rig.chunk(Op::read, 0, 0, 64));
  std::vector<std::uint32_t> order;
  std::vector<Completion> completions(8);
  for (std::size_t at = 0; order.size() < chunks.size();) {
    at += fault.post(std::span(chunks).subspan(at)).accepted;
    const std::size_t count = fault.poll(completions);
    for (std::size_t i = 0; i < count; ++i) order.push_back(completions[i].id.ordinal);
  }
  return order;
}

TEST(FaultTransport, SameSeedSameFaults) {
  EXPECT_EQ(completion_order(5), completion_order(5));
  EXPECT_NE(completion_order(5), completion_order(6));
}

TEST(FaultTransport, RefusesContradictoryOptions) {
  FakeTransport inner;
  FaultOptions options;
  options.saturated = 1024;
  EXPECT_NO_THROW(FaultTransport(&inner, options));
  options.failed = 1;
  EXPECT_THROW(FaultTransport(&inner, options), std::invalid_argument);
  options = {};
  options.delay_polls = 0;
  EXPECT_THROW(FaultTransport(&inner, options), std::invalid_argument);
}

}  // namespace
}  // namespace tentq::test
