// The lanes and their windows: what each has in flight, which of them can take a chunk now, and
// which pause because their transport refused one. Conductor thread. Bytes and nanoseconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "daemon/core/amounts.h"
#include "daemon/core/core.h"
#include "daemon/core/lane.h"
#include "daemon/core/lane_set.h"
#include "daemon/core/window.h"

namespace tentq::core {

class Lanes {
 public:
  // `credit_chunk_bytes`: longest chunk that takes a receiver's credit.
  Lanes(std::uint32_t count, const Limits* limits, std::uint64_t seed,
        std::uint64_t credit_chunk_bytes);

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
  // `direct` has no windows; only `strict` and `wdrr` know caps, reserves and room of foreground.
  void set_policy(Policy policy);
  // After the limits have changed.
  void follow_limits();
  bool ignores_windows() const { return ignore_windows_; }

  // Classes of users with something queued on the lane: their bits.
  void want(std::uint32_t index, std::uint32_t classes) {
    lanes_[index].wanted = static_cast<std::uint8_t>(classes);
    follow_ready(index);
    touch_receiver(index);
  }
  // Lanes that take a chunk of a class that wants them: with room for the next one, and not paused.
  const LaneSet& able() const { return able_; }
  // Those of `lanes` that take a chunk of internal work.
  LaneSet ready_for_internal(const LaneSet& lanes) const;

  // What a window learns from: a chunk goes (before it is charged), it has come back, its transport
  // complains. Where nothing is to be learnt, nothing is measured.
  void hand_over(std::uint32_t index, std::uint64_t bytes, std::int64_t now_ns, ChunkMark* mark) {
    if (ignore_windows_ || !lanes_[index].learns) {
      mark->measured = false;
    } else {
      *mark = windows_[index].hand_over(bytes, lanes_[index].in_flight_bytes, now_ns);
    }
  }
  void sample(std::uint32_t index, const ChunkMark& mark, std::uint64_t bytes,
              std::int64_t elsewhere_ns, std::int64_t now_ns) {
    if (!mark.measured) return;
    windows_[index].sample(mark, bytes, elsewhere_ns, now_ns);
    if (windows_[index].bytes() != lanes_[index].window_bytes ||
        windows_[index].chunk_bytes() != lanes_[index].chunk_bytes) {
      follow_window(index);
    }
  }
  void press(LaneId lane, PressureKind kind, std::uint64_t recommended_bytes, std::int64_t now_ns);
  const LaneWindow& window(std::uint32_t lane) const { return windows_[lane]; }
  // Every lane's rate is measured, also where its window has no use for it.
  void measure_all(bool measured);

  void charge(std::uint32_t index, std::uint64_t bytes, std::uint32_t cls) {
    Lane& lane = lanes_[index];
    lane.in_flight_bytes += bytes;
    lane.in_flight_chunks += 1;
    if (cls == kInternalClass) {
      lane.internal_bytes += bytes;
      lane.internal_chunks += 1;
    } else {
      lane.classes[cls].in_flight += bytes;
      if (cls == kForeground) lane.foreground_chunks += 1;
    }
    lane.drop_holds();
    refresh(index);
  }
  void release(std::uint32_t index, std::uint64_t bytes, std::uint32_t cls) {
    Lane& lane = lanes_[index];
    TENTQ_CHECK(lane.in_flight_bytes >= bytes && lane.in_flight_chunks != 0);
    lane.in_flight_bytes -= bytes;
    lane.in_flight_chunks -= 1;
    if (cls == kInternalClass) {
      TENTQ_CHECK(lane.internal_bytes >= bytes && lane.internal_chunks != 0);
      lane.internal_bytes -= bytes;
      lane.internal_chunks -= 1;
    } else {
      TENTQ_CHECK(lane.classes[cls].in_flight >= bytes);
      lane.classes[cls].in_flight -= bytes;
      if (cls == kForeground) lane.foreground_chunks -= 1;
    }
    // More room takes no class away.
    if (lane.ready != kClientClassMask) refresh(index);
  }
  bool fits(std::uint32_t lane, std::uint64_t bytes, std::uint32_t cls) const {
    if (ignore_windows_) return true;
    return cls == kInternalClass ? lanes_[lane].has_internal_room(bytes)
                                 : lanes_[lane].has_room(cls, bytes);
  }
  // The largest chunk of a class.
  std::uint64_t largest_chunk(std::uint32_t lane, std::uint32_t cls) const {
    return std::min(lanes_[lane].largest_chunk, lanes_[lane].classes[cls].most);
  }
  // The next chunk in order does not fit: nothing goes before it until its bytes are free.
  void hold_for(std::uint32_t lane, std::uint64_t bytes, std::uint32_t cls);
  // Another chunk may be the next: a hold ends.
  void drop_holds(std::uint32_t lane) {
    if (!lanes_[lane].held && lanes_[lane].internal_need == 0) return;
    lanes_[lane].drop_holds();
    refresh(lane);
  }

