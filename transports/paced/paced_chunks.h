// The chunks that a paced transport has accepted and not yet reported: one queue for each lane in
// order of posting, and an index by id. All memory is made at start. Conductor thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "proto/check.h"
#include "transports/paced/lane_server.h"
#include "transports/transport.h"

namespace tentq {

enum class PacedState : std::uint8_t {
  waiting,  // the inner transport has not seen it
  moving,   // the inner transport's; its service began
  moved,    // the inner transport has reported it
};

struct PacedChunk {
  Chunk chunk;
  Completion completion;  // once it is moved
  Time posted{};
  Time due{};  // end of its service, once it is no longer waiting
  PacedState state = PacedState::waiting;

 private:
  friend class PacedChunks;
  std::uint32_t next_ = 0;      // of its lane, or of the free list
  std::uint32_t previous_ = 0;  // of its lane
  std::uint32_t chained_ = 0;   // of its bucket of the index
};

// A lane's queue: first those in service, oldest first, then those that wait.
struct PacedLane {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  LaneServer server;
  std::uint32_t first = kNone;
  std::uint32_t last = kNone;
  std::uint32_t first_waiting = kNone;
};

class PacedChunks {
 public:
  static constexpr std::uint32_t kNone = PacedLane::kNone;

  explicit PacedChunks(std::uint32_t entries);

  // Appends a waiting chunk to its lane; false, with nothing changed, when all entries are in use.
  bool append(const Chunk& chunk, Time posted);
  // Takes it out of its lane and forgets it.
  void remove(std::uint32_t slot);
  // The first waiting chunk of the lane goes into service.
  void begin(PacedLane& lane, Time due);
  std::optional<std::uint32_t> find(const ChunkId& id) const;

  PacedChunk& operator[](std::uint32_t slot) { return entries_[slot]; }
  const PacedChunk& operator[](std::uint32_t slot) const { return entries_[slot]; }
  std::vector<PacedLane>& lanes() { return lanes_; }
  const std::vector<PacedLane>& lanes() const { return lanes_; }
  std::uint32_t used() const { return used_; }

 private:
  std::uint32_t& bucket_of(const ChunkId& id);
  std::size_t bucket_number(const ChunkId& id) const;

  std::vector<PacedChunk> entries_;
  std::vector<std::uint32_t> buckets_;  // first slot of a chain
  std::vector<PacedLane> lanes_;        // by LaneId; grows to the highest one seen
  std::uint32_t free_ = kNone;
  std::uint32_t used_ = 0;
};

}  // namespace tentq
