// One lane: what it has in flight, of which class, and what room that leaves for each class.
// Conductor thread. Bytes and nanoseconds.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "daemon/core/amounts.h"
#include "proto/classes.h"
#include "proto/ids.h"

namespace tentq::core {

inline constexpr std::uint32_t kForeground = static_cast<std::uint32_t>(ClassId::foreground);

// In a lane: nobody's credit is asked for.
inline constexpr std::uint16_t kNoReceiver = ReceiverId::kInvalid;

struct ClassOnLane {
  std::uint64_t in_flight = 0;
  std::uint64_t queued = 0;    // not handed over, of owners with this lane
  std::uint64_t most = kMost;  // in flight
  std::uint64_t reserve = 0;   // part of the window that other classes leave to it
  std::uint64_t need = 0;      // bytes that a chunk which is next lacked; 0 = none did

  std::uint64_t unused_reserve() const { return minus_saturating(reserve, in_flight); }
};

// Users fill a lane up to its window W, each class up to its cap and beside what is reserved for
// the others. Foreground has, beyond W, H = max(2S, floor / 2) of its own, so that it never waits
// for others to make room: the first H bytes of foreground do not count for the others. Internal
// work shares the window and has room of its own too: max(S, W / 8) and an eighth of the chunks.
struct Lane {
  std::uint64_t in_flight_bytes = 0;
  std::uint64_t window_bytes = 0;  // W
  std::uint32_t in_flight_chunks = 0;
  std::uint32_t window_chunks = 0;
  std::uint64_t foreground_room = 0;  // H; 0 while classes do not count
  std::uint64_t reserved = 0;         // sum of the classes' reserves; leaves S to everybody
  std::uint32_t foreground_room_chunks = 0;
  std::uint32_t foreground_chunks = 0;  // part of in_flight_chunks
  std::uint8_t ready = 0;               // classes that it takes a chunk of: their bits
  std::uint8_t wanted = 0;              // classes with something queued on it: their bits
  bool open = false;
  bool capped = false;                // a class has a cap
  bool held = false;                  // something needs more room than there is
  bool learns = false;                // its window measures chunks
  bool away = false;                  // the way to its host is broken
  bool dry = false;                   // its receiver has no room for what users would send next
  bool internal_dry = false;          // nor for internal work
  bool given_up = false;              // and the route budget is spent: nothing may wait for it
  std::int64_t paused_until_ns = 0;   // 0 = not paused
  std::uint64_t queued_owners = 0;    // with something to hand over
  std::uint64_t largest_chunk = 0;    // S, or all of a window that is smaller; at most 1 TiB
  std::uint64_t chunk_bytes = 0;      // S
  std::uint64_t internal_bytes = 0;   // part of in_flight_bytes
  std::uint32_t internal_chunks = 0;  // part of in_flight_chunks
  std::int64_t away_since_ns = 0;
  std::uint32_t pauses = 0;              // in a row, without a chunk that ended well
  std::uint16_t receiver = kNoReceiver;  // whose memory its data goes to
  std::uint64_t internal_need = 0;
  std::array<ClassOnLane, kMaxClasses> classes{};  // of users; of internal work `queued` alone

  std::uint64_t internal_room_bytes() const { return std::max(largest_chunk, window_bytes / 8); }
  std::uint32_t internal_room_chunks() const { return std::max(1u, window_chunks / 8); }
  bool has_internal_room(std::uint64_t bytes) const {
    const bool shared = in_flight_chunks < window_chunks &&
                        bytes <= minus_saturating(window_bytes, in_flight_bytes);
    return shared || (internal_chunks < internal_room_chunks() &&
                      bytes <= minus_saturating(internal_room_bytes(), internal_bytes));
  }

  std::uint64_t queued_bytes() const {
    std::uint64_t sum = 0;
    for (const ClassOnLane& each : classes) sum += each.queued;
    return sum;
  }
  // Of the window, for other classes than this one.
  std::uint64_t kept_from(std::uint32_t cls) const {
    std::uint64_t kept = 0;
    for (std::uint32_t c = 1; c < kMaxClasses; ++c) {
      if (c != cls) kept += classes[c].unused_reserve();
    }
    return kept;
  }

