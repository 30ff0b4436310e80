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

Executor::Executor(core::Core& core, Regions& regions, Transport& transport)
    : core_(core), regions_(regions), transport_(transport) {
  collected_.reserve(256);
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
  Chunk& chunk = collected_.emplace_back();
  chunk.id = effect.chunk;
  chunk.op = effect.op;
  chunk.lane = effect.lane;
  find_range(effect.local_region, effect.local_offset, &chunk.local);
  find_range(effect.remote_region, effect.remote_offset, &chunk.remote);
  chunk.length = effect.length;
}

void Executor::post_collected(Time now) {
  if (collected_.empty()) return;
  const PostOutcome outcome = transport_.post(collected_);
  TENTQ_CHECK(outcome.accepted <= collected_.size());
  in_flight_ += outcome.accepted;
  if (outcome.refusal == PostRefusal::saturated && outcome.accepted < collected_.size()) {
    core_.handle(
        core::LanePressure{collected_[outcome.accepted].lane, core::PressureKind::saturated, 0},
        now);
  }
  for (const Chunk& chunk : std::span(collected_).subspan(outcome.accepted)) {
    if (outcome.refusal == PostRefusal::saturated) {
      core_.handle(core::ChunkRefused{chunk.id}, now);
    } else {
      core_.handle(core::ChunkEnded{chunk.id, 0, Reason::transport_error}, now);
    }
  }
  collected_.clear();
}

void Executor::clear_wakeup() {
  (void)transport_.poll({});
}

bool Executor::reap(Time now) {
  if (in_flight_ == 0) return false;
  bool any = false;
  for (;;) {
    const std::size_t count = transport_.poll(completions_);
    if (count == 0) return any;
    any = true;
    TENTQ_CHECK(in_flight_ >= count);
    in_flight_ -= count;
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
