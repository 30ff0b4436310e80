// The status slots and the dirty bitmap of a session, from both sides. The daemon's one thread
// writes; any thread of the client reads. Times are the daemon's CLOCK_MONOTONIC in nanoseconds.
#pragma once

#include <cstdint>

#include "proto/check.h"
#include "proto/session_layout.h"

namespace tentq::shm {

// What a slot says, as one consistent copy.
struct SlotView {
  SlotWord word;
  std::uint64_t bytes_done = 0;
  std::int64_t enqueued_ns = 0;
  std::int64_t dispatched_ns = 0;
  std::int64_t completed_ns = 0;
  std::uint64_t owner = 0;
  std::uint64_t detail = 0;
};

// Daemon side; one thread. The daemon never reads slots back: it keeps its own table.
class StatusWriter {
 public:
  StatusWriter() = default;
  StatusWriter(Slot* slots, std::atomic<std::uint64_t>* dirty, std::uint32_t slot_count)
      : slots_(slots), dirty_(dirty), slot_count_(slot_count) {}
  // Admitted: PENDING under this generation, with the owner's number.
  void open(std::uint32_t slot, std::uint32_t generation, std::uint64_t owner,
            std::int64_t enqueued_ns) {
    SlotView view;
    view.word = {generation, TaskState::pending, Reason::none};
    view.owner = owner;
    view.enqueued_ns = enqueued_ns;
    write(slot, view);
  }
  // Terminal: all fields, then the word (release), then flips the slot's dirty bit.
  void finish(std::uint32_t slot, const SlotView& view) {
    write(slot, view);
    std::atomic<std::uint64_t>& dirty = dirty_[slot / 64];
    const std::uint64_t flipped =
        dirty.load(std::memory_order_relaxed) ^ (std::uint64_t{1} << (slot % 64));
    // Partner: StatusReader::dirty_word. Release: without it a client could see the flip and then
    // still read the slot's old word, and would not look at it again. One writer, so no RMW.
    dirty.store(flipped, std::memory_order_release);
  }

 private:
  void write(std::uint32_t slot, const SlotView& view) {
    TENTQ_CHECK(slot < slot_count_);
    Slot& s = slots_[slot];
    // Relaxed: the word below publishes them.
    s.bytes_done.store(view.bytes_done, std::memory_order_relaxed);
    s.enqueued_ns.store(view.enqueued_ns, std::memory_order_relaxed);
    s.dispatched_ns.store(view.dispatched_ns, std::memory_order_relaxed);
    s.completed_ns.store(view.completed_ns, std::memory_order_relaxed);
    s.owner.store(view.owner, std::memory_order_relaxed);
    s.detail.store(view.detail, std::memory_order_relaxed);
    // Partner: StatusReader::word. Release: without it a client could see a terminal state and then
    // read the fields of an older owner, or payload bytes from before the transfer.
    s.word.store(view.word.pack(), std::memory_order_release);
  }

  Slot* slots_ = nullptr;
  std::atomic<std::uint64_t>* dirty_ = nullptr;
  std::uint32_t slot_count_ = 0;
};

// Client side; any thread. `slots` is mapped read-only.
class StatusReader {
 public:
  StatusReader() = default;
  StatusReader(const Slot* slots, const std::atomic<std::uint64_t>* dirty, std::uint32_t slot_count)
      : slots_(slots), dirty_(dirty), slot_count_(slot_count) {}
  // The word alone: one acquire load. A generation older than `generation` reads as PENDING of
  // `generation`; a newer one never happens for an owner that is still referenced.
  // Partner: StatusWriter::write. Acquire: see there.
  SlotWord word(std::uint32_t slot, std::uint32_t generation) const {
    TENTQ_CHECK(slot < slot_count_);
    const SlotWord word = SlotWord::unpack(slots_[slot].word.load(std::memory_order_acquire));
    if (static_cast<std::int32_t>(word.generation - generation) < 0) {
      return {generation, TaskState::pending, Reason::none};
    }
    return word;
  }
  // All of it; fields are valid once the word is terminal.
  SlotView view(std::uint32_t slot, std::uint32_t generation) const {
    SlotView view;
    view.word = word(slot, generation);
    const Slot& s = slots_[slot];
    view.bytes_done = s.bytes_done.load(std::memory_order_relaxed);
    view.enqueued_ns = s.enqueued_ns.load(std::memory_order_relaxed);
    view.dispatched_ns = s.dispatched_ns.load(std::memory_order_relaxed);
    view.completed_ns = s.completed_ns.load(std::memory_order_relaxed);
    view.owner = s.owner.load(std::memory_order_relaxed);
    view.detail = s.detail.load(std::memory_order_relaxed);
    return view;
  }
  // Word i of the dirty bitmap: bit b flips whenever slot 64 i + b becomes terminal.
  // Partner: StatusWriter::finish. Acquire: see there.
  std::uint64_t dirty_word(std::uint32_t index) const {
    TENTQ_CHECK(index < dirty_words());
    return dirty_[index].load(std::memory_order_acquire);
  }
  std::uint32_t dirty_words() const { return slot_count_ / 64 + (slot_count_ % 64 != 0 ? 1 : 0); }

 private:
  const Slot* slots_ = nullptr;
  const std::atomic<std::uint64_t>* dirty_ = nullptr;
  std::uint32_t slot_count_ = 0;
};

}  // namespace tentq::shm
