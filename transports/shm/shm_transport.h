// Copies between mapped regions of two clients of this host: small chunks of resident memory at
// once on the conductor, all others by copying threads; with a single one of these the conductor
// copies along while it would only wait. Sizes in bytes. Conductor thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "proto/units.h"
#include "transports/shm/copy_chooser.h"
#include "transports/shm/copy_job.h"
#include "transports/shm/copy_workers.h"
#include "transports/transport.h"
#include "transports/wakeup_fd.h"

namespace tentq {

struct ShmOptions {
  std::uint32_t workers = 0;               // copying threads; 0: min(4, cores − 1), at least 1
  std::uint32_t inline_bytes = 16u << 10;  // largest chunk copied on the conductor
  std::uint32_t inline_turn_bytes = 64u << 10;  // most copied on the conductor between two polls
  // One large chunk at a time is copied on the conductor, resident memory alone, a piece of at most
  // inline_turn_bytes in each poll that finds nothing. Nothing: with a single copying thread.
  std::optional<bool> copies_along{};
  std::uint32_t queue_chunks = 4096;       // most accepted and not yet polled, at least 1
  std::uint32_t piece_bytes = 128u << 10;  // a cancel takes effect between pieces
  Duration spin =
      std::chrono::microseconds{20};  // of an idle worker before it sleeps; none on one core
  std::uint64_t cache_bytes = 0;      // working set that stays cached; 0: from the host's caches
};

// Call install_sigbus_guard() once before chunks are posted: then memory that was taken away fails
// its chunk as memory_fault; without it the process ends.
class ShmTransport final : public Transport {
 public:
  // Throws std::invalid_argument for options out of range and std::system_error when a thread or
  // fd cannot be made.
  explicit ShmTransport(const ShmOptions& options = {});
  // Chunks in flight are stopped at their next piece and waited for; nothing is touched afterwards.
  ~ShmTransport() override;
  ShmTransport(const ShmTransport&) = delete;
  ShmTransport& operator=(const ShmTransport&) = delete;

  std::string_view name() const override { return "shm"; }
  PostOutcome post(std::span<const Chunk> chunks) override;
  std::size_t poll(std::span<Completion> completions) override;
  // A chunk that no thread has begun ends at once; one being copied ends at its next piece.
  void cancel(ChunkId id) override;
  bool arm_wakeup() override;
  int wakeup_fd() const override { return wakeup_.fd(); }

  // Copying threads that run.
  std::uint32_t workers() const { return workers_.threads(); }

 private:
  bool accept(const Chunk& chunk, bool* queued);
  bool fits_inline(const Chunk& chunk) const;
  bool fits_along(const Chunk& chunk) const;
  void copy_along();
  std::size_t collect(std::span<Completion> completions);
  void end_here(std::uint32_t slot);

  const ShmOptions options_;
  std::uint64_t inline_left_;  // bytes that may still be copied here before the next poll
  CopyChooser chooser_;
  WakeupFd wakeup_;
  JobTable jobs_;
  std::optional<std::uint32_t> along_;  // the job that is copied here piece by piece
  std::size_t with_workers_ = 0;        // jobs submitted to them and not collected
  DoneRing ended_here_;                 // copied inline, or canceled before any thread began
  CopyWorkers workers_;                 // last: stops before what it uses goes
};

}  // namespace tentq
