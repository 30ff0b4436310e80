// Whether one call names a slot twice: a set that is emptied in O(1), sized for the largest call.
// Conductor thread.
#pragma once

#include <cstdint>

#include "daemon/core/slab.h"

namespace tentq::core {

// Owners of one call; the group size of a cell has 16 bits.
inline constexpr std::uint32_t kMostCallOwners = 65'535;

class CallSlots {
 public:
  CallSlots() : entries_(kSize) {
    for (std::uint32_t i = 0; i < kSize; ++i) entries_[i] = Entry{};
  }
  void start() { call_ += 1; }
  // False when the slot was added before in this call. At most kMostCallOwners a call.
  bool add(std::uint32_t slot) {
    std::uint32_t place = slot % kSize;
    while (entries_[place].call == call_) {
      if (entries_[place].slot == slot) return false;
      place = (place + 1) % kSize;
    }
    entries_[place] = {call_, slot};
    return true;
  }

 private:
  struct Entry {
    std::uint64_t call = 0;
    std::uint32_t slot = 0;
  };
  static constexpr std::uint32_t kSize = 131'072;  // twice the largest call
  std::uint64_t call_ = 0;
  Arena<Entry> entries_;
};

}  // namespace tentq::core
