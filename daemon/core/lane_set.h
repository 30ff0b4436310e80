// A set of lanes as a bitmap with a summary above it, so that a test or a search costs what is set
// and not what could be. Conductor thread.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "daemon/core/slab.h"

namespace tentq::core {

// Most lanes of a host: peers × devices × directions.
inline constexpr std::uint32_t kMaxLanes = 512;

class LaneSet {
 public:
  void add(std::uint32_t lane) {
    words_[lane / 64] |= bit_of_lane(lane);
    summary_ |= 1u << lane / 64;
  }
  void remove(std::uint32_t lane) {
    words_[lane / 64] &= ~bit_of_lane(lane);
    if (words_[lane / 64] == 0) summary_ &= ~(1u << lane / 64);
  }
  // add() or remove(), at the same cost whichever it is.
  void set(std::uint32_t lane, bool member) {
    std::uint64_t& word = words_[lane / 64];
    word = (word & ~bit_of_lane(lane)) | std::uint64_t{member} << lane % 64;
    summary_ = (summary_ & ~(1u << lane / 64)) | std::uint32_t{word != 0} << lane / 64;
  }
  bool has(std::uint32_t lane) const { return (words_[lane / 64] & bit_of_lane(lane)) != 0; }
  bool empty() const { return summary_ == 0; }
  void add_all(const LaneSet& other) {
    summary_ |= other.summary_;
    for (std::uint32_t s = other.summary_; s != 0; s &= s - 1) {
      const std::uint32_t w = static_cast<std::uint32_t>(std::countr_zero(s));
      words_[w] |= other.words_[w];
    }
  }
  // The first lane of both sets behind `lane`, going round; kNone when there is none.
  std::uint32_t next_common(const LaneSet& other, std::uint32_t lane) const {
    const std::uint32_t start = (lane + 1) % kMaxLanes;
    const std::uint32_t both = summary_ & other.summary_;
    if (both == 0) return kNone;
    if (both == 1) {
      // Hosts with up to 64 lanes.
      const std::uint64_t common = words_[0] & other.words_[0];
      const std::uint64_t ahead = start < 64 ? common & (~std::uint64_t{0} << start) : 0;
      if (common == 0) return kNone;
      return static_cast<std::uint32_t>(std::countr_zero(ahead != 0 ? ahead : common));
    }
    std::uint32_t w = start / 64;
    std::uint64_t bits = words_[w] & other.words_[w] & (~std::uint64_t{0} << start % 64);
    for (std::uint32_t i = 0; bits == 0 && i < kWords; ++i) {
      w = (w + 1) % kWords;
      bits = words_[w] & other.words_[w];
    }
    return bits == 0 ? kNone : w * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
  }
  // Calls `use(lane)` for each, in rising order.
  template <class Use>
  void for_each(const Use& use) const {
    for (std::uint32_t s = summary_; s != 0; s &= s - 1) {
      const std::uint32_t w = static_cast<std::uint32_t>(std::countr_zero(s));
      for (std::uint64_t bits = words_[w]; bits != 0; bits &= bits - 1) {
        use(w * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
      }
    }
  }
  bool operator==(const LaneSet&) const = default;

 private:
  static constexpr std::uint32_t kWords = kMaxLanes / 64;
  static std::uint64_t bit_of_lane(std::uint32_t lane) { return std::uint64_t{1} << lane % 64; }
  std::uint32_t summary_ = 0;
  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace tentq::core
