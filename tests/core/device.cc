// Lanes that serve one chunk after the other.
#include "tests/core/device.h"

#include <algorithm>

#include "proto/check.h"

namespace tentq::core {

void Device::note(const Effect& effect) {
  if (const auto* chunk = std::get_if<DispatchChunk>(&effect)) {
    const std::uint16_t lane = chunk->lane.value();
    const Time start = std::max(world_->now, busy_until_[lane]);
    busy_until_[lane] = start + Duration{static_cast<std::int64_t>(chunk->length) * ns_per_byte_};
    lanes_[lane].push_back({*chunk, busy_until_[lane]});
    in_flight_[index_of(classes_.at(chunk->chunk.owner))] += chunk->length;
    if (on_dispatch) on_dispatch(*chunk);
  } else if (const auto* admission = std::get_if<OwnerAdmitted>(&effect)) {
    classes_[admission->owner] = submitted_;
    if (on_admit) on_admit(admission->owner);
  } else if (const auto* end = std::get_if<OwnerEnded>(&effect)) {
    TENTQ_CHECK(end->owner.valid());
    if (on_end) on_end(*end);
  }
}

void Device::run(Time until) {
  for (;;) {
    std::deque<Flying>* first = nullptr;
    for (std::uint16_t lane = 0; lane < kMostLanes; ++lane) {
      if (jammed_[lane] || lanes_[lane].empty()) continue;
      if (first == nullptr || lanes_[lane].front().ends < first->front().ends)
        first = &lanes_[lane];
    }
    if (first == nullptr || first->front().ends > until) break;
    const Flying flying = first->front();
    first->pop_front();
    world_->now = std::max(world_->now, flying.ends);
    moved_[flying.chunk.lane.value()] += flying.chunk.length;
    in_flight_[index_of(classes_.at(flying.chunk.chunk.owner))] -= flying.chunk.length;
    world_->in_flight.clear();  // it is kept here
    world_->handle(ChunkEnded{flying.chunk.chunk, flying.chunk.length, Reason::none});
  }
  world_->now = std::max(world_->now, until);
  world_->forget();
}

void Device::submit(std::uint32_t session, ClassId cls, std::uint64_t length, std::uint16_t lane) {
  submitted_ = cls;
  if (!world_->has_credit(session, cls, {1, length, 1})) {
    world_->want(session, cls, {1, length, 1}, true);
  }
  const std::size_t before = world_->admitted.size();
  world_->submit(session, cls, length, lane);
  TENTQ_CHECK(world_->admitted.size() == before + 1);
}

}  // namespace tentq::core
