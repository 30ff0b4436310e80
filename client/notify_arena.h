// A ring's share of the session's arena: ranges for notifications, taken in order and free again
// once the ring's head has passed the cell that names them. Guarded by the client's lock.
//
// Invariant: the ranges in use are exactly those of the cells that the daemon has not consumed, in
// the order of their cells; no two overlap.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace tentq::lib {

class NotifyArena {
 public:
  static constexpr std::uint32_t kAlignment = 8;

  NotifyArena() = default;
  // Bytes [begin, begin + size) of the arena.
  NotifyArena(std::uint32_t begin, std::uint32_t size);

  std::uint32_t size() const { return size_; }
  // Frees what lies before the ring position `head`, then looks for `length` bytes (at least 1).
  // The offset in the arena, or nullopt when there is no room now. Nothing is taken yet.
  std::optional<std::uint32_t> find(std::uint32_t length, std::uint64_t head);
  // Takes what the last find() found, for the cell at `position`. Positions only rise.
  void take(std::uint32_t offset, std::uint32_t length, std::uint64_t position);
  std::size_t in_use() const { return ranges_.size(); }

 private:
  struct Range {
    std::uint32_t begin = 0;  // from begin_
    std::uint32_t end = 0;
    std::uint64_t position = 0;
  };
  std::uint32_t begin_ = 0;
  std::uint32_t size_ = 0;
  std::deque<Range> ranges_;
};

}  // namespace tentq::lib
