// A fixed number of records in one aligned arena: taken and given back in O(1), never allocated
// after construction. Memory that was never taken is never touched. Conductor thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>

#include "proto/check.h"

namespace tentq::core {

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// Raw storage for `count` records, aligned to a huge page when it is as large as one, so that the
// shell's choice of page size can take effect. Not initialised.
template <class T>
class Arena {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  explicit Arena(std::size_t count)
      : align_(count * sizeof(T) >= kHugePage ? kHugePage : std::max(alignof(T), kLine)),
        records_(static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{align_}))) {}
  ~Arena() { ::operator delete (records_, std::align_val_t{align_}); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  T& operator[](std::size_t index) { return records_[index]; }
  const T& operator[](std::size_t index) const { return records_[index]; }

 private:
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  static constexpr std::size_t kLine = 64;
  std::size_t align_;
  T* records_;
};

template <class T>
class Slab {
 public:
  explicit Slab(std::uint32_t capacity)
      : capacity_(capacity), records_(capacity), returned_(capacity) {}

  // Index of a record, or kNone. A record is value-initialised the first time, else as it was left.
  std::uint32_t take() {
    if (returned_count_ != 0) return returned_[--returned_count_];
    if (high_water_ == capacity_) return kNone;
    new (&records_[high_water_]) T{};
    return high_water_++;
  }
  void give(std::uint32_t index) {
    TENTQ_CHECK(returned_count_ < high_water_);
    returned_[returned_count_++] = index;
  }
  T& operator[](std::uint32_t index) { return records_[index]; }
  const T& operator[](std::uint32_t index) const { return records_[index]; }
  // Records with a smaller index have been taken at least once.
  std::uint32_t high_water() const { return high_water_; }
  std::uint32_t taken() const { return high_water_ - returned_count_; }
  std::uint32_t left() const { return capacity_ - taken(); }
  // The index that take() gives next; part of what decides the future.
  std::uint32_t next_taken() const {
    return returned_count_ != 0 ? returned_[returned_count_ - 1] : high_water_;
  }

 private:
  std::uint32_t capacity_;
  std::uint32_t high_water_ = 0;
  std::uint32_t returned_count_ = 0;
  Arena<T> records_;
  Arena<std::uint32_t> returned_;
};

}  // namespace tentq::core
