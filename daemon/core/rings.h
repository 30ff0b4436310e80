// Bounded first-in first-out rings of what is still to be told. Sized at start; memory that was
// never used is never touched. Conductor thread.
#pragma once

#include <bit>
#include <cstdint>

#include "daemon/core/slab.h"

namespace tentq::core {

template <class T>
class BoundedRing {
 public:
  explicit BoundedRing(std::uint32_t capacity)
      : mask_(std::bit_ceil(capacity) - 1), entries_(std::size_t{mask_} + 1) {}
  bool empty() const { return head_ == tail_; }
  std::uint32_t left() const { return mask_ + 1 - (tail_ - head_); }
  void push(const T& value) {
    TENTQ_CHECK(left() != 0);
    entries_[tail_++ & mask_] = value;
  }
  const T& front() const { return entries_[head_ & mask_]; }
  // Forgets those that are not wanted; the order stays. Costs what the ring holds.
  template <class Wanted>
  void keep_if(const Wanted& wanted) {
    std::uint32_t kept = head_;
    for (std::uint32_t i = head_; i != tail_; ++i) {
      const T value = entries_[i & mask_];
      if (wanted(value)) entries_[kept++ & mask_] = value;
    }
    tail_ = kept;
  }
  void pop() {
    head_ += 1;
    // Starts again at the front, so that a ring that is emptied often stays in the cache.
    if (head_ == tail_) head_ = tail_ = 0;
  }

 private:
  std::uint32_t mask_;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  Arena<T> entries_;
};

}  // namespace tentq::core
