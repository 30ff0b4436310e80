// The arena of notifications: ranges in use never overlap and always lie inside the ring's share.
#include "client/notify_arena.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <deque>

namespace tentq::lib {
namespace {

TEST(NotifyArena, AnEmptyShareHoldsNothing) {
  NotifyArena arena(0, 0);
  EXPECT_FALSE(arena.find(1, 0));
}

TEST(NotifyArena, SharesAreAligned) {
  NotifyArena arena(3, 30);
  EXPECT_EQ(arena.find(1, 0), 8u);
  EXPECT_EQ(arena.size(), 24u);
  EXPECT_FALSE(arena.find(25, 0));
  EXPECT_EQ(arena.find(24, 0), 8u);
}

TEST(NotifyArena, FreeAgainOnceTheHeadHasPassed) {
  NotifyArena arena(0, 32);
  arena.take(*arena.find(32, 0), 32, 5);
  EXPECT_FALSE(arena.find(1, 5));
  EXPECT_EQ(arena.find(32, 6), 0u);
}

TEST(NotifyArena, RangesInUseNeverOverlap) {
  const bool ok = rc::check([] {
    struct Range {
      std::uint32_t begin, end;
      std::uint64_t position;
    };
    const std::uint32_t begin = *rc::gen::inRange(0u, 50u);
    const std::uint32_t size = *rc::gen::inRange(0u, 300u);
    NotifyArena arena(begin, size);
    std::deque<Range> used;
    std::uint64_t head = 0, tail = 0;
    const auto steps = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange(1u, 120u));
    for (const std::uint32_t length : steps) {
      const auto offset = arena.find(length, head);
      if (!offset) {
        // Never refused when nothing is in use and it fits.
        RC_ASSERT(!used.empty() || length > arena.size());
        if (!used.empty()) {  // the daemon takes one more
          head = used.front().position + 1;
          used.pop_front();
        }
        continue;
      }
      RC_ASSERT(*offset >= begin && *offset + length <= begin + size);
      RC_ASSERT(*offset % NotifyArena::kAlignment == 0u);
      for (const Range& range : used) {
        RC_ASSERT(*offset >= range.end || *offset + length <= range.begin);
      }
      tail += 1 + length % 3;  // other cells lie between
      arena.take(*offset, length, tail);
      used.push_back({*offset, *offset + length, tail});
    }
  });
  EXPECT_TRUE(ok);
}

}  // namespace
}  // namespace tentq::lib