  // The way is broken, or there again. False if nothing changes.
  bool leave(std::uint32_t lane, std::int64_t now_ns);
  bool come_back(std::uint32_t lane);
  // A lane whose route budget is spent while it is away, and that was not given up yet: kNone when
  // there is none.
  std::uint32_t next_to_give_up(std::int64_t now_ns) const {
    if (away_.empty() || next_give_up_ns() > now_ns) return kNone;
    return away_.front();
  }
  void give_up(std::uint32_t lane);
  // When the next budget is spent; 0 = no lane is away that was not given up.
  std::int64_t next_give_up_ns() const;

  // Its data goes to another host, or to none that is asked; only while nothing is in flight.
  void name_receiver(std::uint32_t lane, std::uint16_t receiver);
  // Whether its receiver has room for what users, or internal work, would send next.
  void set_dry(std::uint32_t lane, bool internal, bool dry) {
    (internal ? lanes_[lane].internal_dry : lanes_[lane].dry) = dry;
    refresh(lane);
  }
  // Receivers with something new in the queues or in flight of their lanes; the first of them, and
  // that it was looked at.
  void touch_receiver(std::uint32_t lane) {
    if (lanes_[lane].receiver != kNoReceiver) touched_receivers_.add(lanes_[lane].receiver);
  }
  void touch(std::uint32_t receiver) { touched_receivers_.add(receiver); }
  void untouch(std::uint32_t receiver) { touched_receivers_.remove(receiver); }
  const LaneSet& touched_receivers() const { return touched_receivers_; }

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
  static constexpr std::uint32_t kInternalClass = static_cast<std::uint32_t>(ClassId::internal);

  void refresh(std::uint32_t index) {
    Lane& lane = lanes_[index];
    std::uint8_t ready = 0;
    if (lane.open && !(lane.away | lane.dry) && lane.paused_until_ns == 0) {
      ready = ignore_windows_ ? kClientClassMask : lane.classes_with_room();
    }
    if (ready == lane.ready) return;
    lane.ready = ready;
    follow_ready(index);
  }
  void follow_ready(std::uint32_t index) {
    able_.set(index, (lanes_[index].wanted & lanes_[index].ready) != 0);
  }
  void follow_learning(std::uint32_t index) {
    lanes_[index].learns = measures_all_ || windows_[index].learns();
  }
  // The lane's bounds become what its window says.
  void follow_window(std::uint32_t index);
  // Caps, reserves and the room of foreground, as they are for its window now.
  void share_window(std::uint32_t index);
  void end_pauses(std::int64_t now_ns);
  std::int64_t pause_ns(std::uint32_t pauses);

  const Limits* limits_;
  std::vector<Lane> lanes_;
  std::vector<LaneWindow> windows_;  // of the same lanes
  LaneSet able_;
  LaneSet touched_receivers_;
  std::uint64_t credit_chunk_bytes_;
  bool ignore_windows_ = false;
  bool classes_count_ = true;
  bool measures_all_ = false;
  std::int64_t next_resume_ns_ = 0;
  std::vector<std::uint32_t> away_;  // lanes that are away and not given up; has room for all
  std::uint64_t random_;
};

}  // namespace tentq::core
