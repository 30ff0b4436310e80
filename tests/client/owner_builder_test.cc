// Merging: whatever is submitted, every byte is asked for exactly once and by the right owner.
#include "client/owner_builder.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tentq::lib {
namespace {

// Regions of `size` bytes side by side, as many as there are addresses.
class EqualRegions final : public RemoteRanges {
 public:
  explicit EqualRegions(std::uint64_t size) : size_(size) {}
  bool in_one_region(std::uint64_t offset, std::uint64_t length) const override {
    return offset / size_ == (offset + length - 1) / size_;
  }

 private:
  std::uint64_t size_;
};

struct Built {
  std::vector<Owner> owners;
  std::vector<Task> tasks;
  std::uint32_t owner_count = 0;
  std::uint64_t bytes = 0;
};

Built build(const std::vector<Placed>& placed, std::uint64_t largest, bool merge,
            std::uint64_t region = UINT64_MAX) {
  Built built;
  built.owners = std::vector<Owner>(placed.size());
  built.tasks.resize(placed.size());
  OwnerBuilder builder(built.owners, built.tasks, 10, 3, largest, merge);
  const EqualRegions remote(region);
  for (const Placed& one : placed) builder.add(one, remote);
  built.owner_count = builder.owners();
  built.bytes = builder.bytes();
  EXPECT_EQ(builder.tasks(), placed.size());
  return built;
}

Placed at(std::uint64_t local, std::uint64_t remote, std::uint64_t length, Op op = Op::read,
          std::uint32_t region = 1, std::uint32_t segment = 1) {
  return {op, region, segment, local, remote, length};
}

TEST(OwnerBuilder, AdjacentOnBothSidesMerges) {
  const Built built = build({at(0, 100, 10), at(10, 110, 20), at(30, 130, 5)}, 1000, true);
  ASSERT_EQ(built.owner_count, 1u);
  EXPECT_EQ(built.owners[0].length, 35u);
  EXPECT_EQ(built.tasks[2].owner, 10u);
  EXPECT_EQ(built.tasks[2].offset, 30u);
  EXPECT_EQ(built.tasks[2].length, 5u);
}

TEST(OwnerBuilder, GapsAndBordersDoNotMerge) {
  EXPECT_EQ(build({at(0, 100, 10), at(11, 110, 10)}, 1000, true).owner_count, 2u);
  EXPECT_EQ(build({at(0, 100, 10), at(10, 111, 10)}, 1000, true).owner_count, 2u);
  EXPECT_EQ(build({at(0, 100, 10), at(10, 110, 10, Op::write)}, 1000, true).owner_count, 2u);
  EXPECT_EQ(build({at(0, 100, 10), at(10, 110, 10, Op::read, 2)}, 1000, true).owner_count, 2u);
  EXPECT_EQ(build({at(0, 100, 10), at(10, 110, 10, Op::read, 1, 2)}, 1000, true).owner_count, 2u);
  // Two regions of the exporter that happen to lie side by side.
  EXPECT_EQ(build({at(0, 100, 10), at(10, 110, 10)}, 1000, true, 110).owner_count, 2u);
  EXPECT_EQ(build({at(0, 100, 10), at(10, 110, 10)}, 1000, true, 120).owner_count, 1u);
}

TEST(OwnerBuilder, NeverBeyondTheLargestOwner) {
  EXPECT_EQ(build({at(0, 0, 10), at(10, 10, 10)}, 20, true).owner_count, 1u);
  EXPECT_EQ(build({at(0, 0, 10), at(10, 10, 10)}, 19, true).owner_count, 2u);
  EXPECT_EQ(build({at(0, 0, 30), at(30, 30, 10)}, 20, true).owner_count, 2u);
}

TEST(OwnerBuilder, MergingCanBeTurnedOff) {
  EXPECT_EQ(build({at(0, 0, 10), at(10, 10, 10)}, 1000, false).owner_count, 2u);
}

TEST(OwnerBuilder, SumOfBytesSaturates) {
  EXPECT_EQ(build({at(0, 0, UINT64_MAX), at(0, 0, 2)}, UINT64_MAX, true).bytes, UINT64_MAX);
}

rc::Gen<Placed> any_placed() {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange(0, 2), rc::gen::inRange(1, 3), rc::gen::inRange(1, 3),
                     rc::gen::inRange(0, 6), rc::gen::inRange(0, 6), rc::gen::inRange(1, 3)),
      [](const auto& t) {
        const auto [op, region, segment, local, remote, length] = t;
        return at(static_cast<std::uint64_t>(local) * 8, static_cast<std::uint64_t>(remote) * 8,
                  static_cast<std::uint64_t>(length) * 8, static_cast<Op>(op),
                  static_cast<std::uint32_t>(region), static_cast<std::uint32_t>(segment));
      });
}

TEST(OwnerBuilder, EveryTaskLiesInItsOwnerAndOwnersHaveNothingElse) {
  const bool ok = rc::check([] {
    auto placed = *rc::gen::container<std::vector<Placed>>(any_placed());
    // Make neighbours likely.
    for (std::size_t i = 1; i < placed.size(); ++i) {
      if (!*rc::gen::arbitrary<bool>()) continue;
      placed[i] = placed[i - 1];
      placed[i].local_offset += placed[i].length;
      placed[i].remote_offset += placed[i].length;
    }
    const std::uint64_t largest = *rc::gen::inRange<std::uint64_t>(8, 64);
    const std::uint64_t region = *rc::gen::inRange<std::uint64_t>(16, 64);
    const Built built = build(placed, largest, true, region);
    const EqualRegions remote(region);
    std::vector<std::uint64_t> covered(built.owner_count, 0);
    for (std::size_t i = 0; i < placed.size(); ++i) {
      const Task& task = built.tasks[i];
      RC_ASSERT(task.owner >= 10u && task.owner < 10u + built.owner_count);
      const Owner& owner = built.owners[task.owner - 10];
      RC_ASSERT(owner.op == placed[i].op);
      RC_ASSERT(owner.region == placed[i].region);
      RC_ASSERT(owner.segment == placed[i].segment);
      RC_ASSERT(owner.local_offset + task.offset == placed[i].local_offset);
      RC_ASSERT(owner.remote_offset + task.offset == placed[i].remote_offset);
      RC_ASSERT(task.length == placed[i].length);
      RC_ASSERT(task.offset == covered[task.owner - 10]);  // in order, no gap, no overlap
      covered[task.owner - 10] += task.length;
    }
    for (std::uint32_t i = 0; i < built.owner_count; ++i) {
      const Owner& owner = built.owners[i];
      RC_ASSERT(covered[i] == owner.length);
      const bool merged = owner.length > 16;  // longer than any single request
      RC_ASSERT(!merged || owner.length <= largest);
      RC_ASSERT(!merged || remote.in_one_region(owner.remote_offset, owner.length));
    }
  });
  EXPECT_TRUE(ok);
}

}  // namespace
}  // namespace tentq::lib
