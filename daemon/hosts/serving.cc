// READs of other hosts as owners. See serving.h.
#include "daemon/hosts/serving.h"

#include <algorithm>

#include "daemon/core/amounts.h"
#include "proto/check.h"

namespace tentq {

namespace {

core::Amounts amounts_of(const TcpEvent& read) {
  return {1, read.length, 1};
}

}  // namespace

Serving::Serving(core::Core& core, Regions& regions, const InboundSegments& segments, Refuse refuse,
                 std::uint32_t first_session, std::uint32_t first_key, std::uint32_t most)
    : core_(core),
      regions_(regions),
      segments_(segments),
      refuse_(std::move(refuse)),
      first_session_(first_session),
      first_key_(first_key),
      peers_(most) {}

Serving::Peer* Serving::find(LinkKey link) {
  const auto it = std::find_if(peers_.begin(), peers_.end(), [link](const Peer& peer) {
    return peer.link == link && !peer.closing;
  });
  return it == peers_.end() ? nullptr : &*it;
}

SessionId Serving::session_of(const Peer& peer) const {
  return SessionId{first_session_ + static_cast<std::uint32_t>(&peer - peers_.data())};
}

void Serving::refuse(std::uint64_t read, Reason reason) {
  ++refused_;
  refuse_(read, reason);
}

bool Serving::link_up(LinkKey link, LaneId lane, ClassId highest, Time now) {
  const auto it = std::find_if(peers_.begin(), peers_.end(),
                               [](const Peer& peer) { return !peer.link.valid(); });
  if (it == peers_.end()) return false;
  Peer& peer = *it;
  peer = Peer{};
  peer.link = link;
  peer.lane = lane;
  peer.highest = highest;
  peer.reads.resize(kMostReads);
  for (std::uint32_t slot = kMostReads; slot > 0; --slot) peer.free_slots.push_back(slot - 1);
  core::SessionOpened opened;
  opened.session = session_of(peer);
  opened.client = ClientKey{first_key_ + static_cast<std::uint32_t>(it - peers_.begin())};
  opened.slots = kMostReads;
  opened.limit = core_.limits().client;
  core_.handle(opened, now);
  return true;
}

void Serving::link_down(LinkKey link, Time now) {
  Peer* peer = find(link);
  if (peer == nullptr) return;
  peer->closing = true;
  for (auto& waiting : peer->waiting) waiting.clear();
  core_.handle(core::SessionClosed{session_of(*peer)}, now);
}

void Serving::quiet(SessionId session) {
  Peer& peer = peers_[session.value() - first_session_];
  TENTQ_CHECK(peer.closing);
  peer = Peer{};
}

void Serving::read_asked(const TcpEvent& event, Time now) {
  Peer* peer = find(event.link);
  if (peer == nullptr) return refuse(event.read, Reason::peer_lost);
  const ClassId cls = std::max({event.cls, peer->highest, ClassId::foreground});
  const Queued queued{event, std::min(cls, ClassId::background)};
  const std::size_t c = index_of(queued.cls);
  if (!peer->waiting[c].empty()) {
    // As many as the transport lets a peer ask for; the wish is that of the first.
    peer->waiting[c].push_back(queued);
    return;
  }
  if (submit(*peer, queued, now)) return;
  peer->waiting[c].push_back(queued);
  wish(*peer, c, now);
}

// For what waits first. What can never be admitted is refused.
void Serving::wish(Peer& peer, std::size_t cls, Time now) {
  std::deque<Queued>& waiting = peer.waiting[cls];
  const core::Limits& limits = core_.limits();
  while (!waiting.empty()) {
    const core::Amounts needed = amounts_of(waiting.front().event);
    if (core::fits(needed, limits.client) && core::fits(needed, limits.classes[cls].outstanding) &&
        core::fits(needed, limits.host)) {
      break;
    }
    refuse(waiting.front().event.read, Reason::too_large);
    waiting.pop_front();
  }
  if (waiting.empty()) return;
  core_.handle(core::CreditWanted{session_of(peer), static_cast<ClassId>(cls),
                                  amounts_of(waiting.front().event), peer.consumed[cls], true},
               now);
}

// False: there is no credit or slot for it now.
bool Serving::submit(Peer& peer, const Queued& queued, Time now) {
  const TcpEvent& event = queued.event;
  const std::size_t c = index_of(queued.cls);
  const Resolution found =
      segments_.resolve(event.link, event.segment, event.offset, event.length, Op::read, now);
  if (found.lookup != Lookup::found) {
    refuse(event.read, found.reason);
    return true;
  }
  const core::Amounts consumed = core::plus_saturating(peer.consumed[c], amounts_of(event));
  if (peer.free_slots.empty() || !core::fits(consumed, peer.granted[c])) return false;
  const std::uint32_t slot = peer.free_slots.back();
  peer.free_slots.pop_back();
  peer.consumed[c] = consumed;
  Read& read = peer.reads[slot];
  read.read = event.read;
  read.connection = event.connection;
  read.generation += 1;
  core::OwnerSpec spec;
  spec.slot = slot;
  spec.slot_generation = read.generation;
  spec.op = Op::write;
  spec.lane = peer.lane;
  spec.local_region = found.region;
  spec.local_offset = found.region_offset;
  const auto number = static_cast<std::uint32_t>(&peer - peers_.data());
  spec.remote_region = elsewhere(number * kMostReads + slot);
  spec.length = event.length;
  regions_.pin(found.region);
  core_.handle(core::Submitted{session_of(peer), queued.cls, false, Reason::none, {&spec, 1}}, now);
  return true;
}

void Serving::submit_waiting(Peer& peer, std::size_t cls, Time now) {
  std::deque<Queued>& waiting = peer.waiting[cls];
  while (!waiting.empty() && submit(peer, waiting.front(), now)) waiting.pop_front();
  if (!peer.closing) wish(peer, cls, now);
}

void Serving::connection_over(LinkKey link, std::uint64_t connection, Time now) {
  Peer* peer = find(link);
  if (peer == nullptr) return;
  for (auto& waiting : peer->waiting) {
    std::erase_if(waiting, [connection](const Queued& queued) {
      return queued.event.connection == connection;
    });
  }
  for (std::uint32_t slot = 0; slot < kMostReads; ++slot) {
    const Read& read = peer->reads[slot];
    if (read.read == 0 || read.connection != connection) continue;
    core_.handle(core::CancelRequested{session_of(*peer), slot, read.generation}, now);
  }
}

void Serving::ended(const core::OwnerEnded& effect, Time now) {
  Peer& peer = peers_[effect.session.value() - first_session_];
  if (effect.local_region.valid()) regions_.unpin(effect.local_region);
  Read& read = peer.reads[effect.slot];
  TENTQ_CHECK(read.read != 0 && read.generation == effect.slot_generation);
  if (effect.state == TaskState::completed) {
    ++served_;
  } else {
    refuse(read.read, effect.reason == Reason::none ? Reason::transport_error : effect.reason);
  }
  read.read = 0;
  peer.free_slots.push_back(effect.slot);
  if (peer.closing) return;
  // Its slot may be what another class waits for.
  for (std::size_t cls = 0; cls < kMaxClasses; ++cls) {
    if (!peer.waiting[cls].empty()) submit_waiting(peer, cls, now);
  }
}

void Serving::raise_credit(const core::RaiseCredit& effect, Time now) {
  Peer& peer = peers_[effect.session.value() - first_session_];
  const std::size_t c = index_of(effect.cls);
  peer.granted[c] = effect.granted;
  if (!peer.closing && !peer.waiting[c].empty()) submit_waiting(peer, c, now);
}

core::CreditConsumed Serving::reclaim_credit(const core::ReclaimCredit& effect) {
  Peer& peer = peers_[effect.session.value() - first_session_];
  const std::size_t c = index_of(effect.cls);
  peer.granted[c] = effect.granted;
  return {effect.session, effect.cls, peer.consumed[c]};
}

std::uint64_t Serving::read_of(RegionIndex remote) const {
  const std::uint32_t entry = entry_of(remote);
  return peers_[entry / kMostReads].reads[entry % kMostReads].read;
}

}  // namespace tentq
