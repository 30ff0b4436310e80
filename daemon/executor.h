// Carries out what the core decides about chunks: posts them to the transport of their lane,
// grouped, and turns completions into events. Conductor thread only.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "daemon/core/core.h"
#include "daemon/lanes.h"
#include "daemon/regions.h"
#include "transports/transport.h"

namespace tentq {

class Executor {
 public:
  // What chunks to and from other hosts are made of.
  class Elsewhere {
   public:
    // Fills in what the other host's side of the chunk is; all else is set. False with *reason when
    // that side is gone: the chunk ends so, and nothing is posted.
    virtual bool find(const core::DispatchChunk& effect, Chunk* chunk, Reason* reason) = 0;

   protected:
    ~Elsewhere() = default;
  };

  // `here` serves the lanes of this host.
  Executor(core::Core& core, Regions& regions, Transport& here);
  // `transport` serves all other lanes. At most once, before anything is collected; both outlive
  // it.
  void add(Transport& transport, Elsewhere& elsewhere);

  // Collects a chunk for the next post_collected().
  void collect(const core::DispatchChunk& effect);
  void cancel(const core::CancelChunk& effect) {
    serving(effect.lane).transport->cancel(effect.chunk);
  }
  // Hands over what was collected. Chunks that their transport did not take go back to the core.
  void post_collected(Time now);
  // Completions into events. True if there were any.
  bool reap(Time now);

  // Around the conductor's sleep. False: there are completions now.
  bool arm_wakeup();
  // How many transports there are, each with a wake-up fd of its own.
  std::size_t transports() const { return count_; }
  int wakeup_fd(std::size_t transport) const { return served_[transport].transport->wakeup_fd(); }
  // The wake-up fd is readable, for what was perhaps reaped before.
  void clear_wakeup(std::size_t transport);
  std::uint64_t in_flight() const { return served_[0].in_flight + served_[1].in_flight; }

 private:
  struct Served {
    Transport* transport = nullptr;
    std::vector<Chunk> collected;
    std::uint64_t in_flight = 0;
  };
  // A chunk whose other side is gone, to be told after what was collected.
  struct Lost {
    ChunkId id;
    Reason reason{};
  };

  Served& serving(LaneId lane) { return served_[is_shm(lane) ? 0 : 1]; }
  void find_range(RegionIndex index, std::uint64_t offset, MemoryRange* range);
  void post(Served& served, Time now);
  bool reap(Served& served, Time now);

  core::Core& core_;
  Regions& regions_;
  Elsewhere* elsewhere_ = nullptr;
  std::array<Served, 2> served_;  // this host's lanes, all others
  std::size_t count_ = 1;
  std::vector<Lost> lost_;
  std::array<Completion, 64> completions_{};
};

}  // namespace tentq
