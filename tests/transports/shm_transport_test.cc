// What the shared-memory transport promises beyond the conformance suite: what is copied where, a
// stuck copy delays nobody else, prompt cancels, its threads.
#include "transports/shm/shm_transport.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/transports/fault_gate.h"
#include "tests/transports/rig.h"

namespace tentq::test {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kMiB = 1u << 20;

ShmOptions with_workers(std::uint32_t workers) {
  ShmOptions options;
  options.workers = workers;
  options.piece_bytes = 4 * kPage;
  return options;
}

// A transport and memory that stops whoever copies into it.
class GatedShm : public testing::Test {
 protected:
  void SetUp() override {
    if (!(gate = FaultGate::make(16))) GTEST_SKIP() << "this process may not use userfaultfd";
  }
  void start(const ShmOptions& options) {
    rig = std::make_unique<Rig>(std::make_unique<ShmTransport>(options), 4 * kMiB);
  }
  // A chunk that stops its copying thread at the first page of the gate.
  Chunk stuck() {
    Chunk chunk = rig->chunk(Op::read, 0, 0, 16 * kPage);
    chunk.local = {RegionIndex(9), 0, gate->data(), false};
    return chunk;
  }
  void TearDown() override {
    if (gate) gate->open_all();
    rig.reset();
  }

