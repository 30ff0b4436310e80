// One number over everything that decides the future. What is only still to be told, and counters,
// are left out; cumulative credit counts by its differences.
#include "daemon/core/hash.h"
#include "daemon/core/state.h"

namespace tentq::core {
namespace {

std::uint64_t fold_level(std::uint64_t hash, const Level& level) {
  hash = fold(fold(hash, level.limit), level.committed);
  return fold(fold(hash, level.held), level.asked);
}

std::uint64_t fold_credit(std::uint64_t hash, const Credit& credit) {
  hash =
      fold(fold(hash, minus(credit.granted, credit.spent)), minus(credit.spent, credit.released));
  hash = fold(hash, credit.replay_left);
  hash = fold(hash, static_cast<std::uint64_t>(credit.wish_kind));
  if (credit.wish_kind != WishKind::none) {
    hash = fold(hash, minus_saturating(credit.wish, credit.released));
    hash = fold(hash, minus_saturating(credit.wish_base, credit.spent));
  }
  return fold(hash, credit.reclaim_untold || credit.reclaim_open ? 1 : 0);
}

std::uint64_t fold_lane(std::uint64_t hash, const Lane& lane) {
  hash = fold(fold(fold(hash, lane.window_bytes), lane.window_chunks), lane.chunk_bytes);
  hash = fold(fold(hash, lane.in_flight_bytes), lane.in_flight_chunks);
  hash = fold(fold(hash, lane.internal_need), lane.foreground_room);
  for (const ClassOnLane& each : lane.classes) {
    hash = fold(fold(hash, each.need), each.most);
    hash = fold(hash, each.reserve);
  }
  hash = fold(hash, lane.given_up ? 2 : lane.away ? 1 : 0);
  hash = fold(hash, lane.receiver);
  return fold(fold(hash, static_cast<std::uint64_t>(lane.paused_until_ns)), lane.pauses);
}

}  // namespace

std::uint64_t State::hash_owner(std::uint64_t hash, std::uint32_t index) const {
  const OwnerRecord& owner = owners[index];
  hash = fold(fold(hash, owners.id(index).number()), static_cast<std::uint64_t>(owner.state));
  hash = fold(fold(hash, owner.session), (std::uint64_t{owner.client} << 32) | owner.cls);
  hash = fold(fold(hash, owner.lane), owner.flags);
  hash = fold(fold(hash, owner.length), owner.handed);
  hash = fold(fold(hash, owner.completed), owner.in_flight);
  hash = fold(fold(hash, owner.slot), owner.slot_generation);
  hash = fold(fold(hash, owner.next), owner.prev);
  hash = fold(fold(hash, owner.order), owner.refusals);
  for (std::uint32_t c = owner.chunks; c != kNone; c = chunks_[c].next) {
    const ChunkMark& mark = chunks_[c].mark;
    if (!mark.measured) continue;
    hash = fold(fold(hash, static_cast<std::uint64_t>(mark.handed_over_ns)), mark.epoch);
    hash = fold(hash, mark.alone ? 2u : 1u);
  }
  if ((owner.flags & kHasExpiry) == 0) return hash;
  const OwnerExtras& extras = owners.extras(index);
  hash = fold(hash, static_cast<std::uint64_t>(extras.deadline_ns));
  return fold(hash, static_cast<std::uint64_t>(extras.queue_expiry_ns));
}

std::uint64_t State::state_hash() const {
  std::uint64_t hash = fold(fold(0, draining ? 1 : 0), shutting_down_ ? 1 : 0);
  for (std::uint32_t i = 0; i < owners.high_water(); ++i) {
    if (is_live(owners[i].state)) hash = hash_owner(hash, i);
  }
  hash = fold(fold(hash, owners.next_taken()), leaves_.next_order());
  hash = fold(picker_.hash(hash), lanes_.random_state());
  for (std::uint32_t l = 0; l < lanes_.count(); ++l) {
    hash = lanes_.window(l).hash(fold_lane(hash, lanes_[l]));
  }
  hash = receivers_.hash(hash, now_ns);
  hash = fold(fold_level(hash, accounts_.host()), accounts_.internal());
  hash = fold(hash, accounts_.users());
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) hash = fold_level(hash, accounts_.of_class(c));
  for (std::uint32_t k = 0; k < maxima.clients; ++k) {
    hash = fold_level(hash, accounts_.of_client(k));
    hash = fold(fold(hash, client_caps_[k].need), client_caps_.most(k));
  }
  for (std::uint32_t s = 0; s < sessions_.count(); ++s) {
    hash = fold_level(hash, accounts_.of_session(s));
    const Session& session = sessions_[s];
    hash = fold(fold(hash, session.open ? 1 : 0), session.closing ? 1 : 0);
    hash = fold(fold(hash, static_cast<std::uint64_t>(session.purge)), session.purge_slot);
    for (std::uint32_t c = 0; c < kMaxClasses; ++c) hash = fold_credit(hash, credit_.of(s, c));
  }
  return hash;
}

}  // namespace tentq::core
