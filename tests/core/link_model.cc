// The server and the way back. See link_model.h.
#include "tests/core/link_model.h"

#include <algorithm>

#include "proto/check.h"

namespace tentq::core {

void LinkModel::post(std::uint64_t chunk, std::uint64_t bytes, std::int64_t now_ns) {
  queue_.push_back({chunk, bytes, now_ns});
}

// Begins with a chunk only when it is known that nothing comes back earlier, so that a change of
// the rate holds for all that still waits.
void LinkModel::serve() {
  while (!queue_.empty()) {
    const Waiting& first = queue_.front();
    const std::int64_t begin_ns = std::max(free_ns_, first.posted_ns);
    if (!back_.empty() && back_.top().at_ns <= begin_ns) return;
    free_ns_ =
        begin_ns +
        std::max<std::int64_t>(
            1, static_cast<std::int64_t>(static_cast<double>(first.bytes) / shape_.bytes_per_ns));
    std::int64_t at_ns = free_ns_ + shape_.delay_ns;
    if (shape_.jitter_ns != 0) {
      at_ns += static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(shape_.jitter_ns));
    }
    at_ns = std::max(at_ns, jammed_until_ns_);
    if (shape_.ack_burst_ns != 0) {
      at_ns = (at_ns + shape_.ack_burst_ns - 1) / shape_.ack_burst_ns * shape_.ack_burst_ns;
    }
    back_.push({at_ns, order_++, first.chunk, first.bytes});
    queue_.pop_front();
  }
}

std::optional<std::int64_t> LinkModel::next_ns() {
  serve();
  if (back_.empty()) return std::nullopt;
  return back_.top().at_ns;
}

std::uint64_t LinkModel::take() {
  TENTQ_CHECK(!back_.empty());
  const Back back = back_.top();
  back_.pop();
  moved_bytes_ += back.bytes;
  return back.chunk;
}

}  // namespace tentq::core
