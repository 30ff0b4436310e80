// See shm_transport.h.
#include "transports/shm/shm_transport.h"

#include <stdexcept>

#include "proto/check.h"

namespace tentq {
namespace {

ShmOptions checked(ShmOptions options) {
  if (options.queue_chunks == 0 || options.queue_chunks > (1u << 20)) {
    throw std::invalid_argument("shm: queue_chunks must be 1 to 1,048,576");
  }
  if (options.piece_bytes == 0) throw std::invalid_argument("shm: piece_bytes must be at least 1");
  if (options.workers > 256) throw std::invalid_argument("shm: workers must be 0 to 256");
  const std::uint32_t cores = usable_cores();
  if (options.workers == 0) options.workers = default_copy_workers(cores);
  if (options.cache_bytes == 0) options.cache_bytes = cache_bytes_of_host();
  if (cores == 1) options.spin = Duration::zero();
  options.copies_along =
      options.copies_along.value_or(options.workers == 1) && options.inline_turn_bytes > 0;
  return options;
}

}  // namespace

ShmTransport::ShmTransport(const ShmOptions& options)
    : options_(checked(options)),
      inline_left_(options_.inline_turn_bytes),
      chooser_(cached_routine(), streamed_routine(), options_.cache_bytes),
      jobs_(options_.queue_chunks),
      ended_here_(options_.queue_chunks),
      workers_({options_.workers, options_.piece_bytes, options_.spin}, &jobs_, &wakeup_) {}

ShmTransport::~ShmTransport() = default;

PostOutcome ShmTransport::post(std::span<const Chunk> chunks) {
  PostOutcome outcome;
  bool queued = false;
  for (const Chunk& chunk : chunks) {
    if (!accept(chunk, &queued)) {
      outcome.refusal = PostRefusal::saturated;
      break;
    }
    ++outcome.accepted;
  }
  if (queued) workers_.wake_one();
  return outcome;
}

bool ShmTransport::accept(const Chunk& chunk, bool* queued) {
  TENTQ_CHECK(chunk.length > 0);
  TENTQ_CHECK(chunk.local.mapped != nullptr && chunk.remote.mapped != nullptr);
  const auto ticket = jobs_.open(chunk.id);
  if (!ticket) return false;
  const bool reads = chunk.op == Op::read;
  const MemoryRange& to = reads ? chunk.local : chunk.remote;
  const MemoryRange& from = reads ? chunk.remote : chunk.local;
  CopyJob& job = jobs_[ticket->slot];
  job.to = to.mapped;
  job.from = from.mapped;
  job.length = chunk.length;
  job.routine = chooser_.choose({to.region, to.offset}, {from.region, from.offset}, chunk.length);
  if (fits_inline(chunk)) {
    inline_left_ -= chunk.length;
    job.carry_out(options_.piece_bytes);
    end_here(ticket->slot);
    return true;
  }
  if (fits_along(chunk)) {
    TENTQ_CHECK(job.take(*ticket));
    along_ = ticket->slot;
    jobs_.index(ticket->slot);
    return true;
  }
  if (!workers_.submit(*ticket)) {
    jobs_.close(ticket->slot);
    return false;
  }
  ++with_workers_;
  jobs_.index(ticket->slot);
  *queued = true;
  return true;
}

bool ShmTransport::fits_inline(const Chunk& chunk) const {
  return chunk.length <= options_.inline_bytes && chunk.length <= inline_left_ &&
         chunk.local.resident && chunk.remote.resident;
}

// The copying threads come first: a chunk alone is better off with one of them.
bool ShmTransport::fits_along(const Chunk& chunk) const {
  return *options_.copies_along && !along_ && with_workers_ >= workers_.threads() &&
         chunk.local.resident && chunk.remote.resident;
}

void ShmTransport::copy_along() {
  if (jobs_[*along_].carry_on(inline_left_)) return;
  end_here(*along_);
  along_.reset();
}

void ShmTransport::end_here(std::uint32_t slot) {
  ended_here_.push(slot);
  wakeup_.ring();
}

std::size_t ShmTransport::poll(std::span<Completion> completions) {
  wakeup_.disarm();
  inline_left_ = options_.inline_turn_bytes;
  const std::size_t count = collect(completions);
  if (count != 0 || !along_ || completions.empty()) return count;
  copy_along();
  inline_left_ = 0;
  return collect(completions);
}

std::size_t ShmTransport::collect(std::span<Completion> completions) {
  std::size_t count = 0;
  while (count < completions.size()) {
    auto slot = ended_here_.take();
    if (!slot) {
      slot = workers_.take_done();
      if (slot) --with_workers_;
    }
    if (!slot) break;
    jobs_[*slot].describe(&completions[count++]);
    jobs_.close(*slot);
  }
  return count;
}

void ShmTransport::cancel(ChunkId id) {
  const auto slot = jobs_.find(id);
  if (!slot) return;
  CopyJob& job = jobs_[*slot];
  if (job.withdraw()) {
    // A worker still finds the ticket, and nothing to do.
    --with_workers_;
    job.outcome = ChunkOutcome::canceled;
    end_here(*slot);
  } else {
    job.ask_to_stop();
  }
}

bool ShmTransport::arm_wakeup() {
  if (along_) return false;
  wakeup_.arm();
  if (!ended_here_.ready() && !workers_.done_ready()) return true;
  wakeup_.disarm();
  return false;
}

}  // namespace tentq
