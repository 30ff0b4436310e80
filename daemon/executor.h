// Carries out what the core decides about chunks: posts them to their transport, grouped, and turns
// completions into events. Conductor thread only.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "daemon/core/core.h"
#include "daemon/regions.h"
#include "transports/transport.h"

namespace tentq {

class Executor {
 public:
  Executor(core::Core& core, Regions& regions, Transport& transport);

  // Collects a chunk for the next post_collected().
  void collect(const core::DispatchChunk& effect);
  void cancel(const core::CancelChunk& effect) { transport_.cancel(effect.chunk); }
  // Hands over what was collected. Chunks that the transport did not take go back to the core.
  void post_collected(Time now);
  // Completions into events. True if there were any.
  bool reap(Time now);

  // Around the conductor's sleep.
  bool arm_wakeup() { return transport_.arm_wakeup(); }
  // The wake-up fd is readable, for what was perhaps reaped before.
  void clear_wakeup();
  int wakeup_fd() const { return transport_.wakeup_fd(); }
  std::uint64_t in_flight() const { return in_flight_; }

 private:
  void find_range(RegionIndex index, std::uint64_t offset, MemoryRange* range);

  core::Core& core_;
  Regions& regions_;
  Transport& transport_;
  std::vector<Chunk> collected_;
  std::array<Completion, 64> completions_{};
  std::uint64_t in_flight_ = 0;
};

}  // namespace tentq
