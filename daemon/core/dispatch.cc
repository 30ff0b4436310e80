// Dispatch: the next chunk of the next owner, as long as a lane has room. Charges of the lane and
// of the turns are taken in one step or not at all.
#include "daemon/core/state.h"

namespace tentq::core {

std::optional<Effect> State::dispatch() {
  LeafKey key;
  while (leaves_.filled_classes() != 0 && !chunks_.full() && picker_.pick(now_ns, &key)) {
    const std::uint32_t index = leaves_.leaf(key).head;
    const OwnerRecord& owner = owners[index];
    const std::uint64_t length = next_length(index);
    if (!lanes_.fits(key.lane, length, owner.cls)) {
      // It keeps its place: its lane waits until it fits, other lanes go on.
      lanes_.hold_for(key.lane, length, owner.cls);
    } else if (!owner.internal() && length > client_caps_.room(owner.client)) {
      // All of its client waits, other clients go on.
      client_caps_.hold_for(owner.client, length);
      // Lanes that are held for one of its heads wait for others now.
      for (std::uint32_t c = 1; c < kMaxClasses; ++c) {
        leaves_.lanes_of(c, owner.client).for_each([this](std::uint32_t l) {
          lanes_.drop_holds(l);
          receivers_.let_go(l);
        });
      }
      leaves_.hide(owner.client);
    } else if (lanes_[key.lane].receiver == kNoReceiver ||
               receivers_.admit(key.lane, owner.internal(), length, now_ns)) {
      return hand_over(index, key, length);
    }
  }
  return lanes_.touched_receivers().empty() ? std::nullopt : tell_demand();
}

// `direct` hands over everything at once, in 64 pieces, or in as many as another host takes; to
// that host no more than it has room for.
std::uint64_t State::chunk_length(const OwnerRecord& owner, std::uint64_t left) const {
  constexpr std::uint64_t kMostPieces = 64;
  constexpr std::uint64_t kLargestPiece = 16u << 20;
  const std::uint64_t most = lanes_.largest_chunk(owner.lane, owner.cls);
  if (!lanes_.ignores_windows()) {
    return owner.internal() ? std::min(left, most)
                            : std::min({left, most, client_caps_.most(owner.client)});
  }
  const std::uint64_t piece =
      std::max(most, std::min(owner.length / kMostPieces + 1, kLargestPiece));
  const bool takes_credit = lanes_[owner.lane].receiver != kNoReceiver;
  return std::min({left, piece, takes_credit ? receivers_.rules().chunk_bytes : piece});
}

std::uint64_t State::next_length(std::uint32_t index) const {
  const OwnerRecord& owner = owners[index];
  if ((owner.flags & kHasReturned) == 0) return chunk_length(owner, owner.length - owner.handed);
  return chunk_length(owner, chunks_[owners.extras(index).returned].length);
}

// The chunk that carries the next `length` bytes: a refused one first, or a part of it.
std::uint32_t State::cut(std::uint32_t index, std::uint64_t length) {
  OwnerRecord& owner = owners[index];
  if ((owner.flags & kHasReturned) == 0) {
    const std::uint32_t chunk = chunks_.add(&owner.chunks, index, owner.handed, length);
    owner.handed += length;
    return chunk;
  }
  OwnerExtras& extras = owners.extras(index);
  const std::uint32_t returned = extras.returned;
  ChunkRecord& record = chunks_[returned];
  if (record.length > length) {
    const std::uint32_t chunk = chunks_.add(&owner.chunks, index, record.offset, length);
    record.offset += length;
    record.length -= length;
    return chunk;
  }
  chunks_.hand_over_again(&extras.returned, &owner.chunks, returned);
  if (extras.returned == kNone) owner.flags &= static_cast<std::uint8_t>(~kHasReturned);
  return returned;
}

std::optional<Effect> State::hand_over(std::uint32_t index, const LeafKey& key,
                                       std::uint64_t length) {
  OwnerRecord& owner = owners[index];
  const std::uint32_t chunk = cut(index, length);
  owner.in_flight += 1;
  if (owner.dispatched_ns == 0) owner.dispatched_ns = std::max<std::int64_t>(1, now_ns);
  unqueue_bytes(owner, length);
  lanes_.hand_over(owner.lane, length, now_ns, &chunks_[chunk].mark);
  if (lanes_[owner.lane].receiver != kNoReceiver) {
    chunks_[chunk].credit = receivers_.consume(owner.lane, owner.internal(), length, now_ns);
  }
  put_in_flight(owner, length);
  counters.dispatched_chunks += 1;
  picker_.pay(key, length);
  if (owner.handed == owner.length && (owner.flags & kHasReturned) == 0) {
    leave_leaf(index, key);
    move<OwnerAction::hand_over_last>(owner);
    owners.prefetch_slot(owner.session, owner.slot);
  } else {
    move<OwnerAction::hand_over>(owner);
  }
  std::optional<Effect> effect;
  DispatchChunk& told = make_effect<DispatchChunk>(effect);
  const std::uint64_t offset = chunks_[chunk].offset;
  told.chunk = chunks_.id(chunk, owners.id(index));
  told.lane = LaneId{owner.lane};
  told.session = SessionId{owner.session};
  told.cls = owner.class_id();
  told.op = owner.op();
  told.local_region = RegionIndex{owner.local_region};
  told.remote_region = RegionIndex{owner.remote_region};
  told.local_offset = owner.local_offset + offset;
  told.remote_offset = owner.remote_offset + offset;
  told.length = length;
  return effect;
}

void State::put_in_flight(const OwnerRecord& owner, std::uint64_t bytes) {
  lanes_.charge(owner.lane, bytes, owner.cls);
  tallies_[owner.cls].in_flight_bytes += bytes;
  if (!owner.internal()) client_caps_.charge(owner.client, bytes);
}

void State::take_from_flight(const OwnerRecord& owner, std::uint64_t bytes) {
  lanes_.release(owner.lane, bytes, owner.cls);
  tallies_[owner.cls].in_flight_bytes -= bytes;
  if (owner.internal()) return;
  client_caps_.release(owner.client, bytes);
  if (client_caps_.is_held(owner.client) && client_caps_.may_go(owner.client)) {
    let_client_go(owner.client);
  }
}

// `handed_over`: it was with a transport, and is quiet now.
void State::free_credit(const OwnerRecord& owner, std::uint32_t index, bool handed_over) {
  if (lanes_[owner.lane].receiver == kNoReceiver) return;
  const ChunkRecord& chunk = chunks_[index];
  if (handed_over) {
    receivers_.freed(owner.lane, owner.internal(), chunk.credit, chunk.length, now_ns);
  } else {
    receivers_.roll_back(owner.lane, owner.internal(), chunk.credit, chunk.length, now_ns);
  }
}

void State::let_client_go(std::uint32_t client) {
  client_caps_.let_go(client);
  leaves_.show(client);
}

// Another chunk may be the next of its lane, receiver or client.
void State::drop_holds(const OwnerRecord& owner) {
  lanes_.drop_holds(owner.lane);
  receivers_.let_go(owner.lane);
  if (!owner.internal() && client_caps_.is_held(owner.client)) let_client_go(owner.client);
}

void State::queue_bytes(const OwnerRecord& owner, std::uint64_t bytes) {
  tallies_[owner.cls].queued_bytes += bytes;
  if (owner.lane != LaneId::kInvalid) lanes_[owner.lane].classes[owner.cls].queued += bytes;
}

void State::unqueue_bytes(const OwnerRecord& owner, std::uint64_t bytes) {
  tallies_[owner.cls].queued_bytes -= bytes;
  if (owner.lane != LaneId::kInvalid) lanes_[owner.lane].classes[owner.cls].queued -= bytes;
}

}  // namespace tentq::core
