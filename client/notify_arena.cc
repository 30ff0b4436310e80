// Ranges of the notification arena. See notify_arena.h.
#include "client/notify_arena.h"

#include "proto/check.h"

namespace tentq::lib {

NotifyArena::NotifyArena(std::uint32_t begin, std::uint32_t size) {
  begin_ = (begin + kAlignment - 1) / kAlignment * kAlignment;
  const std::uint32_t lost = begin_ - begin;
  size_ = size > lost ? (size - lost) / kAlignment * kAlignment : 0;
}

std::optional<std::uint32_t> NotifyArena::find(std::uint32_t length, std::uint64_t head) {
  while (!ranges_.empty() && ranges_.front().position < head) ranges_.pop_front();
  if (length == 0 || length > size_) return std::nullopt;
  if (ranges_.empty()) return begin_;
  const std::uint32_t first = ranges_.front().begin;
  const std::uint32_t next = ranges_.back().end;
  if (next > first) {
    // In use: [first, next). Free: behind it, else before it.
    if (length <= size_ - next) return begin_ + next;
    if (length <= first) return begin_;
    return std::nullopt;
  }
  // Wrapped: free is [next, first).
  if (length <= first - next) return begin_ + next;
  return std::nullopt;
}

void NotifyArena::take(std::uint32_t offset, std::uint32_t length, std::uint64_t position) {
  TENTQ_CHECK(offset >= begin_ && length <= size_ && offset - begin_ <= size_ - length);
  TENTQ_CHECK(ranges_.empty() || ranges_.back().position < position);
  const std::uint32_t begin = offset - begin_;
  const std::uint32_t rounded = (length + kAlignment - 1) / kAlignment * kAlignment;
  ranges_.push_back({begin, begin + rounded, position});
}

}  // namespace tentq::lib
