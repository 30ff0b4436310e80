// The conductor's loop. See conductor.h.
#include "daemon/conductor.h"

#include <time.h>

#include <algorithm>
#include <utility>

namespace tentq {

namespace {

// How often sockets are looked at while there is work: a system call of half a microsecond.
constexpr Duration kPollSockets = std::chrono::microseconds{50};

// Looks between two readings of the clock while spinning.
constexpr int kGlances = 8;

// Handlers that run before the rings have their turn again, and how long: a question may cost more
// than a message, and who asks without end shall not hold up transfers.
constexpr std::size_t kHandlersPerTurn = 64;
constexpr Duration kSocketsPerTurn = std::chrono::microseconds{200};

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Time monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return time_from_ns(std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec);
}

void Conductor::run() {
  Time now = monotonic_now();
  Time last_work = now;
  Time last_sockets{};
  Time last_periodic{};
  bool seen = false;  // by a glance: the time of the turn before is a few glances old
  while (!steps_.finished()) {
    if (!seen) now = monotonic_now();
    ++turns_;
    const bool worked = steps_.work(now);
    if (worked) {
      spin_.came_after(now - last_work, settings_.spin);
      last_work = now;
    }
    if (now - last_sockets >= kPollSockets) {
      last_sockets = now;
      if (poll_sockets() > 0) last_work = now;
      steps_.park_idle(now);
    }
    if (now - last_periodic >= settings_.safety_poll) {
      last_periodic = now;
      steps_.periodic(now);
    }
    const bool reused = std::exchange(seen, false);
    if (worked) continue;
    if (now - last_work < spin_.length(settings_.spin)) {
      for (int i = 0; i < kGlances && !seen; ++i) {
        relax();
        seen = steps_.glance();
      }
      // A glance may be wrong, but time goes on.
      if (reused) seen = false;
    } else if (steps_.prepare_sleep(now)) {
      sleep(now);
      last_sockets = Time{};
    }
  }
}

// Bounded: a descriptor that stays readable until the next turn clears it must not keep the
// handlers running for ever.
std::size_t Conductor::poll_sockets() {
  const Time end = monotonic_now() + kSocketsPerTurn;
  std::size_t ran = 0;
  while (ran < kHandlersPerTurn && io_.poll_one() > 0) {
    ++ran;
    if (monotonic_now() >= end) break;
  }
  return ran;
}

void Conductor::sleep(Time now) {
  ++sleeps_;
  const Time until = std::min(steps_.next_deadline(), now + settings_.safety_poll);
  if (until <= now) {
    poll_sockets();
    return;
  }
  io_.run_one_for(until - now);
}

}  // namespace tentq
