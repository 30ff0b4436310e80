// Slots and the dirty bitmap, from both sides.
#include "shm/status_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace tentq::shm {
namespace {

class StatusTable : public testing::Test {
 protected:
  static constexpr std::uint32_t kSlots = 130;
  std::unique_ptr<Slot[]> slots_{new Slot[kSlots]()};
  std::atomic<std::uint64_t> dirty_[3] = {};
  StatusWriter writer_{slots_.get(), dirty_, kSlots};
  StatusReader reader_{slots_.get(), dirty_, kSlots};

  static SlotView ended(std::uint32_t generation, TaskState state, Reason reason) {
    SlotView view;
    view.word = {generation, state, reason};
    view.bytes_done = 4096;
    view.enqueued_ns = 10;
    view.dispatched_ns = 20;
    view.completed_ns = 30;
    view.owner = 7;
    view.detail = 8;
    return view;
  }
};

TEST_F(StatusTable, FreshSlotReadsAsPendingOfTheFirstGeneration) {
  const SlotWord word = reader_.word(5, 1);
  EXPECT_EQ(word.state, TaskState::pending);
  EXPECT_EQ(word.generation, 1u);
  EXPECT_EQ(word.reason, Reason::none);
}

TEST_F(StatusTable, OpenedSlotIsPendingWithItsOwner) {
  writer_.open(5, 3, 42, 1000);
  const SlotView view = reader_.view(5, 3);
  EXPECT_EQ(view.word.state, TaskState::pending);
  EXPECT_EQ(view.word.generation, 3u);
  EXPECT_EQ(view.owner, 42u);
  EXPECT_EQ(view.enqueued_ns, 1000);
  EXPECT_EQ(view.completed_ns, 0);
  EXPECT_EQ(reader_.dirty_word(0), 0u);
}

TEST_F(StatusTable, FinishedSlotShowsEveryField) {
  writer_.open(129, 3, 7, 10);
  writer_.finish(129, ended(3, TaskState::failed, Reason::memory_fault));
  const SlotView view = reader_.view(129, 3);
  EXPECT_EQ(view.word.state, TaskState::failed);
  EXPECT_EQ(view.word.reason, Reason::memory_fault);
  EXPECT_EQ(view.bytes_done, 4096u);
  EXPECT_EQ(view.enqueued_ns, 10);
  EXPECT_EQ(view.dispatched_ns, 20);
  EXPECT_EQ(view.completed_ns, 30);
  EXPECT_EQ(view.owner, 7u);
  EXPECT_EQ(view.detail, 8u);
}

TEST_F(StatusTable, OlderGenerationReadsAsPendingOfMine) {
  writer_.open(0, 3, 7, 10);
  writer_.finish(0, ended(3, TaskState::completed, Reason::none));
  EXPECT_EQ(reader_.word(0, 3).state, TaskState::completed);
  EXPECT_EQ(reader_.word(0, 4).state, TaskState::pending);
  EXPECT_EQ(reader_.word(0, 4).generation, 4u);
}

TEST_F(StatusTable, GenerationsMayWrapAround) {
  writer_.open(0, 0xffffffff, 7, 10);
  writer_.finish(0, ended(0xffffffff, TaskState::completed, Reason::none));
  EXPECT_EQ(reader_.word(0, 0).state, TaskState::pending);
  writer_.open(0, 0, 8, 11);
  writer_.finish(0, ended(0, TaskState::canceled, Reason::canceled));
  EXPECT_EQ(reader_.word(0, 0).state, TaskState::canceled);
}

TEST_F(StatusTable, EveryTerminalStatusFlipsItsBitAndNoOther) {
  EXPECT_EQ(reader_.dirty_words(), 3u);
  writer_.finish(0, ended(1, TaskState::completed, Reason::none));
  writer_.finish(63, ended(1, TaskState::completed, Reason::none));
  writer_.finish(64, ended(1, TaskState::completed, Reason::none));
  EXPECT_EQ(reader_.dirty_word(0), (1ull << 63) | 1);
  EXPECT_EQ(reader_.dirty_word(1), 1u);
  EXPECT_EQ(reader_.dirty_word(2), 0u);
  writer_.finish(0, ended(2, TaskState::completed, Reason::none));
  EXPECT_EQ(reader_.dirty_word(0), 1ull << 63);
}

TEST_F(StatusTable, SlotOutOfRangeIsOurBug) {
  EXPECT_DEATH(writer_.open(kSlots, 1, 1, 1), "check failed");
  EXPECT_DEATH(reader_.word(kSlots, 1), "check failed");
}

// A reader that polls the word never sees a terminal state beside fields of another generation, and
// one that follows the dirty bits never misses an end.
TEST_F(StatusTable, PollingThreadSeesWholeResultsInOrder) {
  constexpr std::uint32_t kGenerations = 5'000;
  std::atomic<std::uint32_t> allowed{1};
  std::thread daemon([&] {
    for (std::uint32_t g = 1; g <= kGenerations; ++g) {
      while (allowed.load() < g) std::this_thread::yield();
      writer_.open(1, g, g, g);
      SlotView view = ended(g, TaskState::completed, Reason::none);
      view.bytes_done = g;
      view.owner = g;
      writer_.finish(1, view);
    }
  });
  std::uint64_t seen_dirty = 0, wrong = 0;
  for (std::uint32_t g = 1; g <= kGenerations; ++g) {
    while (reader_.dirty_word(0) == seen_dirty) std::this_thread::yield();
    seen_dirty = reader_.dirty_word(0);
    const SlotView view = reader_.view(1, g);
    wrong += view.word.state != TaskState::completed || view.bytes_done != g || view.owner != g;
    allowed = g + 1;
  }
  daemon.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace tentq::shm
