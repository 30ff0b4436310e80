// The seam between the daemon and what moves bytes. Six verbs; every implementation, the fake
// included, passes tests/transports/conformance. All verbs are called by the conductor thread and
// none blocks; an implementation's own threads report through poll().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "proto/cell.h"
#include "proto/classes.h"
#include "proto/ids.h"
#include "proto/status.h"
#include "proto/units.h"

namespace tentq {

// A range of memory inside a mapped region. The region stays mapped, and its bytes reserved for the
// chunk, until the chunk's completion has been polled.
struct MemoryRange {
  RegionIndex region;
  std::uint64_t offset = 0;     // from the region's start, bytes
  std::byte* mapped = nullptr;  // region start + offset in this process; null if not of this host
  // Populated and locked: touching it neither faults nor waits, so a small copy may be made inline.
  bool resident = false;
};

struct Chunk {
  ChunkId id;
  Op op = Op::read;  // read: remote → local; write: local → remote
  // Part of what another host reads from `local`: op is write, and `remote.offset` counts from the
  // start of its READ.
  bool answer = false;
  ClassId cls = ClassId::standard;
  LaneId lane;
  MemoryRange local;
  // On another host: region is invalid and mapped null.
  MemoryRange remote;
  // On another host: the segment's handle in the link; of an answer the READ's number, as the
  // transport reported it. Else 0.
  std::uint64_t peer_handle = 0;
  std::uint64_t length = 0;  // bytes, never 0
};

enum class ChunkOutcome : std::uint8_t {
  done,          // all bytes are where they belong, visible to whoever sees the status
  memory_fault,  // touching one side failed
  canceled,      // cancel() was in time; no byte will be touched any more
  failed,        // the transport failed; no byte will be touched any more
  // The way to the peer broke; no byte will be touched any more, and whether some were written is
  // not known. It may be posted again.
  lost,
  // The peer refused it, or its side failed: `Completion::reason` says why.
  refused,
};

// Reported once for every accepted chunk, when the transport no longer touches either range.
struct Completion {
  ChunkId id;
  std::uint64_t bytes = 0;  // moved
  ChunkOutcome outcome = ChunkOutcome::done;
  Reason reason = Reason::none;  // of `refused`
  // The part of its time that it waited at the other host: no delay of the lane.
  Duration queued_elsewhere{0};
};

// Why post() took fewer chunks than it was given. `saturated` is transient: nothing was changed for
// the chunks not taken, and they may be posted again. `failed` is not.
enum class PostRefusal : std::uint8_t { none, saturated, failed };

struct PostOutcome {
  std::size_t accepted = 0;  // chunks [0, accepted) are now the transport's
  PostRefusal refusal = PostRefusal::none;
};

class Transport {
 public:
  virtual ~Transport() = default;

  // "shm", "tcp", "rdma", "fake".
  virtual std::string_view name() const = 0;

  // Hands over chunks in order. Order of completion is free.
  virtual PostOutcome post(std::span<const Chunk> chunks) = 0;

  // Takes up to completions.size() completions; returns how many. Never blocks.
  virtual std::size_t poll(std::span<Completion> completions) = 0;

  // Asks for an early end of an accepted chunk. A completion follows in any case; an id that is not
  // in flight is ignored.
  virtual void cancel(ChunkId id) = 0;

  // Called before the conductor sleeps. Returns false if completions are ready now (do not sleep);
  // otherwise the next completion makes wakeup_fd() readable. poll() disarms and clears the fd.
  virtual bool arm_wakeup() = 0;

  // An fd to wait on for readability; owned by the transport, the same over its life.
  virtual int wakeup_fd() const = 0;
};

}  // namespace tentq
