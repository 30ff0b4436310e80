// The load and the loop. See window_world.h.
#include "tests/core/window_world.h"

#include <algorithm>
#include <cmath>

#include "proto/check.h"

namespace tentq::core {
namespace {

WorldShape strict_world() {
  WorldShape shape;
  shape.policy = Policy::strict;  // what is measured is the window, not the turns
  shape.check = false;            // after every chunk it would take minutes
  return shape;
}

}  // namespace

WindowWorld::WindowWorld(const LoadShape& shape)
    : world(strict_world()), link(shape.link), shape_(shape), random_(shape.seed) {
  world.on_effect = [this](const Effect& effect) {
    if (const auto* chunk = std::get_if<DispatchChunk>(&effect)) {
      link.post(next_, chunk->length, now_ns());
      sent_[next_++] = *chunk;
    } else if (const auto* end = std::get_if<OwnerEnded>(&effect)) {
      if (end->state != TaskState::completed) {
        TENTQ_CHECK(end->cls == ClassId::foreground);
        refused_ += 1;
      } else if (end->cls == ClassId::foreground) {
        latencies_.push_back((end->completed - end->enqueued).count());
      } else {
        ended_background_.push_back(end->session.value());
      }
    }
  };
  world.handle(shape.lane);
  for (std::uint32_t s = 0; s <= kForegroundSession; ++s) world.open_session(s, s);
  for (std::uint32_t s = 0; s < kBackgroundSessions; ++s) {
    submit(s, ClassId::background, shape.background_bytes);
    submit(s, ClassId::background, shape.background_bytes);
  }
  next_foreground_ns_ = now_ns() + gap_ns();
}

// As the library does: asks for credit where it has none.
void WindowWorld::submit(std::uint32_t session, ClassId cls, std::uint64_t bytes) {
  const Amounts amounts{1, bytes, 1};
  if (!world.has_credit(session, cls, amounts)) world.want(session, cls, amounts, false);
  world.submit(session, cls, bytes);
}

std::int64_t WindowWorld::gap_ns() {
  if (shape_.foreground_bytes == 0) return std::int64_t{1} << 60;
  const double mean = static_cast<double>(shape_.foreground_bytes) /
                      (shape_.foreground_share * shape_.link.bytes_per_ns);
  const double uniform = static_cast<double>(random_() >> 11) / 9007199254740992.0;  // [0, 1)
  return 1 + static_cast<std::int64_t>(-std::log(1 - uniform) * mean);
}

void WindowWorld::handle(const Event& event, std::int64_t at_ns) {
  world.now = std::max(world.now, time_from_ns(at_ns));
  world.handle(event);
  while (!ended_background_.empty()) {
    const std::uint32_t session = ended_background_.back();
    ended_background_.pop_back();
    submit(session, ClassId::background, shape_.background_bytes);
  }
  world.forget();
}

LoadResult WindowWorld::run(std::int64_t for_ns) {
  const std::int64_t start_ns = now_ns();
  const std::int64_t end_ns = start_ns + for_ns;
  const std::uint64_t moved = link.moved_bytes();
  latencies_.clear();
  refused_ = 0;
  for (;;) {
    const std::int64_t back_ns = link.next_ns().value_or(std::int64_t{1} << 60);
    const std::optional<Time> deadline = world.core.next_deadline();
    const std::int64_t due_ns = deadline ? to_ns(*deadline) : std::int64_t{1} << 60;
    const std::int64_t next_ns = std::min({back_ns, due_ns, next_foreground_ns_});
    if (next_ns > end_ns) break;
    if (next_ns == back_ns) {
      const auto it = sent_.find(link.take());
      const DispatchChunk chunk = it->second;
      sent_.erase(it);
      std::erase_if(world.in_flight,
                    [&chunk](const DispatchChunk& each) { return each.chunk == chunk.chunk; });
      handle(ChunkEnded{chunk.chunk, chunk.length, Reason::none}, back_ns);
    } else if (next_ns == next_foreground_ns_) {
      world.now = std::max(world.now, time_from_ns(next_ns));
      submit(kForegroundSession, ClassId::foreground, shape_.foreground_bytes);
      next_foreground_ns_ += gap_ns();
    } else {
      handle(Tick{}, next_ns);
    }
  }
  world.now = time_from_ns(end_ns);
  LoadResult result;
  result.utilisation = static_cast<double>(link.moved_bytes() - moved) /
                       (static_cast<double>(for_ns) * shape_.link.bytes_per_ns);
  result.samples = latencies_.size();
  result.refused = refused_;
  if (latencies_.empty()) return result;
  std::sort(latencies_.begin(), latencies_.end());
  const auto at = [this](double part) {
    const auto i = static_cast<std::size_t>(part * static_cast<double>(latencies_.size() - 1));
    return static_cast<double>(latencies_[i]) / 1e3;
  };
  result.p50_us = at(0.5);
  result.p99_us = at(0.99);
  return result;
}

}  // namespace tentq::core
