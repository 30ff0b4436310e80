// See fault_transport.h.
#include "transports/fault/fault_transport.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "proto/check.h"

namespace tentq {
namespace {

constexpr std::uint32_t kChances = 1024;

bool watch(int epoll, int fd) {
  epoll_event event = {};
  event.events = EPOLLIN;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

FaultTransport::FaultTransport(Transport* inner, FaultOptions options)
    : inner_(inner), options_(std::move(options)), random_(options_.seed) {
  const std::uint64_t sum = std::uint64_t{options_.saturated} + options_.refused + options_.failed +
                            options_.memory_fault + options_.delayed;
  if (sum > kChances) throw std::invalid_argument("fault: the chances exceed 1,024 in sum");
  if (options_.delay_polls == 0) throw std::invalid_argument("fault: delay_polls must be ≥ 1");
  either_fd_ = epoll_create1(EPOLL_CLOEXEC);
  if (either_fd_ < 0 || !watch(either_fd_, inner->wakeup_fd()) ||
      !watch(either_fd_, own_wakeup_.fd())) {
    const int error = errno;
    if (either_fd_ >= 0) close(either_fd_);
    throw std::system_error(error, std::generic_category(), "epoll");
  }
}

FaultTransport::~FaultTransport() {
  close(either_fd_);
}

PostOutcome FaultTransport::post(std::span<const Chunk> chunks) {
  PostOutcome outcome;
  run_.clear();
  for (const Chunk& chunk : chunks) {
    const ChunkFault fault = next_fault();
    if (fault == ChunkFault::none || fault == ChunkFault::delayed) {
      if (fault == ChunkFault::delayed) delayed_.push_back(chunk.id);
      run_.push_back(chunk);
      continue;
    }
    if (!flush(&outcome)) return outcome;
    switch (fault) {
      case ChunkFault::saturated: outcome.refusal = PostRefusal::saturated; return outcome;
      case ChunkFault::refused: outcome.refusal = PostRefusal::failed; return outcome;
      case ChunkFault::failed: end(chunk, ChunkOutcome::failed); break;
      case ChunkFault::memory_fault: end(chunk, ChunkOutcome::memory_fault); break;
      case ChunkFault::none:
      case ChunkFault::delayed: TENTQ_CHECK(false && "a chunk without a fault was stopped"); break;
    }
    ++outcome.accepted;
  }
  flush(&outcome);
  return outcome;
}

ChunkFault FaultTransport::next_fault() {
  ChunkFault fault = ChunkFault::none;
  if (script_at_ < options_.script.size()) {
    fault = options_.script[script_at_++];
  } else {
    const std::array<std::pair<std::uint32_t, ChunkFault>, 5> chances = {{
        {options_.saturated, ChunkFault::saturated},
        {options_.refused, ChunkFault::refused},
        {options_.failed, ChunkFault::failed},
        {options_.memory_fault, ChunkFault::memory_fault},
        {options_.delayed, ChunkFault::delayed},
    }};
    std::uint64_t thrown = random_() % kChances;
    for (const auto& [chance, outcome] : chances) {
      if (thrown < chance) {
        fault = outcome;
        break;
      }
      thrown -= chance;
    }
  }
  if (fault != ChunkFault::none) ++faults_;
  return fault;
}

// Posts the chunks found without a fault so far; true if the inner transport took all of them.
bool FaultTransport::flush(PostOutcome* outcome) {
  if (run_.empty()) return true;
  const PostOutcome inner = inner_->post(run_);
  outcome->accepted += inner.accepted;
  outcome->refusal = inner.refusal;
  for (std::size_t i = inner.accepted; i < run_.size(); ++i) std::erase(delayed_, run_[i].id);
  const bool all = inner.accepted == run_.size();
  run_.clear();
  return all;
}

void FaultTransport::end(const Chunk& chunk, ChunkOutcome how) {
  held_.push_back({{chunk.id, 0, how}, polls_});
  own_wakeup_.ring();
}

void FaultTransport::collect() {
  std::array<Completion, 64> batch;
  std::size_t count = 0;
  do {
    count = inner_->poll(batch);
    for (std::size_t i = 0; i < count; ++i) {
      const bool delayed = std::erase(delayed_, batch[i].id) > 0;
      held_.push_back({batch[i], delayed ? polls_ + options_.delay_polls : polls_});
    }
  } while (count == batch.size());
}

std::size_t FaultTransport::poll(std::span<Completion> completions) {
  ++polls_;
  own_wakeup_.disarm();
  collect();
  const auto due_end = std::stable_partition(
      held_.begin(), held_.end(), [this](const Held& held) { return held.due_poll <= polls_; });
  if (options_.reorder) std::shuffle(held_.begin(), due_end, random_);
  const auto due = static_cast<std::size_t>(due_end - held_.begin());
  const std::size_t count = std::min(due, completions.size());
  for (std::size_t i = 0; i < count; ++i) completions[i] = held_[i].completion;
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

void FaultTransport::cancel(ChunkId id) {
  inner_->cancel(id);
}

bool FaultTransport::arm_wakeup() {
  // What is held becomes due by polling alone.
  if (!held_.empty()) return false;
  own_wakeup_.arm();
  if (inner_->arm_wakeup()) return true;
  own_wakeup_.disarm();
  return false;
}

}  // namespace tentq
