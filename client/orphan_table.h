// Slots whose batch was freed before their owner was done. The daemon's dirty bitmap flips a slot's
// bit whenever its owner becomes terminal, so a sweep looks at slots/64 words, not at every slot.
// Guarded by the client's lock.
//
// Invariant: for each orphan the baseline bit was read before its word was found PENDING, so the
// flip that announces its end always differs from the baseline.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "shm/status_table.h"

namespace tentq::lib {

struct BatchState;

class OrphanTable {
 public:
  struct Orphan {
    BatchState* batch = nullptr;
    std::uint32_t owner = 0;  // index in the batch
  };

  explicit OrphanTable(std::uint32_t slots)
      : orphans_(slots), marked_((slots + 63) / 64, 0), baseline_((slots + 63) / 64, 0) {}

  // To be called before the slot's word is read for the last time.
  void note_baseline(const shm::StatusReader& reader, std::uint32_t slot) {
    const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
    baseline_[slot / 64] = (baseline_[slot / 64] & ~bit) | (reader.dirty_word(slot / 64) & bit);
  }
  // The word was PENDING after note_baseline().
  void add(std::uint32_t slot, const Orphan& orphan) {
    orphans_[slot] = orphan;
    marked_[slot / 64] |= std::uint64_t{1} << (slot % 64);
    ++count_;
  }
  std::uint32_t count() const { return count_; }

  // Calls ended(slot, orphan) for every orphan whose bit changed; it returns true if the owner is
  // indeed terminal, and then the slot is no orphan any more.
  template <class Ended>
  void sweep(const shm::StatusReader& reader, Ended ended) {
    if (count_ == 0) return;
    for (std::uint32_t word = 0; word < marked_.size(); ++word) {
      if (marked_[word] == 0) continue;
      const std::uint64_t now = reader.dirty_word(word);
      std::uint64_t changed = (now ^ baseline_[word]) & marked_[word];
      baseline_[word] ^= changed;
      for (; changed != 0; changed &= changed - 1) {
        const auto bit = static_cast<std::uint32_t>(std::countr_zero(changed));
        const std::uint32_t slot = 64 * word + bit;
        if (!ended(slot, orphans_[slot])) continue;
        marked_[word] &= ~(std::uint64_t{1} << bit);
        --count_;
      }
    }
  }

 private:
  std::vector<Orphan> orphans_;
  std::vector<std::uint64_t> marked_;    // one bit a slot
  std::vector<std::uint64_t> baseline_;  // the daemon's bit when last looked at
  std::uint32_t count_ = 0;
};

}  // namespace tentq::lib
