// Whether one call names a slot twice: a set that is emptied in O(1), sized for the largest call
// that can be admitted. Conductor thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "daemon/core/slab.h"

namespace tentq::core {

// Owners of one call; the group size of a cell has 16 bits.
inline constexpr std::uint32_t kMostCallOwners = 65'535;

class CallSlots {
 public:
  // `owners`: that the core has room for, and so the largest call that can be admitted.
  explicit CallSlots(std::uint32_t owners)
      : mask_(2 * std::bit_ceil(std::min(owners, kMostCallOwners)) - 1), entries_(mask_ + 1) {
    for (std::uint32_t i = 0; i <= mask_; ++i) entries_[i] = Entry{};
  }
  void start() { call_ += 1; }
  // False when the slot was added before in this call. At most `owners` a call.
  bool add(std::uint32_t slot) {
    std::uint32_t place = slot & mask_;
    while (entries_[place].call == call_) {
      if (entries_[place].slot == slot) return false;
      place = (place + 1) & mask_;
    }
    entries_[place] = {call_, slot};
    return true;
  }

 private:
  struct Entry {
    std::uint64_t call = 0;
    std::uint32_t slot = 0;
  };
  std::uint32_t mask_;  // there are twice as many places as owners, or more
  std::uint64_t call_ = 0;
  Arena<Entry> entries_;
};

}  // namespace tentq::core