  // What is left of the window for a class of users, whatever its cap.
  std::uint64_t window_room(std::uint32_t cls) const {
    const std::uint64_t foreground = classes[kForeground].in_flight;
    const std::uint64_t kept = reserved == 0 ? 0 : kept_from(cls);
    if (cls != kForeground) {
      const std::uint64_t own = std::min(foreground, foreground_room);
      return minus_saturating(window_bytes, plus_saturating(in_flight_bytes - own, kept));
    }
    const std::uint64_t others =
        std::min(window_bytes, plus_saturating(in_flight_bytes - foreground, kept));
    return minus_saturating(plus_saturating(window_bytes, foreground_room), foreground + others);
  }
  bool has_slot(std::uint32_t cls) const {
    const std::uint32_t others = in_flight_chunks - foreground_chunks;
    if (cls == kForeground) {
      return foreground_chunks + std::min(others, window_chunks) <
             window_chunks + foreground_room_chunks;
    }
    return others + minus_saturating(foreground_chunks, foreground_room_chunks) < window_chunks;
  }
  std::uint64_t cap_room(std::uint32_t cls) const {
    return minus_saturating(classes[cls].most, classes[cls].in_flight);
  }
  // What a class is held for may be a longer chunk of another one, which its own cap knows nothing
  // of.
  bool cap_allows(std::uint32_t cls, std::uint64_t need) const {
    return std::min(need, classes[cls].most) <= cap_room(cls);
  }
  bool has_room(std::uint32_t cls, std::uint64_t bytes) const {
    return has_slot(cls) && bytes <= window_room(cls) && bytes <= cap_room(cls);
  }

  // The next chunk in order does not fit: nothing of what shares its room goes before it.
  void hold(std::uint32_t cls, std::uint64_t bytes) {
    held = true;
    classes[cls].need = bytes;
    if (bytes <= window_room(cls)) return;  // its cap: no matter of the others
    for (std::uint32_t c = 1; c < kMaxClasses; ++c) {
      const bool of_its_own = classes[c].unused_reserve() != 0 ||
                              (c == kForeground && classes[c].in_flight < foreground_room);
      if (!of_its_own) classes[c].need = std::max(classes[c].need, bytes);
    }
  }
  void drop_holds() {
    if (held) {
      for (ClassOnLane& each : classes) each.need = 0;
    }
    held = false;
    internal_need = 0;
  }
  // Bits of the classes whose next chunk may fit.
  std::uint8_t classes_with_room() const {
    return !held && !capped && reserved == 0 ? classes_of_plain_window() : classes_one_by_one();
  }
  std::uint8_t classes_one_by_one() const {
    std::uint32_t bits = 0;
    for (std::uint32_t c = 1; c < kMaxClasses; ++c) {
      const std::uint64_t need = std::max<std::uint64_t>(1, classes[c].need);
      if (has_slot(c) && need <= window_room(c) && cap_allows(c, need)) bits |= 1u << c;
    }
    return static_cast<std::uint8_t>(bits & kClientClassMask);
  }
  // The same where no class has a cap, a reserve or a need: has_slot() and window_room() for
  // foreground and for one of the others, in as few steps as every chunk can afford.
  std::uint8_t classes_of_plain_window() const {
    constexpr std::uint32_t kOthers = kClientClassMask & ~(1u << kForeground);
    const std::uint64_t foreground = classes[kForeground].in_flight;
    const std::uint64_t others = in_flight_bytes - foreground;
    const std::uint32_t other_chunks = in_flight_chunks - foreground_chunks;
    const bool to_foreground = foreground + std::min(others, window_bytes) <
                                   plus_saturating(window_bytes, foreground_room) &&
                               foreground_chunks + std::min(other_chunks, window_chunks) <
                                   window_chunks + foreground_room_chunks;
    const bool to_others =
        in_flight_bytes - std::min(foreground, foreground_room) < window_bytes &&
        in_flight_chunks - std::min(foreground_chunks, foreground_room_chunks) < window_chunks;
    return static_cast<std::uint8_t>((to_foreground ? 1u << kForeground : 0) |
                                     (to_others ? kOthers : 0));
  }
};

}  // namespace tentq::core
