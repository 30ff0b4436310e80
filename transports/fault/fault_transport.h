// A decorator that makes any transport misbehave in the ways that the seam allows: refusals, failed
// chunks, late and reordered completions. Decisions come from a script or a seed, delays are
// counted in polls, so a run over a deterministic transport depends on the calls alone.
// Conductor thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "transports/transport.h"
#include "transports/wakeup_fd.h"

namespace tentq {

// What happens to one chunk that is posted.
enum class ChunkFault : std::uint8_t {
  none,
  saturated,     // post() stops before it, once
  refused,       // post() stops before it with `failed`, once
  failed,        // accepted, not moved, ends as failed
  memory_fault,  // accepted, not moved, ends as memory_fault
  delayed,       // moved, but its completion is held for `delay_polls` polls
};

struct FaultOptions {
  // Taken by chunks in order of posting, one each, before any chance is thrown; a chunk that was
  // stopped and is posted again takes the next one.
  std::vector<ChunkFault> script;
  // Chances of 1,024, for each chunk after the script; thrown in this order, their sum ≤ 1,024.
  std::uint32_t saturated = 0;
  std::uint32_t refused = 0;
  std::uint32_t failed = 0;
  std::uint32_t memory_fault = 0;
  std::uint32_t delayed = 0;
  std::uint32_t delay_polls = 3;  // at least 1
  bool reorder = false;           // shuffles what becomes ready together
  std::uint64_t seed = 1;         // print it where it matters
};

class FaultTransport final : public Transport {
 public:
  // `inner` outlives it and is driven through it alone. Throws std::invalid_argument for chances
  // above 1,024 in sum or a delay of 0, std::system_error when no fd can be made.
  FaultTransport(Transport* inner, FaultOptions options);
  ~FaultTransport() override;
  FaultTransport(const FaultTransport&) = delete;
  FaultTransport& operator=(const FaultTransport&) = delete;

  std::string_view name() const override { return inner_->name(); }
  PostOutcome post(std::span<const Chunk> chunks) override;
  std::size_t poll(std::span<Completion> completions) override;
  void cancel(ChunkId id) override;
  bool arm_wakeup() override;
  int wakeup_fd() const override { return either_fd_; }

  // Chunks that met a fault so far.
  std::uint64_t faults() const { return faults_; }

 private:
  struct Held {
    Completion completion;
    std::uint64_t due_poll = 0;
  };

  ChunkFault next_fault();
  bool flush(PostOutcome* outcome);
  void end(const Chunk& chunk, ChunkOutcome how);
  void collect();

  Transport* inner_;
  FaultOptions options_;
  std::mt19937_64 random_;
  std::size_t script_at_ = 0;
  std::uint64_t polls_ = 0;
  std::uint64_t faults_ = 0;
  std::vector<Chunk> run_;        // chunks of a post that go to the inner transport together
  std::vector<ChunkId> delayed_;  // accepted; their completions will be held
  std::vector<Held> held_;        // completions not due yet, or not asked for yet
  WakeupFd own_wakeup_;           // for chunks that end in here
  int either_fd_ = -1;            // an epoll fd: the inner wakeup fd, or ours
};

}  // namespace tentq
