// See audit.h.
#include "tests/sim/audit.h"

#include <algorithm>

namespace tentq::sim {
namespace {

std::string text_of(const OwnerId& owner) {
  return "owner " + std::to_string(owner.number());
}

}  // namespace

void Audit::submitted(SessionId session, std::uint32_t slot, std::uint64_t length) {
  open_[{session.value(), slot}] = {length, 0, 0, {}};
}

void Audit::admitted(const core::OwnerAdmitted& admission, std::int64_t now_ns) {
  const SlotKey key{admission.session.value(), admission.slot};
  if (!open_.contains(key)) violated(now_ns, text_of(admission.owner) + " was never submitted");
  slots_[admission.owner] = key;
}

// What was lost goes first, from the beginning of a lost part.
bool Audit::follows(Open* owner, const core::DispatchChunk& chunk) {
  if (chunk.length == 0) return false;
  if (owner->lost.empty()) {
    if (chunk.local_offset != owner->handed || chunk.length > owner->length - owner->handed) {
      return false;
    }
    owner->handed += chunk.length;
    return true;
  }
  const auto part = owner->lost.find(chunk.local_offset);
  if (part == owner->lost.end() || chunk.length > part->second) return false;
  const std::uint64_t left = part->second - chunk.length;
  owner->lost.erase(part);
  if (left != 0) owner->lost[chunk.local_offset + chunk.length] = left;
  return true;
}

void Audit::lost(const core::DispatchChunk& chunk) {
  const auto slot = slots_.find(chunk.chunk.owner);
  if (slot != slots_.end()) open_.at(slot->second).lost[chunk.local_offset] = chunk.length;
}

void Audit::restarted() {
  for (auto& [slot, owner] : open_) owner = {owner.length, 0, 0, {}};
  slots_.clear();
}

void Audit::dispatched(const core::DispatchChunk& chunk, std::uint64_t in_flight,
                       const core::LaneTotals& lane, core::Policy policy, std::int64_t now_ns) {
  const auto slot = slots_.find(chunk.chunk.owner);
  if (slot == slots_.end()) {
    violated(now_ns, "a chunk of an owner that was not admitted or has ended");
    return;
  }
  Open& owner = open_.at(slot->second);
  if (!follows(&owner, chunk)) {
    violated(now_ns, text_of(chunk.chunk.owner) + ": a chunk of " + std::to_string(chunk.length) +
                         " bytes at " + std::to_string(chunk.local_offset) +
                         " does not follow the one before");
  }
  if (policy == core::Policy::direct) return;
  const bool classes_count = policy != core::Policy::fifo;
  const std::uint64_t room = std::max(2 * lane.chunk_bytes, lane.floor_bytes / 2);
  const std::uint64_t most = lane.window_bytes + (classes_count ? room : 0);
  if (in_flight > most) {
    violated(now_ns, "lane " + std::to_string(chunk.lane.value()) + " has " +
                         std::to_string(in_flight) + " bytes in flight, its window allows " +
                         std::to_string(most));
  }
}

void Audit::returned(const core::DispatchChunk& chunk) {
  const auto slot = slots_.find(chunk.chunk.owner);
  if (slot != slots_.end()) open_.at(slot->second).returned += chunk.length;
}

void Audit::ended(const core::OwnerEnded& end, std::int64_t now_ns) {
  const auto found = open_.find({end.session.value(), end.slot});
  if (found == open_.end()) {
    violated(now_ns, "an end of an owner that is not outstanding");
    return;
  }
  const Open& owner = found->second;
  const bool whole = owner.handed == owner.length && owner.returned == owner.length &&
                     owner.lost.empty() && end.bytes_done == owner.length;
  if (end.state == TaskState::completed && !whole) {
    violated(now_ns, text_of(end.owner) + " completed with " + std::to_string(owner.returned) +
                         " of " + std::to_string(owner.length) + " bytes");
  }
  if (end.owner.valid()) slots_.erase(end.owner);
  open_.erase(found);
}

void Audit::settled(LaneId id, const core::LaneTotals& lane, bool client_caps,
                    std::int64_t now_ns) {
  if (lane.queued_owners == 0 || lane.in_flight_bytes != 0 || client_caps) return;
  violated(now_ns, "lane " + std::to_string(id.value()) + " idles while " +
                       std::to_string(lane.queued_owners) + " owners wait for it");
}

void Audit::over(const core::Core& core, std::int64_t now_ns) {
  if (!open_.empty()) {
    violated(now_ns, std::to_string(open_.size()) + " owners have not ended");
  }
  if (core.outstanding() != core::Amounts{}) {
    violated(now_ns,
             "charges of " + std::to_string(core.outstanding().bytes) + " bytes were not released");
  }
}

}  // namespace tentq::sim
