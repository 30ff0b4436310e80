// The lanes and their windows: what each has in flight, which of them can take a chunk now, and
// which pause because their transport refused one. Conductor thread. Bytes and nanoseconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "daemon/core/core.h"
#include "daemon/core/lane_set.h"

namespace tentq::core {

// Users fill a lane up to its window. Internal work shares the window and has, beyond it, room of
// its own: max(S, window / 8) bytes and an eighth of the chunks, at least one. Users never take
// that.
struct Lane {
  bool open = false;
  std::uint64_t window_bytes = 0;
  std::uint64_t chunk_bytes = 0;  // S
  std::uint32_t window_chunks = 0;
  std::uint32_t in_flight_chunks = 0;
  std::uint64_t in_flight_bytes = 0;
  std::uint32_t internal_chunks = 0;  // part of in_flight_chunks
  std::uint64_t internal_bytes = 0;
  std::uint64_t needs[2] = {0, 0};   // bytes that a chosen chunk of users, of internal work, lacked
  std::int64_t paused_until_ns = 0;  // 0 = not paused
  std::uint32_t pauses = 0;          // in a row, without a chunk that ended well
  std::uint64_t queued_owners = 0;
  std::uint64_t queued_bytes = 0;  // not handed over, of owners with this lane

  // The largest chunk: S, or all of a window that is smaller; at most 1 TiB.
  std::uint64_t largest_chunk() const {
    return std::min({chunk_bytes, window_bytes, std::uint64_t{1} << 40});
  }
  std::uint64_t internal_room_bytes() const { return std::max(largest_chunk(), window_bytes / 8); }
  std::uint32_t internal_room_chunks() const { return std::max(1u, window_chunks / 8); }
  bool has_room(std::uint64_t bytes, bool internal) const;
};

class Lanes {
 public:
  Lanes(std::uint32_t count, const Limits* limits, std::uint64_t seed);

  // Opens a lane, or gives an open one another window. All three must be above zero.
  void shape(LaneId lane, std::uint64_t window_bytes, std::uint32_t window_chunks,
             std::uint64_t chunk_bytes);
  bool is_open(LaneId lane) const {
    return lane.value() < lanes_.size() && lanes_[lane.value()].open;
  }
  Lane& operator[](std::uint32_t lane) { return lanes_[lane]; }
  const Lane& operator[](std::uint32_t lane) const { return lanes_[lane]; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(lanes_.size()); }
  // The largest S of any lane; what quanta are counted in.
  std::uint64_t largest_chunk() const { return largest_chunk_; }
  void ignore_windows(bool ignore);
  bool ignores_windows() const { return ignore_windows_; }

  // Lanes with room for a chunk, not paused.
  const LaneSet& ready(bool internal) const { return ready_[internal ? 1 : 0]; }

  void charge(std::uint32_t lane, std::uint64_t bytes, bool internal);
  void release(std::uint32_t lane, std::uint64_t bytes, bool internal);
  bool fits(std::uint32_t lane, std::uint64_t bytes, bool internal) const;
  // The next chunk in order does not fit: nothing goes before it until its bytes are free.
  void hold_for(std::uint32_t lane, std::uint64_t bytes, bool internal);
  // Another chunk may be the next: a hold ends.
  void drop_holds(std::uint32_t lane);

  // A refusal: pauses the lane, twice as long as the last time. False if it pauses already.
  bool pause(std::uint32_t lane, std::int64_t now_ns);
  void chunk_ended_well(std::uint32_t lane) { lanes_[lane].pauses = 0; }
  // Ends the pauses that are over.
  void advance(std::int64_t now_ns);
  // When the next pause ends, or 0.
  std::int64_t next_resume_ns() const { return next_resume_ns_; }
  std::uint64_t random_state() const { return random_; }

 private:
  void refresh(std::uint32_t lane);
  std::int64_t pause_ns(std::uint32_t pauses);

  const Limits* limits_;
  std::vector<Lane> lanes_;
  LaneSet ready_[2];
  std::uint64_t largest_chunk_ = 1;
  std::int64_t next_resume_ns_ = 0;
  std::uint64_t random_;
  bool ignore_windows_ = false;
};

}  // namespace tentq::core
