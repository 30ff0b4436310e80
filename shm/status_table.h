// The status slots and the dirty bitmap of a session, from both sides.
#pragma once

#include <cstdint>

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
  StatusWriter(Slot* slots, std::atomic<std::uint64_t>* dirty, std::uint32_t slot_count);
  // Admitted: PENDING under this generation, with the owner's number.
  void open(std::uint32_t slot, std::uint32_t generation, std::uint64_t owner, std::int64_t enqueued_ns);
  // Terminal: all fields, then the word (release), then flips the slot's dirty bit.
  void finish(std::uint32_t slot, const SlotView& view);

 private:
  Slot* slots_ = nullptr;
  std::atomic<std::uint64_t>* dirty_ = nullptr;
  std::uint32_t slot_count_ = 0;
};

// Client side; any thread. `slots` is mapped read-only.
class StatusReader {
 public:
  StatusReader() = default;
  StatusReader(const Slot* slots, const std::atomic<std::uint64_t>* dirty, std::uint32_t slot_count);
  // The word alone: one acquire load. A generation older than `generation` reads as PENDING of
  // `generation`; a newer one never happens for an owner that is still referenced.
  SlotWord word(std::uint32_t slot, std::uint32_t generation) const;
  // All of it; fields are valid once the word is terminal.
  SlotView view(std::uint32_t slot, std::uint32_t generation) const;
  // Word i of the dirty bitmap: bit b flips whenever slot 64 i + b becomes terminal.
  std::uint64_t dirty_word(std::uint32_t index) const;
  std::uint32_t dirty_words() const;

 private:
  const Slot* slots_ = nullptr;
  const std::atomic<std::uint64_t>* dirty_ = nullptr;
  std::uint32_t slot_count_ = 0;
};

}  // namespace tentq::shm
