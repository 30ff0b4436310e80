// Which status slots of a session are free, and the generation of the next owner of each. The
// daemon takes an owner only if its slot is free and its generation is the last one + 1. Guarded by
// the client's lock.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/cell.h"

namespace tentq::lib {

class SlotAllocator {
 public:
  explicit SlotAllocator(std::uint32_t slots);

  std::uint32_t free() const { return static_cast<std::uint32_t>(free_.size()); }
  std::uint32_t slots() const { return static_cast<std::uint32_t>(generations_.size()); }

  // Takes refs.size() slots, each under its next generation. False: fewer are free, none was taken.
  bool take(std::span<SlotRef> refs);
  // Undoes the latest take() that was not undone: nothing was published under these generations.
  void untake(std::span<const SlotRef> refs);
  // The slot's owner is terminal and nobody will read the slot under this generation again.
  void release(std::uint32_t slot);

 private:
  std::vector<std::uint32_t> generations_;  // of the last owner, by slot; 0 = none yet
  std::vector<std::uint32_t> free_;         // a stack: the slot used last is still in the cache
  std::vector<bool> taken_;
};

}  // namespace tentq::lib
