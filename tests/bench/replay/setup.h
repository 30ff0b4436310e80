// What the processes of a replay share: the options, the trace, the directory and the results.
// Made before they are forked.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "shm/fd.h"
#include "tests/bench/host_pair.h"
#include "tests/bench/replay/directory.h"
#include "tests/bench/replay/trace.h"
#include "tests/support/role.h"

namespace tentq::bench {

// More than there are values of TaskReason.
inline constexpr std::size_t kReasons = 32;

struct ReplayOptions {
  std::string trace;
  std::uint64_t requests = 0;  // 0: all of the trace
  double speedup = 1;          // 0: as fast as possible
  std::uint32_t stores = 2;
  std::uint32_t engines = 2;
  std::uint64_t block = 256u << 10;
  std::uint64_t store_memory = std::uint64_t{4} << 30;     // of all Stores together
  std::uint64_t engine_memory = std::uint64_t{512} << 20;  // of each engine
  std::uint32_t prefetch = 4;  // blocks of the next request that the look-ahead reads
  std::string policy;
  HostChoice hosts;                      // tcp: engines at one, Stores at the other
  std::uint32_t daemon_kills = 0;        // the engines' daemon
  std::uint32_t store_daemon_kills = 0;  // the Stores'
  std::uint32_t store_kills = 0;
  std::uint64_t cut_ns = 0;  // the link between the hosts is cut once for so long; 0: never
  std::uint64_t flood = 0;   // bytes outstanding of the flood process
  bool quiet = false;

  std::uint32_t places_per_store() const {
    return static_cast<std::uint32_t>(store_memory / stores / block);
  }
  std::uint32_t buffers() const { return static_cast<std::uint32_t>(engine_memory / block); }
};

// Written by one engine; the coordinator reads `requests` at any time, the rest after its end.
struct alignas(64) EngineTotals {
  std::atomic<std::uint64_t> requests{0};  // finished
  std::uint64_t blocks_read = 0;
  std::uint64_t blocks_prefetched = 0;
  std::uint64_t blocks_written = 0;
  std::uint64_t blocks_skipped = 0;               // new, but every place of the Stores was in use
  std::uint64_t bytes = 0;                        // moved by transfers that completed
  std::uint64_t verify_errors = 0;                // blocks read with wrong bytes
  std::uint64_t calls = 0;                        // submits, repeats not counted
  std::uint64_t rejected = 0;                     // submits and owners refused for now
  std::uint64_t retries = 0;                      // repeated because of that
  std::uint64_t away = 0;                         // submits that found no daemon
  std::uint64_t lost = 0;                         // blocks whose transfer ended without success
  std::array<std::uint64_t, kReasons> reasons{};  // of them, by TaskReason
  std::uint64_t given_up = 0;                     // of them: refused for good at their submit
  std::int64_t last_ns = 0;                       // end of its last request
};

inline constexpr double kNoSample = -1;

struct Replay {
  Replay(const ReplayOptions& replay_options, std::vector<TraceRequest> requests,
         std::uint64_t run_seed);

  ReplayOptions options;
  std::vector<TraceRequest> trace;
  std::uint64_t seed;
  std::string socket;        // of the engines' daemon
  std::string store_socket;  // of the Stores'
  std::string prefix;        // of the address of a Store's segment, before its name
  Directory directory;
  test::SharedArray<EngineTotals> totals;                 // by engine
  test::SharedArray<double> foreground_us;                // by request; kNoSample: it read nothing
  test::SharedArray<double> late_us;                      // by request: start behind its arrival
  test::SharedArray<std::atomic<std::int64_t>> start_ns;  // [0]: arrivals count from here
  // [0]: only requests before this one may be taken up yet. Engines wait here for a death of the
  // daemon that is due, so that every one falls into the work however fast they are.
  test::SharedArray<std::atomic<std::uint64_t>> open_until;
  std::vector<shm::Fd> nudges;  // by engine: an eventfd that others write after their writes ended
};

// Wakes an engine that sleeps. Any process.
void nudge(const Replay& replay, std::uint32_t engine);

std::string store_name(std::uint32_t store);
// Places alternate between the Stores.
inline std::uint32_t store_of(const ReplayOptions& options, std::uint32_t place) {
  return place % options.stores;
}
inline std::uint64_t offset_of(const ReplayOptions& options, std::uint32_t place) {
  return place / options.stores * options.block;
}

}  // namespace tentq::bench
