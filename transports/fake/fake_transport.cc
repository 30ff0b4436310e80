// See fake_transport.h.
#include "transports/fake/fake_transport.h"

#include <algorithm>
#include <cstring>

#include "proto/check.h"

namespace tentq {
namespace {

Completion carry_out(const Chunk& chunk) {
  if (chunk.local.mapped == nullptr || chunk.remote.mapped == nullptr) {
    return {chunk.id, 0, ChunkOutcome::memory_fault};
  }
  const bool reads = chunk.op == Op::read;
  std::byte* to = reads ? chunk.local.mapped : chunk.remote.mapped;
  const std::byte* from = reads ? chunk.remote.mapped : chunk.local.mapped;
  std::memcpy(to, from, chunk.length);
  return {chunk.id, chunk.length, ChunkOutcome::done};
}

}  // namespace

PostOutcome FakeTransport::post(std::span<const Chunk> chunks) {
  PostOutcome outcome;
  for (const Chunk& chunk : chunks) {
    TENTQ_CHECK(chunk.length > 0);
    if (options_.capacity_chunks != 0 && pending_.size() >= options_.capacity_chunks) {
      outcome.refusal = PostRefusal::saturated;
      break;
    }
    pending_.push_back({chunk});
    ++outcome.accepted;
  }
  if (outcome.accepted > 0) wakeup_.ring();
  return outcome;
}

std::size_t FakeTransport::poll(std::span<Completion> completions) {
  wakeup_.disarm();
  std::size_t most = std::min(completions.size(), pending_.size());
  if (options_.completions_per_poll != 0) {
    most = std::min<std::size_t>(most, options_.completions_per_poll);
  }
  for (std::size_t i = 0; i < most; ++i) {
    const Pending& next = pending_.front();
    completions[i] = next.canceled ? Completion{next.chunk.id, 0, ChunkOutcome::canceled}
                                   : carry_out(next.chunk);
    pending_.pop_front();
  }
  return most;
}

void FakeTransport::cancel(ChunkId id) {
  for (Pending& pending : pending_) {
    if (pending.chunk.id == id) pending.canceled = true;
  }
}

bool FakeTransport::arm_wakeup() {
  if (!pending_.empty()) return false;
  wakeup_.arm();
  return true;
}

}  // namespace tentq
