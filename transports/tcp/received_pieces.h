// Which bytes of a READ have been announced: pieces may come in any order and never twice. Bounded:
// what a peer sends never makes it grow.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace tentq {

class ReceivedPieces {
 public:
  // Most ranges that do not touch each other. A peer that serves a READ in order needs one.
  static constexpr std::size_t kMostRanges = 16;

  void clear() { count_ = 0; }

  // [offset, offset + length) of a READ of `total` bytes; length is not 0. False, and nothing
  // changes, if it is not inside, overlaps what came before, or leaves too many ranges.
  [[nodiscard]] bool add(std::uint64_t offset, std::uint64_t length, std::uint64_t total) {
    if (offset > total || length > total - offset) return false;
    const std::uint64_t end = offset + length;
    std::size_t at = 0;
    while (at < count_ && ranges_[at].begin < offset) ++at;
    if (at > 0 && ranges_[at - 1].end > offset) return false;
    if (at < count_ && ranges_[at].begin < end) return false;
    const bool joins_before = at > 0 && ranges_[at - 1].end == offset;
    const bool joins_after = at < count_ && ranges_[at].begin == end;
    if (joins_before && joins_after) {
      ranges_[at - 1].end = ranges_[at].end;
      std::copy(ranges_.begin() + at + 1, ranges_.begin() + count_, ranges_.begin() + at);
      --count_;
    } else if (joins_before) {
      ranges_[at - 1].end = end;
    } else if (joins_after) {
      ranges_[at].begin = offset;
    } else {
      if (count_ == kMostRanges) return false;
      std::copy_backward(ranges_.begin() + at, ranges_.begin() + count_,
                         ranges_.begin() + count_ + 1);
      ranges_[at] = {offset, end};
      ++count_;
    }
    return true;
  }

 private:
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  std::array<Range, kMostRanges> ranges_;  // sorted; neither overlapping nor touching
  std::size_t count_ = 0;
};

}  // namespace tentq
