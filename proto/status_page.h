// The read-only status page: a small file in /run/tentq that the daemon rewrites several times a
// second and anybody may map, so that tools see its state even when it hangs or is dead. Numbers
// are bytes, nanoseconds (CLOCK_MONOTONIC) or counts. Nothing in it depends on a reader.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "proto/classes.h"
#include "proto/session_layout.h"
#include "proto/status.h"
#include "proto/text.h"

namespace tentq {

inline constexpr std::uint64_t kStatusPageMagic = 0x4547'4150'5154'5454;  // "TTTQPAGE"
inline constexpr std::size_t kStatusLanes = 16;
inline constexpr std::size_t kStatusErrors = 32;
inline constexpr std::size_t kStatusReasons = 32;  // room for new reasons

struct StatusPageClass {
  std::uint64_t depth;      // owners queued
  std::uint64_t bytes;      // queued
  std::uint64_t in_flight;  // owners
  std::uint64_t in_flight_bytes;
  std::uint64_t route_pending;  // owners
  std::uint64_t draining;       // owners
  std::uint64_t oldest_age_ns;  // of the oldest queued owner when updated; 0 = none
};
static_assert(sizeof(StatusPageClass) == 56);

struct StatusPageLane {
  Text<32> name;
  Text<16> transport;
  std::uint64_t queued_owners;
  std::uint64_t queued_bytes;
  std::uint64_t in_flight_bytes;
  std::uint64_t window_bytes;
  std::uint64_t chunk_bytes;
  std::uint32_t in_flight_chunks;
  std::uint32_t window_chunks;
};
static_assert(sizeof(StatusPageLane) == 96);

struct StatusPageError {
  Text<64> cause;
  Text<160> text;
  Text<160> remedy;
  std::uint64_t count;
  std::int64_t first_ns;
  std::int64_t last_ns;
  std::uint64_t level;  // 0 debug … 3 error
};
static_assert(sizeof(StatusPageError) == 416);

// One consistent picture. The first class_count, lane_count and error_count entries are valid;
// lanes_total and errors_total say how many there are altogether.
struct StatusPageBody {
  Text<32> version;
  std::uint64_t epoch_counter;
  std::uint64_t epoch_random;
  std::uint32_t pid;
  std::uint32_t state;  // DaemonState
  std::int64_t started_ns;
  std::int64_t updated_ns;
  std::uint64_t updates;  // rises with every picture: the later of two copies has more
  Text<112> socket_path;
  Text<112> admin_socket_path;
  Text<16> policy;

  std::uint32_t sessions;
  std::uint32_t regions;
  std::uint64_t registered_bytes;
  std::uint32_t shm_workers;
  std::uint32_t class_count;
  std::uint32_t lane_count;
  std::uint32_t lanes_total;
  std::uint32_t error_count;
  std::uint32_t errors_total;

  std::uint64_t reaped_clients;
  std::uint64_t refused_attaches;
  std::uint64_t missed_wakeups;
  std::uint64_t turns;
  std::uint64_t sleeps;
  std::uint64_t enqueued;
  std::uint64_t dispatched_chunks;
  std::uint64_t completed;
  std::uint64_t failed;
  std::uint64_t timed_out;
  std::uint64_t canceled;
  std::uint64_t transferred_bytes;
  std::uint64_t requeues;
  std::uint64_t stale_completions;
  std::uint64_t internal_reserve_exhausted;
  std::uint64_t rejected[kStatusReasons];  // by Reason

  StatusPageClass classes[kMaxClasses];
  StatusPageLane lanes[kStatusLanes];
  StatusPageError errors[kStatusErrors];
};
static_assert(std::is_trivially_copyable_v<StatusPageBody>);
static_assert(offsetof(StatusPageBody, socket_path) == 80);
static_assert(offsetof(StatusPageBody, sessions) == 320);
static_assert(offsetof(StatusPageBody, reaped_clients) == 360);
static_assert(offsetof(StatusPageBody, rejected) == 480);
static_assert(offsetof(StatusPageBody, classes) == 736);
static_assert(offsetof(StatusPageBody, lanes) == 1184);
static_assert(offsetof(StatusPageBody, errors) == 2720);
static_assert(sizeof(StatusPageBody) == 16032);
static_assert(kReasonCount <= kStatusReasons);

inline constexpr std::size_t kStatusWords = sizeof(StatusPageBody) / 8;

// One body under a sequence lock: odd while it is written. Words are atomic, so that a torn read
// is a retry and never a data race. Writer: sequence odd, words (release each), sequence even
// (release). Reader: sequence (acquire), words (acquire each), sequence again. A reader that saw a
// word of a newer body therefore sees a newer sequence; tests/daemon reads under a writer.
struct alignas(64) StatusPageCopy {
  std::atomic<std::uint64_t> sequence;  // 0: never written
  std::atomic<std::uint64_t> words[kStatusWords];
};

// The file. Two copies, written in turn: when the daemon dies inside a write, the other is whole.
struct StatusPage {
  std::uint64_t magic;
  std::uint64_t layout_hash;
  std::uint64_t bytes;  // of the whole file
  // The time of the conductor's latest turn that beat it; outside the sequence lock.
  std::atomic<std::int64_t> heartbeat_ns;
  StatusPageCopy copies[2];
};
static_assert(offsetof(StatusPage, heartbeat_ns) == 24 && offsetof(StatusPage, copies) == 64);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

inline constexpr std::uint64_t kStatusPageHash = detail::fnv_all(
    {sizeof(StatusPage), sizeof(StatusPageBody), sizeof(StatusPageClass), sizeof(StatusPageLane),
     sizeof(StatusPageError), offsetof(StatusPageBody, sessions),
     offsetof(StatusPageBody, rejected), offsetof(StatusPageBody, classes),
     offsetof(StatusPageBody, lanes), offsetof(StatusPageBody, errors), kMaxClasses});

// Writes one copy. One writer; never waits.
inline void store_status(StatusPageCopy* copy, const StatusPageBody& body) {
  std::array<std::uint64_t, kStatusWords> words;
  std::memcpy(words.data(), &body, sizeof(body));
  const std::uint64_t sequence = copy->sequence.load(std::memory_order_relaxed);
  copy->sequence.store(sequence | 1u, std::memory_order_relaxed);
  for (std::size_t i = 0; i < kStatusWords; ++i) {
    copy->words[i].store(words[i], std::memory_order_release);
  }
  copy->sequence.store((sequence | 1u) + 1, std::memory_order_release);
}

// Reads one copy. False: never written, or changed while it was read.
inline bool load_status(const StatusPageCopy& copy, StatusPageBody* body) {
  const std::uint64_t before = copy.sequence.load(std::memory_order_acquire);
  if (before == 0 || (before & 1u) != 0) return false;
  std::array<std::uint64_t, kStatusWords> words;
  for (std::size_t i = 0; i < kStatusWords; ++i) {
    words[i] = copy.words[i].load(std::memory_order_acquire);
  }
  if (copy.sequence.load(std::memory_order_relaxed) != before) return false;
  std::memcpy(static_cast<void*>(body), words.data(), sizeof(*body));
  return true;
}

}  // namespace tentq
