// The directory behaves as an exact LRU, and never gives away a place that is in use.
#include "tests/bench/replay/directory.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/bench/replay/lru.h"
#include "tests/bench/statistics.h"

namespace tentq::bench {
namespace {

using Blocks = std::vector<std::uint64_t>;

void write_all(Directory& directory, const Plan& plan) {
  for (const Placed& placed : plan.misses) directory.finish_write(placed);
}
void release_all(Directory& directory, const Plan& plan) {
  for (const Placed& placed : plan.hits) directory.release(placed);
}
void use(Directory& directory, const Blocks& blocks) {
  const Plan plan = directory.plan(blocks);
  write_all(directory, plan);
  release_all(directory, plan);
}

TEST(Directory, IsAnExactLruWhenNothingIsInUse) {
  constexpr std::uint64_t kSeed = 5;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  Directory directory(16);
  LruModel model(16);
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t block = random.below(40);
    const Plan plan = directory.plan(Blocks{block});
    ASSERT_EQ(plan.hits.size(), model.access(block) ? 1u : 0u);
    write_all(directory, plan);
    release_all(directory, plan);
    directory.check_invariants();
  }
}

TEST(Directory, ABlockInWritingIsAHitThatIsNotReady) {
  Directory directory(4);
  const Plan writer = directory.plan(Blocks{1});
  const Plan reader = directory.plan(Blocks{1});
  ASSERT_EQ(reader.hits.size(), 1u);
  EXPECT_EQ(directory.state(reader.hits[0]), PlaceState::writing);
  EXPECT_FALSE(directory.hold(1));
  write_all(directory, writer);
  EXPECT_EQ(directory.state(reader.hits[0]), PlaceState::ready);
  EXPECT_TRUE(directory.hold(1));
}

TEST(Directory, APlaceThatIsReadIsNotOverwritten) {
  Directory directory(2);
  use(directory, {1});
  use(directory, {2});
  const Plan reader = directory.plan(Blocks{1});
  const Plan first = directory.plan(Blocks{2});  // now 1 is the oldest, but read
  release_all(directory, first);
  const Plan writer = directory.plan(Blocks{3});
  ASSERT_EQ(writer.misses.size(), 1u);
  EXPECT_NE(writer.misses[0].place, reader.hits[0].place);
  EXPECT_EQ(directory.state(reader.hits[0]), PlaceState::ready);
  const Plan none = directory.plan(Blocks{4});  // one read, one in writing
  EXPECT_EQ(none.skipped, 1u);
  release_all(directory, reader);
  EXPECT_EQ(directory.plan(Blocks{4}).misses.size(), 1u);
  directory.check_invariants();
}

TEST(Directory, AFailedWriteIsSeenByItsReadersAndThenForgotten) {
  Directory directory(1);
  const Plan writer = directory.plan(Blocks{1});
  const Plan reader = directory.plan(Blocks{1});
  directory.fail_write(writer.misses[0]);
  EXPECT_EQ(directory.state(reader.hits[0]), PlaceState::failed);
  EXPECT_EQ(directory.plan(Blocks{1}).skipped, 1u);  // its place is still held
  directory.check_invariants();
  release_all(directory, reader);
  directory.check_invariants();
  EXPECT_EQ(directory.plan(Blocks{1}).misses.size(), 1u);
}

// Every second place: held, being written, ready and free ones.
TEST(Directory, WhatIsRetiredIsLostAndNotUsedAgain) {
  Directory directory(8);
  const Plan ready = directory.plan(Blocks{1, 2, 3, 4});
  write_all(directory, ready);
  const Plan reader = directory.plan(Blocks{1, 2});
  const Plan writer = directory.plan(Blocks{5, 6});
  directory.retire(1, 2);
  directory.check_invariants();
  release_all(directory, reader);
  write_all(directory, writer);
  directory.check_invariants();
  const Plan after = directory.plan(Blocks{1, 2, 3, 4, 5, 6, 7, 8, 9});
  for (const auto* list : {&after.hits, &after.misses}) {
    for (const Placed& placed : *list) EXPECT_EQ(placed.place % 2, 0u);
  }
  EXPECT_EQ(after.hits.size(), 2u);
  EXPECT_EQ(after.misses.size(), 2u);  // a free place, and that of 5, which nobody holds
  EXPECT_EQ(after.skipped, 5u);
  directory.check_invariants();
}

TEST(Directory, IsOneForAllProcesses) {
  Directory directory(64);
  constexpr int kProcesses = 4;
  const test::SharedArray<std::uint64_t> hits(kProcesses);
  std::vector<test::Role> roles;
  for (int process = 0; process < kProcesses; ++process) {
    roles.emplace_back("directory", std::chrono::seconds{60}, [&, process](test::RoleChannel&) {
      Random random(static_cast<std::uint64_t>(process));
      for (int i = 0; i < 20'000; ++i) {
        const Plan plan = directory.plan(Blocks{random.below(100), 100 + random.below(100)});
        hits[static_cast<std::size_t>(process)] += plan.hits.size();
        write_all(directory, plan);
        release_all(directory, plan);
      }
      return 0;
    });
  }
  for (test::Role& role : roles) EXPECT_EQ(role.join(std::chrono::seconds{60}), 0);
  directory.check_invariants();
  for (const std::uint64_t count : hits.span()) EXPECT_GT(count, 0u);
}

}  // namespace
}  // namespace tentq::bench
