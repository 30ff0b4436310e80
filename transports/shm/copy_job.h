// One accepted chunk on its way through the shared-memory transport, and the table of all of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "transports/shm/copy_routines.h"
#include "transports/transport.h"

namespace tentq {

// Names a use of a table entry. An entry is used again while a queue may still hold an old ticket
// (of a canceled job); the generation tells them apart.
struct JobTicket {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
};

// Who may touch a job's memory: nobody yet, the thread that took it, nobody any more.
enum class JobState : std::uint32_t { queued = 0, running = 1, ended = 2 };

class alignas(64) CopyJob {
 public:
  // Takes the job for copying; false if `ticket` is old or the job was canceled. Any thread.
  // Partner: the same exchange in withdraw(). Without it a canceled chunk could still be written
  // after its completion was reported.
  bool take(JobTicket ticket) { return exchange(ticket.generation, JobState::running); }
  // Ends a job that nobody has taken. Conductor.
  bool withdraw() { return exchange(generation_, JobState::ended); }
  // Asks the copying thread to stop at the next piece. Conductor.
  void ask_to_stop() { stop_.store(true, std::memory_order_relaxed); }

  // Copies piece by piece on the calling thread, which has taken the job, and fills in the result.
  void carry_out(std::uint32_t piece_bytes);
  // The next piece alone; false when nothing is left to do. Begin with what open() set.
  bool carry_on(std::uint64_t piece_bytes);

  void describe(Completion* completion) const {
    completion->id = id;
    completion->bytes = bytes;
    completion->outcome = outcome;
  }

  ChunkId id;
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint64_t length = 0;
  std::uint64_t bytes = 0;  // moved
  CopyRoutine routine = CopyRoutine::libc;
  ChunkOutcome outcome = ChunkOutcome::done;

 private:
  friend class JobTable;

  static std::uint64_t word(std::uint32_t generation, JobState state) {
    return (std::uint64_t{generation} << 32) | static_cast<std::uint32_t>(state);
  }
  bool exchange(std::uint32_t generation, JobState to_state) {
    std::uint64_t expected = word(generation, JobState::queued);
    return word_.compare_exchange_strong(expected, word(generation, to_state),
                                         std::memory_order_acq_rel, std::memory_order_acquire);
  }

  std::atomic<std::uint64_t> word_{0};  // generation 32 | JobState
  std::atomic<bool> stop_{false};       // partner: carry_out(), between pieces; carries no data
  std::uint32_t generation_ = 0;        // conductor
  std::uint32_t next_ = 0;              // conductor: free list, or chain of the index
  bool indexed_ = false;                // conductor
};

// All entries are made at start; the number of entries is the most chunks that are accepted and not
// yet polled. Conductor only, but for operator[].
class JobTable {
 public:
  explicit JobTable(std::uint32_t entries);

  // An entry for a new job (state `queued`), or nothing when all are in use.
  std::optional<JobTicket> open(ChunkId id);
  // Makes the job findable by its chunk.
  void index(std::uint32_t slot);
  // After its completion was polled.
  void close(std::uint32_t slot);
  // The indexed job of a chunk.
  std::optional<std::uint32_t> find(ChunkId id) const;

  CopyJob& operator[](std::uint32_t slot) { return jobs_[slot]; }
  std::uint32_t entries() const { return entries_; }
  std::uint32_t used() const { return used_; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::size_t bucket_of(const ChunkId& id) const;

  std::uint32_t entries_;
  std::uint32_t used_ = 0;
  std::uint32_t free_ = kNone;
  std::unique_ptr<CopyJob[]> jobs_;
  std::vector<std::uint32_t> buckets_;  // first slot of a chain
};

}  // namespace tentq
