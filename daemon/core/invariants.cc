// Everything that must hold between two events, recomputed from the owners. O(everything).
#include <vector>

#include "daemon/core/state.h"

namespace tentq::core {

// What the owners add up to.
struct State::Sums {
  ClassTallies classes{};
  Amounts users;
  Amounts internal;
  std::vector<Amounts> of_credit;        // [session][class]
  std::vector<std::uint64_t> of_client;  // bytes of users in flight
  std::vector<std::uint64_t> of_lane;    // [lane][class]: the same
  std::vector<std::uint64_t> credited;   // [receiver][pool]: in flight on credit of this life
  std::uint32_t chunks = 0;
  std::uint32_t in_wheel = 0;
  std::uint32_t live = 0;
  std::uint32_t ended = 0;
};

// Chunks of one list; returns their bytes.
std::uint64_t State::check_chunks(std::uint32_t index, std::uint32_t first, bool in_flight) const {
  std::uint64_t bytes = 0;
  std::uint32_t prev = kNone;
  for (std::uint32_t c = first; c != kNone; c = chunks_[c].next) {
    const ChunkRecord& chunk = chunks_[c];
    TENTQ_CHECK(chunk.owner == index && chunk.in_flight == in_flight && chunk.prev == prev);
    TENTQ_CHECK(chunk.length != 0 && chunk.offset + chunk.length <= owners[index].handed);
    bytes += chunk.length;
    prev = c;
  }
  return bytes;
}

void State::check_owner(std::uint32_t index, Sums* sums) const {
  const OwnerRecord& owner = owners[index];
  ClassTally& tally = sums->classes[owner.cls];
  const std::uint64_t flying = check_chunks(index, owner.chunks, true);
  const bool has_returned = (owner.flags & kHasReturned) != 0;
  const std::uint32_t returned_list = has_returned ? owners.extras(index).returned : kNone;
  const std::uint64_t returned = check_chunks(index, returned_list, false);
  std::uint32_t count = 0;
  for (std::uint32_t c = owner.chunks; c != kNone; c = chunks_[c].next) {
    count += 1;
    const std::uint16_t receiver = lanes_[owner.lane].receiver;
    if (receiver == kNoReceiver) continue;
    const std::uint32_t pool = owner.internal() ? 1 : 0;
    if (chunks_[c].credit.life == receivers_[receiver].pools[pool].credit.life()) {
      sums->credited[receiver * Receivers::kPools + pool] += chunks_[c].length;
    }
  }
  TENTQ_CHECK(count == owner.in_flight && has_returned == (returned_list != kNone));
  for (std::uint32_t c = returned_list; c != kNone; c = chunks_[c].next) sums->chunks += 1;
  sums->chunks += count;
  const std::uint64_t waiting = owner.length - owner.handed + returned;
  if (owner.state != OwnerState::draining) {
    // Every byte is queued, in flight or moved; only an owner whose outcome is decided drops any.
    TENTQ_CHECK(owner.length == waiting + flying + owner.completed);
    tally.queued_bytes += waiting;
  } else {
    TENTQ_CHECK(owner.in_flight != 0 && owner.outcome != TaskState::pending && !has_returned);
  }
  TENTQ_CHECK((owner.state != OwnerState::submitted) || (waiting == 0 && owner.in_flight != 0));
  TENTQ_CHECK(!is_in_leaf(owner.state) || waiting != 0);
  TENTQ_CHECK(!is_queued(owner.state) || (flying == 0 && owner.completed == 0));
  tally.in_flight_bytes += flying;
  if (!owner.internal() && flying != 0) {
    sums->of_client[owner.client] += flying;
    sums->of_lane[owner.lane * kMaxClasses + owner.cls] += flying;
  }
  tally.owners.in(owner.state) += 1;
  core::charge(owner.internal() ? sums->internal : sums->users, owner.amounts());
  sums->in_wheel += (owner.flags & kInWheel) != 0 ? 1 : 0;
  core::charge(sums->of_credit[owner.session * kMaxClasses + owner.cls], owner.amounts());
  sums->live += 1;
  TENTQ_CHECK(owners.find_slot(owner.session, owner.slot) == index);
  TENTQ_CHECK(sessions_[owner.session].open);
}

// By bucket of deadline, those without one last; then by when they came.
bool State::stands_before(std::uint32_t a, std::uint32_t b) const {
  if (leaves_.are_due_together(a, b)) return owners[a].order < owners[b].order;
  if (leaves_.is_dated(a) != leaves_.is_dated(b)) return leaves_.is_dated(a);
  return leaves_.deadlines().is_earlier(owners.extras(a).due_key, owners.extras(b).due_key);
}

// The queue of a leaf is linked both ways, in order, and no longer than its count; its tree names
// the last one of every bucket of deadlines, and nobody else.
std::uint32_t State::check_leaf(const LeafKey& key) const {
  const Leaf& leaf = leaves_.leaf(key);
  std::uint32_t count = 0;
  std::uint32_t buckets = 0;
  std::uint32_t prev = kNone;
  for (std::uint32_t i = leaf.head; i != kNone; i = owners[i].next) {
    TENTQ_CHECK(is_in_leaf(owners[i].state) && owners[i].prev == prev);
    const LeafKey own = leaves_.key_of(owners[i]);
    TENTQ_CHECK(own.cls == key.cls && own.lane == key.lane && own.session == key.session);
    TENTQ_CHECK(prev == kNone || stands_before(prev, i));
    const std::uint32_t next = owners[i].next;
    if (leaves_.is_dated(i) && (next == kNone || !leaves_.are_due_together(i, next))) {
      const std::uint32_t due_key = owners.extras(i).due_key;
      TENTQ_CHECK(leaves_.deadlines().last_of(leaf.dated, due_key) == i);
      buckets += 1;
    }
    prev = i;
    count += 1;
  }
  TENTQ_CHECK(leaf.tail == prev && leaf.count == count);
  TENTQ_CHECK(leaves_.deadlines().buckets(leaf.dated) == buckets);
  return count;
}

// Every bitmap is true, and who is hidden is not seen.
void State::check_leaves() const {
  for (std::uint32_t cls = 0; cls < kMaxClasses; ++cls) {
    std::uint64_t queued = 0;
    LaneSet class_lanes;
    std::vector<LaneSet> client_lanes(maxima.clients);
    for (std::uint32_t session = 0; session < maxima.sessions; ++session) {
      LaneSet session_lanes;
      for (std::uint32_t lane = 0; lane < maxima.lanes; ++lane) {
        const std::uint32_t count = check_leaf({cls, 0, session, lane});
        queued += count;
        if (count != 0) session_lanes.add(lane);
      }
      TENTQ_CHECK(session_lanes == leaves_.lanes_of_session(cls, session));
      if (session_lanes.empty()) continue;
      const bool by_client = leaves_.layout() == LeafLayout::by_client;
      const std::uint32_t client = by_client ? sessions_[session].client : 0;
      TENTQ_CHECK(leaves_.has_session(cls, client, session));
      client_lanes[client].add_all(session_lanes);
      if (!leaves_.is_hidden(cls, client)) class_lanes.add_all(session_lanes);
    }
    for (std::uint32_t lane = 0; lane < maxima.lanes; ++lane) {
      const bool wanted = class_lanes.has(lane) && cls != index_of(ClassId::internal);
      TENTQ_CHECK((lanes_[lane].wanted >> cls & 1u) == (wanted ? 1u : 0u));
    }
    for (std::uint32_t client = 0; client < maxima.clients; ++client) {
      TENTQ_CHECK(client_lanes[client] == leaves_.lanes_of(cls, client));
      for (std::uint32_t lane = 0; lane < maxima.lanes; ++lane) {
        TENTQ_CHECK(leaves_.has_client(cls, client, lane) == client_lanes[client].has(lane));
      }
      TENTQ_CHECK(client_caps_.is_held(client) == leaves_.is_hidden(1, client));
    }
    TENTQ_CHECK(class_lanes == leaves_.lanes_of(cls) && queued == leaves_.queued(cls));
    TENTQ_CHECK((leaves_.filled_classes() >> cls & 1u) == (class_lanes.empty() ? 0u : 1u));
    std::uint64_t unrouted = 0;
    for (std::uint32_t i = unrouted_[cls].head; i != kNone; i = owners[i].next) {
      TENTQ_CHECK(owners[i].state == OwnerState::route_pending && owners[i].cls == cls);
      unrouted += 1;
    }
    TENTQ_CHECK(unrouted == tallies_[cls].owners.in(OwnerState::route_pending));
  }
  picker_.aging().check();
}

// What lanes and clients have in flight is what their owners' chunks add up to.
void State::check_flight(const Sums& sums) const {
  for (std::uint32_t k = 0; k < maxima.clients; ++k) {
    TENTQ_CHECK(client_caps_[k].in_flight == sums.of_client[k]);
  }
  for (std::uint32_t l = 0; l < lanes_.count(); ++l) {
    const Lane& lane = lanes_[l];
    std::uint64_t bytes = lane.internal_bytes;
    std::uint64_t reserved = 0;
    for (std::uint32_t c = 1; c < kMaxClasses; ++c) {
      TENTQ_CHECK(lane.classes[c].in_flight == sums.of_lane[l * kMaxClasses + c]);
      bytes += lane.classes[c].in_flight;
      reserved += lane.classes[c].reserve;
      TENTQ_CHECK(lane.held || lane.classes[c].need == 0);
    }
    TENTQ_CHECK(!(lane.away || lane.dry) || lane.ready == 0);
    TENTQ_CHECK(lane.receiver != kNoReceiver || !(lane.dry || lane.internal_dry));
    TENTQ_CHECK(!lane.given_up || (lane.away && lane.queued_owners == 0));
    TENTQ_CHECK(lanes_.able().has(l) == ((lane.wanted & lane.ready) != 0));
    TENTQ_CHECK(bytes == lane.in_flight_bytes && reserved == lane.reserved);
    TENTQ_CHECK(lane.classes_with_room() == lane.classes_one_by_one());
    TENTQ_CHECK(!lane.open || lane.reserved <= lane.window_bytes - lane.largest_chunk);
  }
}

void State::check_sums(const Sums& sums) const {
  TENTQ_CHECK(sums.users == accounts_.users() && sums.internal == accounts_.internal());
  std::uint64_t flying = 0;
  std::uint64_t lanes_flying = 0;
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    const ClassTally& a = sums.classes[c];
    const ClassTally& b = tallies_[c];
    TENTQ_CHECK(a.queued_bytes == b.queued_bytes && a.in_flight_bytes == b.in_flight_bytes);
    for (const OwnerState state :
         {OwnerState::queued, OwnerState::route_pending, OwnerState::dispatching,
          OwnerState::submitted, OwnerState::draining}) {
      TENTQ_CHECK(a.owners.in(state) == b.owners.in(state));
    }
    flying += a.in_flight_bytes;
  }
  for (std::uint32_t l = 0; l < lanes_.count(); ++l) {
    lanes_flying += lanes_[l].in_flight_bytes;
    if (!lanes_[l].open) continue;
    const LaneWindow& window = lanes_.window(l);
    window.check();
    TENTQ_CHECK(lanes_[l].window_bytes == window.bytes());
    TENTQ_CHECK(lanes_[l].chunk_bytes == window.chunk_bytes());
  }
  TENTQ_CHECK(flying == lanes_flying && sums.chunks == chunks_.taken());
  TENTQ_CHECK(sums.in_wheel == wheel_.count());
  // Every record is live, or its end is still to be told.
  TENTQ_CHECK(sums.live + sums.ended == owners.taken());
  const std::uint64_t terminal =
      counters.completed + counters.failed + counters.timed_out + counters.canceled;
  TENTQ_CHECK(counters.enqueued == sums.live + terminal);
}

