// Between the core's chunks and the transport. See executor.h.
#include "daemon/executor.h"

#include <span>

#include "proto/check.h"

namespace tentq {

namespace {

Reason reason_of(ChunkOutcome outcome) {
  switch (outcome) {
    case ChunkOutcome::done: return Reason::none;
    case ChunkOutcome::memory_fault: return Reason::memory_fault;
    case ChunkOutcome::canceled: return Reason::canceled;
    case ChunkOutcome::failed: return Reason::transport_error;
    case ChunkOutcome::lost:
    case ChunkOutcome::refused: break;
  }
  return Reason::transport_error;
}

}  // namespace

Executor::Executor(core::Core& core, Regions& regions, Transport& here)
    : core_(core), regions_(regions) {
  served_[0].transport = &here;
  served_[0].collected.reserve(256);
}

void Executor::add(Transport& transport, Elsewhere& elsewhere) {
  TENTQ_CHECK(count_ == 1);
  count_ = 2;
  served_[1].transport = &transport;
  served_[1].collected.reserve(256);
  elsewhere_ = &elsewhere;
}

void Executor::find_range(RegionIndex index, std::uint64_t offset, MemoryRange* range) {
  const Region& region = regions_.at(index);
  // An owner's pins keep its regions mapped; the core never dispatches past an owner's end.
  TENTQ_CHECK(region.pins > 0 && offset < region.size);
  range->region = index;
  range->offset = offset;
  range->mapped = region.mapping.data() + offset;
  range->resident = region.resident;
}

void Executor::collect(const core::DispatchChunk& effect) {
  std::vector<Chunk>& collected = serving(effect.lane).collected;
  Chunk& chunk = collected.emplace_back();
  chunk.id = effect.chunk;
  chunk.op = effect.op;
  chunk.cls = effect.cls;
  chunk.lane = effect.lane;
  chunk.length = effect.length;
  find_range(effect.local_region, effect.local_offset, &chunk.local);
  if (is_shm(effect.lane)) {
    find_range(effect.remote_region, effect.remote_offset, &chunk.remote);
    return;
  }
  Reason reason = Reason::peer_lost;
  if (elsewhere_->find(effect, &chunk, &reason)) return;
  lost_.push_back({chunk.id, reason});
  collected.pop_back();
}

void Executor::post_collected(Time now) {
  for (std::size_t i = 0; i < count_; ++i) {
    if (!served_[i].collected.empty()) post(served_[i], now);
  }
  for (const Lost& lost : lost_) core_.handle(core::ChunkEnded{lost.id, 0, lost.reason}, now);
  lost_.clear();
}

void Executor::post(Served& served, Time now) {
  std::vector<Chunk>& collected = served.collected;
  const PostOutcome outcome = served.transport->post(collected);
  TENTQ_CHECK(outcome.accepted <= collected.size());
  served.in_flight += outcome.accepted;
  if (outcome.refusal == PostRefusal::saturated && outcome.accepted < collected.size()) {
    core_.handle(
        core::LanePressure{collected[outcome.accepted].lane, core::PressureKind::saturated, 0},
        now);
  }
  for (const Chunk& chunk : std::span(collected).subspan(outcome.accepted)) {
    if (outcome.refusal == PostRefusal::saturated) {
      core_.handle(core::ChunkRefused{chunk.id}, now);
    } else {
      core_.handle(core::ChunkEnded{chunk.id, 0, Reason::transport_error}, now);
    }
  }
  collected.clear();
}

bool Executor::arm_wakeup() {
  for (std::size_t i = 0; i < count_; ++i) {
    if (!served_[i].transport->arm_wakeup()) return false;
  }
  return true;
}

void Executor::clear_wakeup(std::size_t transport) {
  (void)served_[transport].transport->poll({});
}

bool Executor::reap(Time now) {
  bool any = false;
  for (std::size_t i = 0; i < count_; ++i) {
    if (served_[i].in_flight != 0 && reap(served_[i], now)) any = true;
  }
  return any;
}

bool Executor::reap(Served& served, Time now) {
  bool any = false;
  for (;;) {
    const std::size_t count = served.transport->poll(completions_);
    if (count == 0) return any;
    any = true;
    TENTQ_CHECK(served.in_flight >= count);
    served.in_flight -= count;
    for (const Completion& done : std::span(completions_).first(count)) {
      if (done.outcome == ChunkOutcome::lost) {
        core_.handle(core::ChunkLost{done.id}, now);
        continue;
      }
      const Reason reason =
          done.outcome == ChunkOutcome::refused ? done.reason : reason_of(done.outcome);
      core_.handle(core::ChunkEnded{done.id, done.bytes, reason, done.queued_elsewhere}, now);
    }
    if (count < completions_.size()) return any;
  }
}

}  // namespace tentq
