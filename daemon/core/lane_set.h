// A set of lanes as a bitmap of fixed size. Conductor thread.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "daemon/core/slab.h"

namespace tentq::core {

// Most lanes of a host: peers × devices × directions.
inline constexpr std::uint32_t kMaxLanes = 256;

class LaneSet {
 public:
  void set(std::uint32_t lane, bool in) {
    const std::uint64_t bit = std::uint64_t{1} << (lane % 64);
    if (in) {
      words_[lane / 64] |= bit;
    } else {
      words_[lane / 64] &= ~bit;
    }
  }
  bool has(std::uint32_t lane) const { return (words_[lane / 64] >> (lane % 64) & 1u) != 0; }
  bool empty() const { return (words_[0] | words_[1] | words_[2] | words_[3]) == 0; }
  bool meets(const LaneSet& other) const {
    return ((words_[0] & other.words_[0]) | (words_[1] & other.words_[1]) |
            (words_[2] & other.words_[2]) | (words_[3] & other.words_[3])) != 0;
  }
  LaneSet operator&(const LaneSet& other) const {
    LaneSet both;
    for (std::size_t w = 0; w < kWords; ++w) both.words_[w] = words_[w] & other.words_[w];
    return both;
  }
  LaneSet operator|(const LaneSet& other) const {
    LaneSet either;
    for (std::size_t w = 0; w < kWords; ++w) either.words_[w] = words_[w] | other.words_[w];
    return either;
  }
  // The first lane of the set behind `lane`, going round; kNone when the set is empty.
  std::uint32_t next_after(std::uint32_t lane) const {
    const std::uint32_t start = (lane + 1) % kMaxLanes;
    const std::uint64_t ahead = words_[start / 64] & (~std::uint64_t{0} << (start % 64));
    if (ahead != 0) return start / 64 * 64 + first(ahead);
    for (std::uint32_t i = 1; i <= kWords; ++i) {
      const std::uint32_t w = (start / 64 + i) % kWords;
      if (words_[w] != 0) return w * 64 + first(words_[w]);
    }
    return kNone;
  }
  bool operator==(const LaneSet&) const = default;

 private:
  static constexpr std::uint32_t kWords = kMaxLanes / 64;
  static_assert(kWords == 4);
  static std::uint32_t first(std::uint64_t word) {
    return static_cast<std::uint32_t>(std::countr_zero(word));
  }
  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace tentq::core
