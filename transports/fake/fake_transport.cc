// See fake_transport.h.
#include "transports/fake/fake_transport.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

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

FakeTransport::FakeTransport(FakeOptions options)
    : options_(options), wakeup_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wakeup_fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

FakeTransport::~FakeTransport() {
  close(wakeup_fd_);
}

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
  if (armed_ && outcome.accepted > 0) {
    armed_ = false;
    const std::uint64_t one = 1;
    TENTQ_CHECK(write(wakeup_fd_, &one, sizeof one) == sizeof one);
  }
  return outcome;
}

std::size_t FakeTransport::poll(std::span<Completion> completions) {
  armed_ = false;
  std::uint64_t count = 0;
  TENTQ_CHECK(read(wakeup_fd_, &count, sizeof count) == sizeof count || errno == EAGAIN);
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
  armed_ = true;
  return true;
}

}  // namespace tentq
