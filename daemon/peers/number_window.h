// Numbers that a peer uses once each, rising, but perhaps overtaking each other a little: the
// connections of a link. Bounded memory, and a number is never let through twice. Pure.
#pragma once

#include <cstdint>

namespace tentq {

class NumberWindow {
 public:
  static constexpr std::uint64_t kWidth = 64;

  // False if it was used before, or lies so far back that this cannot be told.
  bool take(std::uint64_t number) {
    if (number > highest_) {
      const std::uint64_t step = number - highest_;
      used_ = step < kWidth ? used_ << step : 0;
      highest_ = number;
      used_ |= 1;
      return true;
    }
    const std::uint64_t back = highest_ - number;
    if (number == 0 || back >= kWidth || (used_ >> back & 1) != 0) return false;
    used_ |= std::uint64_t{1} << back;
    return true;
  }

 private:
  std::uint64_t highest_ = 0;
  std::uint64_t used_ = 1;  // bit i: highest_ − i; 0 itself is no number
};

}  // namespace tentq
