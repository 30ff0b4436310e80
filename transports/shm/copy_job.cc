// See copy_job.h.
#include "transports/shm/copy_job.h"

#include <algorithm>
#include <bit>

#include "proto/check.h"
#include "transports/shm/guarded_copy.h"

namespace tentq {

void CopyJob::carry_out(std::uint32_t piece_bytes) {
  bytes = 0;
  outcome = ChunkOutcome::done;
  while (carry_on(piece_bytes)) {
  }
}

bool CopyJob::carry_on(std::uint64_t piece_bytes) {
  if (stop_.load(std::memory_order_relaxed)) {
    outcome = ChunkOutcome::canceled;
    return false;
  }
  const std::uint64_t piece = std::min(piece_bytes, length - bytes);
  if (!guarded_copy(routine, to + bytes, from + bytes, piece)) {
    outcome = ChunkOutcome::memory_fault;
    return false;
  }
  bytes += piece;
  return bytes < length;
}

JobTable::JobTable(std::uint32_t entries)
    : entries_(entries),
      jobs_(std::make_unique<CopyJob[]>(entries)),
      buckets_(std::bit_ceil(std::max<std::size_t>(entries, 1)), kNone) {
  for (std::uint32_t slot = entries; slot-- > 0;) {
    jobs_[slot].next_ = free_;
    free_ = slot;
  }
}

std::optional<JobTicket> JobTable::open(ChunkId id) {
  if (free_ == kNone) return std::nullopt;
  const std::uint32_t slot = free_;
  CopyJob& job = jobs_[slot];
  free_ = job.next_;
  ++used_;
  job.id = id;
  job.bytes = 0;
  job.outcome = ChunkOutcome::done;
  job.indexed_ = false;
  ++job.generation_;
  job.stop_.store(false, std::memory_order_relaxed);
  // A worker with an old ticket may look at the word now; the queue orders everything else.
  job.word_.store(CopyJob::word(job.generation_, JobState::queued), std::memory_order_release);
  return JobTicket{slot, job.generation_};
}

void JobTable::index(std::uint32_t slot) {
  CopyJob& job = jobs_[slot];
  std::uint32_t& first = buckets_[bucket_of(job.id)];
  job.next_ = first;
  job.indexed_ = true;
  first = slot;
}

void JobTable::close(std::uint32_t slot) {
  CopyJob& job = jobs_[slot];
  if (job.indexed_) {
    std::uint32_t* link = &buckets_[bucket_of(job.id)];
    while (*link != slot) {
      TENTQ_CHECK(*link != kNone);
      link = &jobs_[*link].next_;
    }
    *link = job.next_;
  }
  job.next_ = free_;
  free_ = slot;
  TENTQ_CHECK(used_ > 0);
  --used_;
}

std::optional<std::uint32_t> JobTable::find(ChunkId id) const {
  std::uint32_t slot = buckets_[bucket_of(id)];
  while (slot != kNone && jobs_[slot].id != id) slot = jobs_[slot].next_;
  if (slot == kNone) return std::nullopt;
  return slot;
}

std::size_t JobTable::bucket_of(const ChunkId& id) const {
  std::uint64_t hash = id.owner.number() * 0x9e37'79b9'7f4a'7c15u;
  hash = (hash ^ (std::uint64_t{id.attempt} << 32 | id.ordinal)) * 0xff51'afd7'ed55'8ccdu;
  return (hash >> 32) & (buckets_.size() - 1);
}

}  // namespace tentq
