// The bytes of an input, taken from its front.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tentq::fuzz {

// A fuzzer keeps the input that made this fail.
inline void must(bool holds) {
  if (!holds) __builtin_trap();
}

class Pieces {
 public:
  Pieces(const std::uint8_t* data, std::size_t size) : left_(data, size) {}

  std::size_t size() const { return left_.size(); }
  // 0 when nothing is left.
  std::uint8_t byte() {
    if (left_.empty()) return 0;
    const std::uint8_t first = left_.front();
    left_ = left_.subspan(1);
    return first;
  }
  // At most so many.
  std::span<const std::uint8_t> take(std::size_t most) {
    const auto taken = left_.first(std::min(most, left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }

 private:
  std::span<const std::uint8_t> left_;
};

}  // namespace tentq::fuzz