void State::check_invariants() const {
  Sums sums;
  sums.of_credit.resize(sessions_.count() * kMaxClasses);
  sums.of_client.resize(maxima.clients);
  sums.of_lane.resize(maxima.lanes * kMaxClasses);
  sums.credited.resize(receivers_.count() * Receivers::kPools);
  for (std::uint32_t i = 0; i < owners.high_water(); ++i) {
    if (is_live(owners[i].state)) check_owner(i, &sums);
  }
  std::uint32_t prev = kNone;
  for (std::uint32_t i = ended_.head; i != kNone; i = owners[i].next) {
    TENTQ_CHECK(!is_live(owners[i].state) && owners[i].state != OwnerState::free);
    prev = i;
    sums.ended += 1;
  }
  TENTQ_CHECK(prev == ended_.tail);
  check_sums(sums);
  check_leaves();
  check_flight(sums);
  check_credits(sums);
  accounts_.check();
  credit_.check();
  check_sessions(sums);
}

// What is on credit is what was sent and not freed; nobody waits for room that there is.
void State::check_credits(const Sums& sums) const {
  receivers_.check();
  for (std::uint32_t r = 0; r < receivers_.count(); ++r) {
    for (const CreditPool pool : {CreditPool::user, CreditPool::internal}) {
      const ReceiverTotals totals = receiver_totals(r, pool);
      const std::size_t at = r * Receivers::kPools + static_cast<std::size_t>(pool);
      // receiver_totals() may have ended a life that this object has not looked at yet.
      if (totals.life == receivers_[r].pools[static_cast<std::size_t>(pool)].credit.life()) {
        TENTQ_CHECK(sums.credited[at] == totals.sent - totals.freed);
      }
      TENTQ_CHECK(totals.need == 0 || totals.need > totals.room);
    }
  }
}

