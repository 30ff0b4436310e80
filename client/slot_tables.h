// Reading how an owner stands, without a lock, over daemon restarts: the status slots of every
// session so far, by the session's ordinal.
//
// A retired session's slots are never unmapped while the client lives: their pages are replaced by
// zeros in place, and generation 0 reads as PENDING. So a reader that is a restart late finds an
// answer that was true before, and memory costs nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "client/owner.h"
#include "shm/status_table.h"

namespace tentq::lib {

class SlotTables {
 public:
  // Before any owner is bound to this ordinal. The slots stay readable as long as this object
  // lives.
  void publish(std::uint16_t ordinal, const Slot* slots, std::uint32_t count) {
    Entry& entry = entries_[ordinal % kEntries];
    entry.count.store(count, std::memory_order_relaxed);
    // Partner: reader(). Release: the mapping's content and count come first.
    entry.slots.store(slots, std::memory_order_release);
  }

  // One consistent copy; fields are valid once the state is terminal.
  OwnerView view(const Owner& owner) const {
    for (;;) {
      const OwnerWord word = owner.load();
      if (word.is_terminal()) return owner.final;
      if (word.is_unbound()) return {};
      const shm::SlotView slot = reader(word).view(word.slot(), word.generation());
      if (slot.word.state == TaskState::pending) return {};
      if (!still(owner, word)) continue;
      return {slot.word.state,  slot.word.reason,   slot.bytes_done,
              slot.enqueued_ns, slot.dispatched_ns, slot.completed_ns};
    }
  }

  TaskState state(const Owner& owner) const {
    for (;;) {
      const OwnerWord word = owner.load();
      if (!word.is_bound()) return word.state();
      const TaskState state = reader(word).word(word.slot(), word.generation()).state;
      if (state == TaskState::pending || still(owner, word)) return state;
    }
  }

  // Whether the daemon has judged the owner: it is admitted, or terminal.
  bool judged(const Owner& owner) const {
    const OwnerWord word = owner.load();
    if (!word.is_bound()) return word.is_terminal();
    const Entry& entry = entries_[word.ordinal() % kEntries];
    const Slot& slot = entry.slots.load(std::memory_order_acquire)[word.slot()];
    return SlotWord::unpack(slot.word.load(std::memory_order_acquire)).generation ==
           word.generation();
  }

 private:
  static constexpr std::size_t kEntries = 64;
  struct Entry {
    std::atomic<const Slot*> slots{nullptr};
    std::atomic<std::uint32_t> count{0};
  };

  shm::StatusReader reader(OwnerWord word) const {
    const Entry& entry = entries_[word.ordinal() % kEntries];
    const Slot* slots = entry.slots.load(std::memory_order_acquire);
    return {slots, nullptr, entry.count.load(std::memory_order_relaxed)};
  }

  // A terminal slot counts only if the owner is still bound to it: else it is being repeated in a
  // later session, and its old slot says nothing any more.
  // Partner: ClientState::unbind (exchange of the word, then a load of the slot, both seq_cst).
  // Weaker, a reader could report the old outcome while the owner is repeated.
  static bool still(const Owner& owner, OwnerWord word) {
    return owner.word.load(std::memory_order_seq_cst) == word.bits();
  }

  std::array<Entry, kEntries> entries_{};
};

}  // namespace tentq::lib
