// The contract of transports/transport.h as tests; every implementation runs them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "tests/transports/factories.h"
#include "tests/transports/rig.h"

namespace tentq::test {
namespace {

constexpr std::uint64_t kKiB = 1u << 10;
constexpr std::uint64_t kMiB = 1u << 20;

class Conformance : public testing::TestWithParam<Factory> {
 protected:
  std::unique_ptr<Transport> make(std::uint32_t capacity = 4096) {
    return GetParam().make(capacity);
  }
};

std::string name_of(const testing::TestParamInfo<Factory>& tested) {
  return tested.param.name;
}

INSTANTIATE_TEST_SUITE_P(Transports, Conformance, testing::ValuesIn(all_factories()), name_of);

// One chunk at a time, with canaries on both sides of the target.
void move_and_compare(Rig& rig, Op op, std::uint64_t local, std::uint64_t remote,
                      std::uint64_t length, bool resident) {
  constexpr std::uint64_t kCanary = 128;
  const Chunk chunk = rig.chunk(op, local, remote, length, resident);
  const auto source = rig.source_of(chunk);
  const auto target = rig.target_of(chunk);
  fill_pattern(source, chunk.id.ordinal);
  const std::span around(target.data() - kCanary, length + 2 * kCanary);
  std::fill(around.begin(), around.end(), std::byte{0x5a});
  rig.post_all({&chunk, 1});
  ASSERT_TRUE(rig.run_until(rig.seen() + 1));
  rig.expect_all_done({&chunk, 1});
  ASSERT_TRUE(has_pattern(target, chunk.id.ordinal));
  ASSERT_TRUE(has_pattern(source, chunk.id.ordinal)) << "the source was written";
  const auto untouched = [](std::byte byte) { return byte == std::byte{0x5a}; };
  ASSERT_TRUE(std::all_of(around.begin(), around.begin() + kCanary, untouched));
  ASSERT_TRUE(std::all_of(around.end() - kCanary, around.end(), untouched));
}

TEST_P(Conformance, BytesAreExactInBothDirectionsAtEverySizeAndOffset) {
  Rig rig(make(), 3 * kMiB);
  const std::uint64_t lengths[] = {1,     2,     3,     31,      63,       64,         65,    127,
                                   255,   256,   257,   4095,    4096,     4097,       16384, 16385,
                                   65535, 65536, 65537, 300'001, kMiB - 1, kMiB + 4097};
  for (const std::uint64_t length : lengths) {
    for (const std::uint64_t offset : {0u, 1u, 15u, 63u, 64u, 4095u}) {
      for (const Op op : {Op::read, Op::write}) {
        for (const bool resident : {false, true}) {
          ASSERT_NO_FATAL_FAILURE(
              move_and_compare(rig, op, 4096 + offset, 4096 + offset * 7 % 64, length, resident))
              << length << " bytes at " << offset << (op == Op::read ? " read" : " write");
        }
      }
    }
  }
}

TEST_P(Conformance, CopiesInsideOneRegion) {
  Rig rig(make(), kMiB);
  Chunk chunk = rig.chunk(Op::read, 0, 0, 100'000);
  chunk.remote = {RegionIndex(0), 500'003, rig.local.data() + 500'003, false};
  fill_pattern(rig.source_of(chunk), 5);
  rig.post_all({&chunk, 1});
  ASSERT_TRUE(rig.run_until(1));
  rig.expect_all_done({&chunk, 1});
  EXPECT_TRUE(has_pattern(rig.target_of(chunk), 5));
}

TEST_P(Conformance, EveryAcceptedChunkCompletesExactlyOnce) {
  Rig rig(make(), 4 * kMiB);
  std::mt19937 random(7);
  std::vector<Chunk> chunks;
  for (std::uint64_t at = 0; at + 40'000 < 4 * kMiB; at += 40'000) {
    chunks.push_back(rig.chunk(random() % 2 ? Op::read : Op::write, at, at, 1 + random() % 40'000,
                               random() % 2 == 0));
    fill_pattern(rig.source_of(chunks.back()), chunks.back().id.ordinal);
  }
  for (std::size_t at = 0; at < chunks.size();) {
    const std::size_t count = std::min<std::size_t>(1 + random() % 9, chunks.size() - at);
    rig.post_all(std::span(chunks).subspan(at, count));
    at += count;
  }
  ASSERT_TRUE(rig.run_until(chunks.size()));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(rig.poll_once(), 0u);
  rig.expect_all_done(chunks);
  for (const Chunk& chunk : chunks) {
    EXPECT_TRUE(has_pattern(rig.target_of(chunk), chunk.id.ordinal));
  }
}

TEST_P(Conformance, PartialAcceptanceKeepsOrderAndLosesNothing) {
  constexpr std::uint32_t kCapacity = 4;
  Rig rig(make(kCapacity), kMiB);
  std::vector<Chunk> chunks;
  for (std::uint64_t i = 0; i < 24; ++i) {
    chunks.push_back(rig.chunk(Op::write, i * 8192, i * 8192, 8192, i % 3 == 0));
    fill_pattern(rig.source_of(chunks.back()), chunks.back().id.ordinal);
  }
  std::size_t at = 0;
  while (at < chunks.size()) {
    const PostOutcome outcome = rig.transport().post(std::span(chunks).subspan(at));
    ASSERT_LE(outcome.accepted, kCapacity);
    const bool all = at + outcome.accepted == chunks.size();
    ASSERT_EQ(outcome.refusal, all ? PostRefusal::none : PostRefusal::saturated);
    at += outcome.accepted;
    ASSERT_TRUE(rig.run_until(at));
    // What was not accepted has neither moved nor completed.
    for (std::size_t i = at; i < chunks.size(); ++i) {
      ASSERT_EQ(rig.times_seen(chunks[i].id), 0);
      ASSERT_EQ(rig.target_of(chunks[i])[0], std::byte{0});
    }
  }
  rig.expect_all_done(chunks);
  for (const Chunk& chunk : chunks) {
    EXPECT_TRUE(has_pattern(rig.target_of(chunk), chunk.id.ordinal));
  }
}

TEST_P(Conformance, PostingNothingIsHarmless) {
  Rig rig(make(), 4096);
  const PostOutcome outcome = rig.transport().post({});
  EXPECT_EQ(outcome.accepted, 0u);
  EXPECT_EQ(outcome.refusal, PostRefusal::none);
  EXPECT_EQ(rig.transport().poll({}), 0u);
  EXPECT_EQ(rig.poll_once(), 0u);
}

TEST_P(Conformance, PollingIntoNothingKeepsTheCompletions) {
  Rig rig(make(), 65'536);
  const Chunk chunk = rig.chunk(Op::read, 0, 0, 50);
  rig.post_all({&chunk, 1});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(rig.transport().poll({}), 0u);
  ASSERT_TRUE(rig.run_until(1));
  rig.expect_all_done({&chunk, 1});
}

TEST_P(Conformance, CancelIsIdempotentAndAlwaysFollowedByACompletion) {
  Rig rig(make(), 16 * kMiB);
  std::vector<Chunk> chunks;
  for (std::uint64_t i = 0; i < 64; ++i) {
    chunks.push_back(rig.chunk(Op::read, i * 256 * kKiB, i * 256 * kKiB, 256 * kKiB, false));
    fill_pattern(rig.source_of(chunks.back()), chunks.back().id.ordinal);
  }
  rig.post_all(chunks);
  for (std::size_t i = chunks.size(); i-- > 0;) {
    if (i % 2 == 1) rig.transport().cancel(chunks[i].id);
    if (i % 4 == 1) rig.transport().cancel(chunks[i].id);
  }
  ASSERT_TRUE(rig.run_until(chunks.size()));
  for (const Chunk& chunk : chunks) {
    ASSERT_EQ(rig.times_seen(chunk.id), 1);
    const Completion completion = rig.completion_of(chunk.id);
    const bool canceled = completion.outcome == ChunkOutcome::canceled;
    ASSERT_FALSE(canceled && chunk.id.ordinal % 2 == 0) << "nobody asked for it";
    if (canceled) {
      EXPECT_LT(completion.bytes, chunk.length);
    } else {
      EXPECT_EQ(completion.outcome, ChunkOutcome::done);
      EXPECT_EQ(completion.bytes, chunk.length);
      EXPECT_TRUE(has_pattern(rig.target_of(chunk), chunk.id.ordinal));
    }
  }
}

TEST_P(Conformance, CancelOfAnUnknownOrFinishedChunkIsIgnored) {
  Rig rig(make(), 65'536);
  Chunk chunk = rig.chunk(Op::read, 0, 0, 5000);
  rig.transport().cancel(chunk.id);
  rig.transport().cancel(ChunkId{});
  rig.post_all({&chunk, 1});
  ASSERT_TRUE(rig.run_until(1));
  rig.expect_all_done({&chunk, 1});
  rig.transport().cancel(chunk.id);
  EXPECT_EQ(rig.poll_once(), 0u);
  // Another attempt of the same owner is another chunk: the old id does not stop it.
  Chunk again = chunk;
  again.id.attempt = 2;
  rig.post_all({&again, 1});
  rig.transport().cancel(chunk.id);
  ASSERT_TRUE(rig.run_until(2));
  rig.expect_all_done({&again, 1});
}

TEST_P(Conformance, AnIdCanBeUsedAgainAfterItsCompletion) {
  Rig rig(make(2), 65'536);
  const Chunk chunk = rig.chunk(Op::write, 0, 0, 3000);
  for (int i = 1; i <= 50; ++i) {
    fill_pattern(rig.source_of(chunk), static_cast<std::uint64_t>(i));
    rig.post_all({&chunk, 1});
    if (i % 5 == 0) rig.transport().cancel(chunk.id);
    ASSERT_TRUE(rig.run_until(static_cast<std::size_t>(i)));
    if (rig.completion_of(chunk.id).outcome == ChunkOutcome::done) {
      ASSERT_TRUE(has_pattern(rig.target_of(chunk), static_cast<std::uint64_t>(i)));
    }
  }
}

TEST_P(Conformance, NothingTouchesMemoryAfterItsCompletion) {
  constexpr std::uint64_t kBlock = 96 * kKiB;
  constexpr std::uint64_t kBlocks = 40;
  Rig rig(make(), kBlock * kBlocks);
  std::vector<Chunk> chunks;
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    chunks.push_back(rig.chunk(i % 2 ? Op::read : Op::write, i * kBlock, i * kBlock, kBlock));
  }
  rig.post_all(chunks);
  for (std::size_t i = 0; i < chunks.size(); i += 3) rig.transport().cancel(chunks[i].id);
  std::vector<bool> marked(chunks.size());
  while (rig.seen() < chunks.size()) {
    if (rig.poll_once() == 0 && rig.transport().arm_wakeup()) {
      ASSERT_TRUE(becomes_readable(rig.transport().wakeup_fd()));
    }
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      if (marked[i] || rig.times_seen(chunks[i].id) == 0) continue;
      fill_pattern(rig.local.at(i * kBlock, kBlock), 1000 + i);
      fill_pattern(rig.remote.at(i * kBlock, kBlock), 2000 + i);
      marked[i] = true;
    }
  }
  rig.destroy_transport();
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    EXPECT_TRUE(has_pattern(rig.local.at(i * kBlock, kBlock), 1000 + i));
    EXPECT_TRUE(has_pattern(rig.remote.at(i * kBlock, kBlock), 2000 + i));
  }
}

TEST_P(Conformance, DestructionWithWorkInFlightIsClean) {
  constexpr std::uint64_t kBlock = 256 * kKiB;
  for (int round = 0; round < 6; ++round) {
    Rig rig(make(), 8 * kBlock);
    std::vector<Chunk> chunks;
    for (std::uint64_t i = 0; i < 8; ++i) {
      chunks.push_back(rig.chunk(Op::write, i * kBlock, i * kBlock, kBlock));
    }
    rig.post_all(chunks);
    if (round % 2 == 0) rig.poll_once();
    if (round % 3 == 0) rig.transport().cancel(chunks[7].id);
    rig.destroy_transport();
    fill_pattern(rig.remote.at(0, 8 * kBlock), 77);
    EXPECT_TRUE(has_pattern(rig.remote.at(0, 8 * kBlock), 77));
  }
}

}  // namespace
}  // namespace tentq::test