// Every session's charges and promises, per class, add up to those of its levels.
void State::check_sessions(const Sums& sums) const {
  std::uint32_t purging = 0;
  std::uint32_t live = 0;
  Amounts host;
  std::array<Amounts, kMaxClasses> classes{};
  Amounts outstanding;
  for (std::uint32_t s = 0; s < sessions_.count(); ++s) {
    const Session& session = sessions_[s];
    purging += session.purge != Reason::none ? 1 : 0;
    live += session.live;
    TENTQ_CHECK(session.owners.live() <= session.live);
    core::charge(outstanding, credit_.outstanding_of(s));
    for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
      const Credit& credit = credit_.of(s, c);
      TENTQ_CHECK(sums.of_credit[s * kMaxClasses + c] == minus(credit.spent, credit.released));
    }
    Amounts committed;
    for (std::uint32_t c = 1; c < kMaxClasses; ++c) {
      const Credit& credit = credit_.of(s, c);
      core::charge(committed, minus(credit.granted, credit.released));
      core::charge(classes[c], minus(credit.granted, credit.released));
    }
    TENTQ_CHECK(committed == accounts_.of_session(s).committed);
    core::charge(host, committed);
  }
  TENTQ_CHECK(host == accounts_.host().committed && outstanding == accounts_.outstanding());
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    TENTQ_CHECK(classes[c] == accounts_.of_class(c).committed);
  }
  TENTQ_CHECK(live == owners.taken() && purging == sessions_.purging());
}

// What is cheap enough to hold after every event in builds with TENTQ_CHECKS.
void State::check_cheaply() const {
  const Level& host = accounts_.host();
  TENTQ_CHECK(fits(accounts_.users(), host.committed));
  TENTQ_CHECK(fits(host.committed, largest(host.limit, host.tolerated)));
  std::uint64_t live = 0;
  for (const ClassTally& tally : tallies_) live += tally.owners.live();
  TENTQ_CHECK(live == accounts_.outstanding().owners && live <= owners.taken());
}

}  // namespace tentq::core