  std::unique_ptr<FaultGate> gate;
  std::unique_ptr<Rig> rig;
};

TEST_F(GatedShm, AStuckCopyDelaysNoOtherChunk) {
  start(with_workers(2));
  const Chunk blocked = stuck();
  rig->post_all({&blocked, 1});
  ASSERT_TRUE(gate->wait_for_visitor());
  std::vector<Chunk> others;
  for (std::uint64_t i = 0; i < 60; ++i) {
    others.push_back(rig->chunk(Op::write, i * 65'536, i * 65'536, 65'536));
  }
  rig->post_all(others);
  ASSERT_TRUE(rig->run_until(others.size()));
  rig->expect_all_done(others);
  EXPECT_EQ(rig->times_seen(blocked.id), 0);
  gate->open_all();
  ASSERT_TRUE(rig->run_until(others.size() + 1));
  rig->expect_all_done({&blocked, 1});
}

TEST_F(GatedShm, TheConductorCopiesAlongWhileTheOnlyWorkerIsBusy) {
  ShmOptions options = with_workers(1);
  options.inline_turn_bytes = 64u << 10;
  start(options);
  const Chunk blocked = stuck();
  rig->post_all({&blocked, 1});
  ASSERT_TRUE(gate->wait_for_visitor());
  const Chunk along = rig->chunk(Op::write, kMiB, kMiB, 256u << 10, true);
  rig->post_all({&along, 1});
  EXPECT_FALSE(rig->transport().arm_wakeup());
  Completion done;
  for (int piece = 1; piece < 4; ++piece) EXPECT_EQ(rig->transport().poll({&done, 1}), 0u);
  ASSERT_EQ(rig->transport().poll({&done, 1}), 1u);
  EXPECT_EQ(done.id, along.id);
  EXPECT_EQ(done.bytes, along.length);
  EXPECT_EQ(done.outcome, ChunkOutcome::done);
  EXPECT_TRUE(rig->transport().arm_wakeup());
  gate->open_all();
  ASSERT_TRUE(rig->run_until(1));
}

TEST_F(GatedShm, WhatIsCopiedAlongStopsAtItsNextPiece) {
  start(with_workers(1));
  const Chunk blocked = stuck();
  rig->post_all({&blocked, 1});
  ASSERT_TRUE(gate->wait_for_visitor());
  const Chunk along = rig->chunk(Op::write, kMiB, kMiB, 256u << 10, true);
  rig->post_all({&along, 1});
  Completion done;
  EXPECT_EQ(rig->transport().poll({&done, 1}), 0u);
  rig->transport().cancel(along.id);
  ASSERT_EQ(rig->transport().poll({&done, 1}), 1u);
  EXPECT_EQ(done.outcome, ChunkOutcome::canceled);
  EXPECT_EQ(done.bytes, 64u << 10);
  gate->open_all();
  ASSERT_TRUE(rig->run_until(1));
}

TEST_F(GatedShm, MemoryThatMayFaultIsNotCopiedAlong) {
  start(with_workers(1));
  const Chunk blocked = stuck();
  rig->post_all({&blocked, 1});
  ASSERT_TRUE(gate->wait_for_visitor());
  const Chunk other = rig->chunk(Op::write, kMiB, kMiB, 256u << 10, false);
  rig->post_all({&other, 1});
  EXPECT_TRUE(rig->transport().arm_wakeup());
  gate->open_all();
  ASSERT_TRUE(rig->run_until(2));
}

TEST_F(GatedShm, AQueuedChunkIsCanceledAtOnceThoughEveryWorkerIsStuck) {
  start(with_workers(1));
  const Chunk blocked = stuck();
  rig->post_all({&blocked, 1});
  ASSERT_TRUE(gate->wait_for_visitor());
  const Chunk waiting = rig->chunk(Op::read, 65'536, 65'536, 65'536);
  fill_pattern(rig->target_of(waiting), 4);
  rig->post_all({&waiting, 1});
  EXPECT_EQ(rig->poll_once(), 0u);
  rig->transport().cancel(waiting.id);
  rig->transport().cancel(waiting.id);
  EXPECT_EQ(rig->poll_once(), 1u);
  EXPECT_EQ(rig->completion_of(waiting.id).outcome, ChunkOutcome::canceled);
  EXPECT_EQ(rig->completion_of(waiting.id).bytes, 0u);
  gate->open_all();
  ASSERT_TRUE(rig->run_until(2));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(rig->poll_once(), 0u);
  EXPECT_TRUE(has_pattern(rig->target_of(waiting), 4)) << "a canceled chunk was copied";
}

TEST_F(GatedShm, ACopyUnderWayStopsAtTheNextPiece) {
  start(with_workers(1));
  const Chunk blocked = stuck();
  rig->post_all({&blocked, 1});
  // Through the first piece of four pages, into the second one.
  for (int page = 0; page <= 4; ++page) {
    ASSERT_TRUE(gate->wait_for_visitor());
    if (page < 4) gate->open_visited();
  }
  rig->transport().cancel(blocked.id);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(rig->poll_once(), 0u) << "ended under a running copy";
  gate->open_all();
  ASSERT_TRUE(rig->run_until(1));
  const Completion completion = rig->completion_of(blocked.id);
  EXPECT_EQ(completion.outcome, ChunkOutcome::canceled);
  EXPECT_EQ(completion.bytes, 8 * kPage);
}

TEST_F(GatedShm, SlotsOfCanceledChunksAreUsableWhileTheirTicketsAreStillQueued) {
  ShmOptions options = with_workers(1);
  options.queue_chunks = 4;
  start(options);
  const Chunk blocked = stuck();
  rig->post_all({&blocked, 1});
  ASSERT_TRUE(gate->wait_for_visitor());
  std::size_t accepted = 0;
  // Old tickets gather until the queue refuses; it never takes an old one for a new job.
  for (int i = 0; i < 40; ++i) {
    const Chunk chunk = rig->chunk(Op::read, kPage, kPage, 100);
    const PostOutcome outcome = rig->transport().post({&chunk, 1});
    if (outcome.accepted == 0) {
      EXPECT_EQ(outcome.refusal, PostRefusal::saturated);
      continue;
    }
    ++accepted;
    rig->transport().cancel(chunk.id);
    EXPECT_EQ(rig->poll_once(), 1u);
    EXPECT_EQ(rig->completion_of(chunk.id).outcome, ChunkOutcome::canceled);
  }
  EXPECT_GE(accepted, 4u);
  EXPECT_LT(accepted, 40u);
  gate->open_all();
  ASSERT_TRUE(rig->run_until(accepted + 1));
  std::vector<Chunk> more;
  for (std::uint64_t i = 0; i < 20; ++i) more.push_back(rig->chunk(Op::read, 0, 0, 5000));
  rig->post_all(more);
  ASSERT_TRUE(rig->run_until(accepted + 1 + more.size()));
  rig->expect_all_done(more);
}

TEST_F(GatedShm, OnlySmallResidentChunksWithinTheTurnsBudgetAreCopiedInline) {
  ShmOptions options = with_workers(1);
  options.inline_bytes = 16u << 10;
  options.inline_turn_bytes = 40u << 10;
  options.copies_along = false;
  start(options);
  const Chunk blocked = stuck();
  rig->post_all({&blocked, 1});
  ASSERT_TRUE(gate->wait_for_visitor());  // what is not copied inline now stays
  const std::vector<Chunk> chunks = {
      rig->chunk(Op::read, 0, 0, 16u << 10, true),
      rig->chunk(Op::read, 65'536, 65'536, (16u << 10) + 1, true),  // too long
      rig->chunk(Op::read, 131'072, 131'072, 64, false),            // not resident
      rig->chunk(Op::write, 196'608, 196'608, 16u << 10, true),
      rig->chunk(Op::write, 262'144, 262'144, (8u << 10) + 1, true),  // one byte over the budget
      rig->chunk(Op::write, 327'680, 327'680, 8u << 10, true),
      rig->chunk(Op::write, 393'216, 393'216, 1, true),  // the budget is spent
  };
  rig->post_all(chunks);
  while (rig->poll_once() > 0) {
  }
  const std::vector<int> now = {1, 0, 0, 1, 0, 1, 0};
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    EXPECT_EQ(rig->times_seen(chunks[i].id), now[i]) << "chunk " << i;
  }
  // A poll begins a new turn. One side alone being resident is not enough.
  Chunk half = rig->chunk(Op::read, 500'000, 500'000, 64, true);
  half.remote.resident = false;
  const Chunk whole = rig->chunk(Op::read, 600'000, 600'000, 64, true);
  rig->post_all({&half, 1});
  rig->post_all({&whole, 1});
  rig->poll_once();
  EXPECT_EQ(rig->times_seen(half.id), 0);
  EXPECT_EQ(rig->times_seen(whole.id), 1);
  gate->open_all();
  ASSERT_TRUE(rig->run_until(chunks.size() + 3));
  rig->expect_all_done(chunks);
}

TEST_F(GatedShm, HoldsAsManyChunksAsConfiguredAndNotOneMore) {
  ShmOptions options = with_workers(1);
  options.queue_chunks = 3;
  start(options);
  const Chunk blocked = stuck();
  rig->post_all({&blocked, 1});
  ASSERT_TRUE(gate->wait_for_visitor());
  std::vector<Chunk> chunks;
  for (int i = 0; i < 3; ++i) chunks.push_back(rig->chunk(Op::read, 0, 0, 64));
  const PostOutcome outcome = rig->transport().post(chunks);
  EXPECT_EQ(outcome.accepted, 2u);
  EXPECT_EQ(outcome.refusal, PostRefusal::saturated);
  gate->open_all();
  ASSERT_TRUE(rig->run_until(3));
  EXPECT_EQ(rig->transport().post(std::span(chunks).subspan(2)).accepted, 1u);
  ASSERT_TRUE(rig->run_until(4));
  rig->expect_all_done(chunks);
}

// Threads of this process whose name begins with `tentq-copy-`, and whether they block SIGTERM and
// leave SIGBUS open.
struct CopyThread {
  std::string name;
  bool blocks_term = false;
  bool blocks_bus = false;
};
std::vector<CopyThread> copy_threads() {
  std::vector<CopyThread> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    CopyThread thread;
    std::getline(std::ifstream(entry.path() / "comm"), thread.name);
    if (!thread.name.starts_with("tentq-copy-")) continue;
    std::ifstream status(entry.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (!line.starts_with("SigBlk:")) continue;
      const std::uint64_t mask = std::stoull(line.substr(8), nullptr, 16);
      thread.blocks_term = (mask >> (SIGTERM - 1) & 1) != 0;
      thread.blocks_bus = (mask >> (SIGBUS - 1) & 1) != 0;
    }
    found.push_back(thread);
  }
  return found;
}

TEST(ShmTransport, ItsThreadsAreNamedAndLeaveSignalsToOthers) {
  {
    ShmTransport transport(with_workers(3));
    EXPECT_EQ(transport.workers(), 3u);
    Rig rig(std::make_unique<ShmTransport>(with_workers(1)), 4096);
    const Chunk chunk = rig.chunk(Op::read, 0, 0, 64);
    rig.post_all({&chunk, 1});
    ASSERT_TRUE(rig.run_until(1));  // that thread runs, so it has its name
    const auto threads = copy_threads();
    EXPECT_FALSE(threads.empty());
    for (const CopyThread& thread : threads) {
      EXPECT_TRUE(thread.blocks_term) << thread.name;
      EXPECT_FALSE(thread.blocks_bus) << thread.name;
    }
    sigset_t mine;
    pthread_sigmask(SIG_BLOCK, nullptr, &mine);
    EXPECT_EQ(sigismember(&mine, SIGTERM), 0) << "the maker's own mask changed";
  }
  EXPECT_TRUE(copy_threads().empty());
}

TEST(ShmTransport, LeavesNoFdBehind) {
  const auto count = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  { ShmTransport warm_up(with_workers(1)); }
  const auto before = count();
  for (int i = 0; i < 20; ++i) ShmTransport transport(with_workers(2));
  EXPECT_EQ(count(), before);
}

TEST(ShmTransport, RefusesOptionsOutOfRange) {
  ShmOptions options;
  options.queue_chunks = 0;
  EXPECT_THROW(ShmTransport{options}, std::invalid_argument);
  options = {};
  options.piece_bytes = 0;
  EXPECT_THROW(ShmTransport{options}, std::invalid_argument);
  options = {};
  options.workers = 257;
  EXPECT_THROW(ShmTransport{options}, std::invalid_argument);
}

TEST(ShmTransport, DefaultWorkersLeaveACoreAndAreAtMostFour) {
  EXPECT_EQ(default_copy_workers(1), 1u);
  EXPECT_EQ(default_copy_workers(2), 1u);
  EXPECT_EQ(default_copy_workers(3), 2u);
  EXPECT_EQ(default_copy_workers(5), 4u);
  EXPECT_EQ(default_copy_workers(64), 4u);
}

// Workers that sleep at once are woken by every post, also when only the conductor is awake.
TEST(ShmTransport, IdleWorkersWake) {
  ShmOptions options = with_workers(2);
  options.spin = Duration::zero();
  Rig rig(std::make_unique<ShmTransport>(options), kMiB);
  for (std::size_t round = 1; round <= 1500; ++round) {
    const Chunk chunk = rig.chunk(Op::write, 0, 0, 1 + round % 300);
    rig.post_all({&chunk, 1});
    ASSERT_TRUE(rig.run_until(round));
  }
}

}  // namespace
}  // namespace tentq::test
