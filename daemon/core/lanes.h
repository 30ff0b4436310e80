// The lanes and their windows: what each has in flight, which of them can take a chunk now, and
// which pause because their transport refused one. Conductor thread. Bytes and nanoseconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "daemon/core/amounts.h"
#include "daemon/core/core.h"
#include "daemon/core/lane_set.h"
#include "daemon/core/window.h"

namespace tentq::core {

// Users fill a lane up to its window. Internal work shares the window and has, beyond it, room of
// its own: max(S, window / 8) bytes and an eighth of the chunks, at least one. Users never take it.
struct Lane {
  std::uint64_t in_flight_bytes = 0;
  std::uint64_t window_bytes = 0;
  std::uint32_t in_flight_chunks = 0;
  std::uint32_t window_chunks = 0;
  std::uint64_t need = 0;             // bytes that the next chunk of users lacked; 0 = none did
  std::int64_t paused_until_ns = 0;   // 0 = not paused
  std::uint64_t queued_bytes = 0;     // not handed over, of owners with this lane
  std::uint64_t queued_owners = 0;    // with something to hand over
  std::uint64_t largest_chunk = 0;    // S, or all of a window that is smaller; at most 1 TiB
  std::uint64_t chunk_bytes = 0;      // S
  std::uint64_t internal_bytes = 0;   // part of in_flight_bytes
  std::uint32_t internal_chunks = 0;  // part of in_flight_chunks
  std::uint32_t pauses = 0;           // in a row, without a chunk that ended well
  std::uint64_t internal_need = 0;
  bool open = false;

  std::uint64_t internal_room_bytes() const { return std::max(largest_chunk, window_bytes / 8); }
  std::uint32_t internal_room_chunks() const { return std::max(1u, window_chunks / 8); }
  bool has_room(std::uint64_t bytes) const {
    return in_flight_chunks < window_chunks &&
           bytes <= minus_saturating(window_bytes, in_flight_bytes);
  }
  bool has_internal_room(std::uint64_t bytes) const {
    return has_room(bytes) || (internal_chunks < internal_room_chunks() &&
                               bytes <= minus_saturating(internal_room_bytes(), internal_bytes));
  }
};

class Lanes {
 public:
  Lanes(std::uint32_t count, const Limits* limits, std::uint64_t seed);

  // A lane with a new route; other bounds for an open one. The windows must be above zero.
  void open(LaneId lane, const WindowShape& shape, std::uint32_t window_chunks,
            std::int64_t now_ns);
  void reshape(LaneId lane, const WindowShape& shape, std::uint32_t window_chunks);
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

  // Lanes that take a chunk of users: with room for the next one, and not paused.
  const LaneSet& ready() const { return ready_; }
  // Those of `lanes` that take a chunk of internal work.
  LaneSet ready_for_internal(const LaneSet& lanes) const;

  // What a window learns from: a chunk goes (before it is charged), it has come back, its transport
  // complains. Without windows there is nothing to learn.
  ChunkMark hand_over(std::uint32_t index, std::uint64_t bytes, std::int64_t now_ns) {
    if (ignore_windows_) return {};
    return windows_[index].hand_over(bytes, lanes_[index].in_flight_bytes, now_ns);
  }
  void sample(std::uint32_t index, const ChunkMark& mark, std::uint64_t bytes,
              std::int64_t elsewhere_ns, std::int64_t now_ns) {
    windows_[index].sample(mark, bytes, elsewhere_ns, now_ns);
    if (windows_[index].bytes() != lanes_[index].window_bytes ||
        windows_[index].chunk_bytes() != lanes_[index].chunk_bytes) {
      follow_window(index);
    }
  }
  void press(LaneId lane, PressureKind kind, std::uint64_t recommended_bytes, std::int64_t now_ns);
  const LaneWindow& window(std::uint32_t lane) const { return windows_[lane]; }

  void charge(std::uint32_t index, std::uint64_t bytes, bool internal) {
    Lane& lane = lanes_[index];
    lane.in_flight_bytes += bytes;
    lane.in_flight_chunks += 1;
    if (internal) {
      lane.internal_bytes += bytes;
      lane.internal_chunks += 1;
    }
    drop_holds(index);
  }
  void release(std::uint32_t index, std::uint64_t bytes, bool internal) {
    Lane& lane = lanes_[index];
    TENTQ_CHECK(lane.in_flight_bytes >= bytes && lane.in_flight_chunks != 0);
    lane.in_flight_bytes -= bytes;
    lane.in_flight_chunks -= 1;
    if (internal) {
      TENTQ_CHECK(lane.internal_bytes >= bytes && lane.internal_chunks != 0);
      lane.internal_bytes -= bytes;
      lane.internal_chunks -= 1;
    }
    refresh(index);
  }
  bool fits(std::uint32_t lane, std::uint64_t bytes, bool internal) const {
    if (ignore_windows_) return true;
    return internal ? lanes_[lane].has_internal_room(bytes) : lanes_[lane].has_room(bytes);
  }
  // The next chunk in order does not fit: nothing goes before it until its bytes are free.
  void hold_for(std::uint32_t lane, std::uint64_t bytes, bool internal);
  // Another chunk may be the next: a hold ends.
  void drop_holds(std::uint32_t lane) {
    lanes_[lane].need = lanes_[lane].internal_need = 0;
    refresh(lane);
  }

  // A refusal: pauses the lane, twice as long as the last time. False if it pauses already.
  bool pause(std::uint32_t lane, std::int64_t now_ns);
  void chunk_ended_well(std::uint32_t lane) { lanes_[lane].pauses = 0; }
  // Ends the pauses that are over.
  void advance(std::int64_t now_ns) {
    if (next_resume_ns_ != 0 && now_ns >= next_resume_ns_) end_pauses(now_ns);
  }
  // When the next pause ends, or 0.
  std::int64_t next_resume_ns() const { return next_resume_ns_; }
  std::uint64_t random_state() const { return random_; }

 private:
  void refresh(std::uint32_t index) {
    const Lane& lane = lanes_[index];
    const bool able = lane.open && lane.paused_until_ns == 0;
    const bool ready =
        able && (ignore_windows_ || lane.has_room(std::max<std::uint64_t>(1, lane.need)));
    if (ready == ready_.has(index)) return;
    if (ready) {
      ready_.add(index);
    } else {
      ready_.remove(index);
    }
  }
  // The lane's bounds become what its window says.
  void follow_window(std::uint32_t index);
  void end_pauses(std::int64_t now_ns);
  std::int64_t pause_ns(std::uint32_t pauses);

  const Limits* limits_;
  std::vector<Lane> lanes_;
  std::vector<LaneWindow> windows_;  // of the same lanes
  LaneSet ready_;
  bool ignore_windows_ = false;
  std::uint64_t largest_chunk_ = 1;
  std::int64_t next_resume_ns_ = 0;
  std::uint64_t random_;
};

}  // namespace tentq::core
