// Slots and generations. See slot_allocator.h.
#include "client/slot_allocator.h"

#include "proto/check.h"

namespace tentq::lib {

SlotAllocator::SlotAllocator(std::uint32_t slots) : generations_(slots, 0), taken_(slots, false) {
  free_.reserve(slots);
  for (std::uint32_t slot = slots; slot > 0; --slot) free_.push_back(slot - 1);
}

bool SlotAllocator::take(std::span<SlotRef> refs) {
  if (refs.size() > free_.size()) return false;
  for (SlotRef& ref : refs) {
    ref.slot = free_.back();
    free_.pop_back();
    ref.generation = ++generations_[ref.slot];
    taken_[ref.slot] = true;
  }
  return true;
}

void SlotAllocator::untake(std::span<const SlotRef> refs) {
  for (std::size_t i = refs.size(); i > 0; --i) {
    const SlotRef& ref = refs[i - 1];
    TENTQ_CHECK(generations_[ref.slot] == ref.generation);
    --generations_[ref.slot];
    release(ref.slot);
  }
}

void SlotAllocator::release(std::uint32_t slot) {
  TENTQ_CHECK(slot < taken_.size() && taken_[slot]);
  taken_[slot] = false;
  free_.push_back(slot);
}

}  // namespace tentq::lib
