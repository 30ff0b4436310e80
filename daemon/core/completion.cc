// Chunks come back: moved, failed or refused. What does not name a chunk in flight changes nothing.
#include "daemon/core/state.h"

namespace tentq::core {

std::uint32_t State::find_chunk(const ChunkId& id) const {
  return owners.find(id.owner) == kNone ? kNone : chunks_.find(id);
}

void State::on(const ChunkEnded& event) {
  const std::uint32_t chunk = find_chunk(event.chunk);
  if (chunk == kNone) {
    counters.stale_completions += 1;
    return;
  }
  const std::uint32_t index = event.chunk.owner.index;
  OwnerRecord& owner = owners[index];
  const std::uint64_t length = chunks_[chunk].length;
  const bool moved = event.reason == Reason::none;
  const std::uint64_t bytes = moved ? length : std::min(event.bytes, length);
  take_from_flight(owner, length);
  free_credit(owner, chunk, true);
  if (moved) {
    lanes_.sample(owner.lane, chunks_[chunk].mark, length, event.queued_elsewhere.count(), now_ns);
  }
  chunks_.remove(&owner.chunks, chunk);
  owner.in_flight -= 1;
  owner.completed += bytes;
  counters.transferred_bytes += bytes;
  if (moved) {
    owner.refusals = 0;
    lanes_.chunk_ended_well(owner.lane);
  } else {
    owner.flags |= kAnyFailed;
    if (owner.state != OwnerState::draining) {
      end_early(index, TaskState::failed, event.reason);
      return;
    }
  }
  settle(index);
}

// The transport changed nothing and may take the chunk later. The lane pauses; of the chunks
// refused in one go only the first counts as an attempt, because the others were never looked at.
void State::on(const ChunkRefused& event) {
  const std::uint32_t chunk = take_back(event.chunk, false);
  if (chunk == kNone) return;
  const std::uint32_t index = event.chunk.owner.index;
  OwnerRecord& owner = owners[index];
  const bool first = lanes_.pause(owner.lane, now_ns);
  receivers_.let_go(owner.lane);
  if (drop_of_draining(index, chunk)) return;
  const bool lost = lanes_[owner.lane].given_up;
  if (lost || (first && owner.refusals >= std::min(limits.retry_attempts, 255u))) {
    chunks_.remove(&owner.chunks, chunk);
    end_early(index, TaskState::failed, lost ? Reason::peer_lost : Reason::transport_error);
    return;
  }
  if (first) owner.refusals += 1;
  requeue(index, chunk);
}

// The lane is away as a rule, and waits for its own reasons: nothing pauses, nothing is counted
// against the owner.
void State::on(const ChunkLost& event) {
  const std::uint32_t chunk = take_back(event.chunk, true);
  if (chunk == kNone) return;
  const std::uint32_t index = event.chunk.owner.index;
  if (drop_of_draining(index, chunk)) return;
  OwnerRecord& owner = owners[index];
  if (lanes_[owner.lane].given_up) {
    chunks_.remove(&owner.chunks, chunk);
    end_early(index, TaskState::failed, Reason::peer_lost);
  } else {
    requeue(index, chunk);
  }
}

// The chunk is nobody's for a moment; kNone when none of that id is in flight.
std::uint32_t State::take_back(const ChunkId& id, bool handed_over) {
  const std::uint32_t chunk = find_chunk(id);
  if (chunk == kNone) {
    counters.stale_completions += 1;
    return kNone;
  }
  OwnerRecord& owner = owners[id.owner.index];
  counters.requeues += 1;
  take_from_flight(owner, chunks_[chunk].length);
  free_credit(owner, chunk, handed_over);
  owner.in_flight -= 1;
  return chunk;
}

// Of an owner whose outcome is decided nothing goes back. False if it is not decided.
bool State::drop_of_draining(std::uint32_t index, std::uint32_t chunk) {
  OwnerRecord& owner = owners[index];
  if (owner.state != OwnerState::draining) return false;
  chunks_.remove(&owner.chunks, chunk);
  owner.flags |= kAnyFailed;
  settle(index);
  return true;
}

void State::requeue(std::uint32_t index, std::uint32_t chunk) {
  OwnerRecord& owner = owners[index];
  OwnerExtras& extras = owners.extras(index);
  if ((owner.flags & kHasReturned) == 0) extras.returned = kNone;
  owner.flags |= kHasReturned;
  chunks_.give_back(&owner.chunks, &extras.returned, chunk);
  queue_bytes(owner, chunks_[chunk].length);
  const bool left_its_leaf = owner.state == OwnerState::submitted;
  if (owner.in_flight == 0 && owner.completed == 0) {
    // As if it had never been dispatched: it may wait in the queue as long as it asked for.
    owner.dispatched_ns = 0;
    move<OwnerAction::take_back_all>(owner);
    wheel_.drop(index);
    arm(index);
  } else {
    move<OwnerAction::take_back>(owner);
  }
  if (left_its_leaf) {
    enter_leaf(index, true);
  } else {
    drop_holds(owner);
  }
}

}  // namespace tentq::core
