// Slots: who has one, under which generation, and how freed batches get theirs back.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "client/orphan_table.h"
#include "client/slot_allocator.h"
#include "shm/status_table.h"

namespace tentq::lib {
namespace {

TEST(SlotAllocator, TakesAllOrNothing) {
  SlotAllocator slots(3);
  std::vector<SlotRef> four(4), three(3), one(1);
  EXPECT_FALSE(slots.take(four));
  EXPECT_EQ(slots.free(), 3u);
  EXPECT_TRUE(slots.take(three));
  EXPECT_FALSE(slots.take(one));
  slots.release(three[1].slot);
  ASSERT_TRUE(slots.take(one));
  EXPECT_EQ(one[0].slot, three[1].slot);
  EXPECT_EQ(one[0].generation, three[1].generation + 1);
}

TEST(SlotAllocator, GenerationsFollowWhatTheDaemonExpects) {
  const bool ok = rc::check([] {
    const std::uint32_t count = *rc::gen::inRange(1u, 20u);
    SlotAllocator slots(count);
    std::vector<std::uint32_t> daemon(count, 0);  // generation of the last owner of each slot
    std::vector<SlotRef> taken;
    const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 100));
    for (const int step : steps) {
      if (step < 50) {
        std::vector<SlotRef> refs(static_cast<std::size_t>(step % 5 + 1));
        const std::uint32_t before = slots.free();
        const bool got = slots.take(refs);
        RC_ASSERT(got == (before >= refs.size()));
        if (!got) continue;
        if (step % 3 == 0) {
          slots.untake(refs);  // the ring was full after all
          RC_ASSERT(slots.free() == before);
          continue;
        }
        for (const SlotRef& ref : refs) {
          RC_ASSERT(ref.generation == daemon[ref.slot] + 1);
          daemon[ref.slot] = ref.generation;
          for (const SlotRef& other : taken) RC_ASSERT(other.slot != ref.slot);
          taken.push_back(ref);
        }
      } else if (!taken.empty()) {
        const std::size_t at = static_cast<std::size_t>(step) % taken.size();
        slots.release(taken[at].slot);
        taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(at));
      }
      RC_ASSERT(slots.free() + taken.size() == count);
    }
  });
  EXPECT_TRUE(ok);
}

// The daemon ends owners in any order; every orphan is found exactly once, none too early.
TEST(OrphanTable, EveryOrphanIsFoundOnce) {
  const bool ok = rc::check([] {
    constexpr std::uint32_t kSlots = 130;
    std::vector<Slot> memory(kSlots);
    std::vector<std::atomic<std::uint64_t>> dirty(3);
    shm::StatusWriter writer(memory.data(), dirty.data(), kSlots);
    const shm::StatusReader reader(memory.data(), dirty.data(), kSlots);
    SlotAllocator slots(kSlots);
    OrphanTable orphans(kSlots);
    std::map<std::uint32_t, SlotRef> running, orphaned, ended;  // ended: terminal, not swept yet
    const auto steps = *rc::gen::container<std::vector<int>>(200, rc::gen::inRange(0, 1000));
    const auto sweep = [&] {
      orphans.sweep(reader, [&](std::uint32_t slot, const OrphanTable::Orphan& orphan) {
        RC_ASSERT(orphan.owner == slot);
        if (ended.erase(slot) == 0) {  // its bit has flipped for an owner before it
          RC_ASSERT(!is_terminal(reader.word(slot, orphaned.at(slot).generation).state));
          return false;
        }
        slots.release(slot);
        return true;
      });
    };
    const auto finish = [&](const SlotRef& ref) {
      shm::SlotView view;
      view.word = {ref.generation, TaskState::completed, Reason::none};
      writer.finish(ref.slot, view);
    };
    for (const int step : steps) {
      SlotRef ref{};
      if (step % 4 == 0 && slots.take(std::span(&ref, 1))) {
        running[ref.slot] = ref;
      } else if (step % 4 == 1 && !running.empty()) {  // its batch is freed while it runs
        ref = running.begin()->second;
        orphans.note_baseline(reader, ref.slot);
        orphans.add(ref.slot, {nullptr, ref.slot});
        orphaned.insert(running.extract(running.begin()));
      } else if (step % 4 == 2 && !running.empty()) {  // it ends, then its batch is freed
        finish(running.begin()->second);
        slots.release(running.begin()->first);
        running.erase(running.begin());
      } else if (step % 4 == 3 && !orphaned.empty()) {
        finish(orphaned.begin()->second);
        ended.insert(orphaned.extract(orphaned.begin()));
        if (step % 8 == 3) {
          sweep();
          RC_ASSERT(ended.empty());
          RC_ASSERT(orphans.count() == orphaned.size());
        }
      }
    }
    for (const auto& [slot, ref] : orphaned) finish(ref);
    ended.merge(orphaned);
    sweep();
    RC_ASSERT(ended.empty());
    RC_ASSERT(orphans.count() == 0u);
  });
  EXPECT_TRUE(ok);
}

}  // namespace
}  // namespace tentq::lib
