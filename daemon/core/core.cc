// First form of the core: one arrival queue per lane, windows, chunks, cancel, retirement.
// Conductor thread. Bytes and nanoseconds.
#include "daemon/core/core.h"

#include <algorithm>
#include <deque>
#include <map>
#include <stdexcept>

namespace tentq::core {
namespace {

struct Record {
  OwnerSpec spec;
  OwnerId id;
  SessionId session;
  ClassId cls{};
  OwnerState state = OwnerState::free;
  std::uint64_t handed = 0, done = 0;
  std::map<std::uint32_t, std::uint64_t> chunks;
  std::uint32_t next_ordinal = 0;
  Reason reason = Reason::none;
  TaskState outcome = TaskState::completed;
  Time enqueued{}, dispatched{};
};
struct Lane {
  LaneOpened shape;
  std::uint64_t bytes = 0;
  std::uint32_t chunks = 0;
  std::deque<std::uint32_t> queue;
};
struct Session {
  bool open = false, closing = false;
  ClientKey client;
  std::uint64_t live = 0;
};

}  // namespace

struct Core::Parts {
  Limits limits;
  Policy policy;
  HardMaxima maxima;
  std::vector<Record> owners;
  std::vector<std::uint32_t> free;
  std::map<std::uint16_t, Lane> lanes;
  std::vector<Session> sessions;
  std::deque<Effect> effects;
  Counters counters;
  Amounts outstanding;
  bool draining = false, drained_sent = false;
  Time now{};
  std::array<ClassTotals, kMaxClasses> totals{};

  Record* find(OwnerId id) {
    if (id.index >= owners.size() || owners[id.index].id != id) return nullptr;
    return owners[id.index].state == OwnerState::free ? nullptr : &owners[id.index];
  }
  void end(Record& r, TaskState state, Reason reason) {
    effects.push_back(OwnerEnded{r.session, r.id, r.spec.slot, r.spec.slot_generation, r.cls, state,
                                 reason, r.spec.op, r.spec.local_region, r.spec.remote_region,
                                 r.spec.length, r.done, r.enqueued, r.dispatched, now});
    outstanding.owners -= 1;
    outstanding.bytes -= r.spec.length;
    outstanding.extents -= r.spec.extents;
    Session& s = sessions[r.session.value()];
    s.live -= 1;
    r.state = OwnerState::free;
    r.id.generation += 1;
    free.push_back(r.id.index);
    if (s.closing && s.live == 0) {
      s = Session{};
      effects.push_back(SessionQuiet{r.session});
    }
  }
  void stop(Record& r, TaskState state, Reason reason) {
    if (r.state == OwnerState::draining) return;
    if (r.spec.lane.valid()) std::erase(lanes[r.spec.lane.value()].queue, r.id.index);
    if (r.chunks.empty()) return end(r, state, reason);
    r.state = OwnerState::draining;
    r.outcome = state;
    r.reason = reason;
    for (const auto& [ordinal, length] : r.chunks) {
      effects.push_back(CancelChunk{{r.id, 0, ordinal}, r.spec.lane});
    }
  }
  void on(const Submitted& e) {
    for (const OwnerSpec& spec : e.owners) {
      const bool refused = draining || free.empty();
      if (refused) {
        effects.push_back(OwnerEnded{e.session,
                                     {},
                                     spec.slot,
                                     spec.slot_generation,
                                     e.cls,
                                     TaskState::failed,
                                     draining ? Reason::draining : Reason::over_limit,
                                     spec.op,
                                     spec.local_region,
                                     spec.remote_region,
                                     spec.length,
                                     0,
                                     now,
                                     {},
                                     now});
        continue;
      }
      Record& r = owners[free.back()];
      free.pop_back();
      const OwnerId id = r.id;
      r = Record{};
      r.spec = spec;
      r.id = id;
      r.session = e.session;
      r.cls = e.cls;
      r.enqueued = now;
      outstanding.owners += 1;
      outstanding.bytes += spec.length;
      outstanding.extents += spec.extents;
      sessions[e.session.value()].live += 1;
      counters.enqueued += 1;
      effects.push_back(OwnerAdmitted{e.session, id, spec.slot, spec.slot_generation});
      if (spec.lane.valid()) {
        r.state = OwnerState::queued;
        lanes[spec.lane.value()].queue.push_back(id.index);
      } else {
        r.state = OwnerState::route_pending;
        effects.push_back(ResolveRoute{id, e.session, spec.remote_segment, spec.remote_offset,
                                       spec.length, spec.op});
      }
    }
    if (e.owners.empty()) return;
    grant(e.session);
  }
  void grant(SessionId session) {
    const Amounts all{std::uint64_t{1} << 62, std::uint64_t{1} << 62, std::uint64_t{1} << 62};
    for (std::size_t c = 0; c < kClassCount; ++c) {
      effects.push_back(RaiseCredit{session, static_cast<ClassId>(c), all});
    }
  }
  void on(const ChunkEnded& e) {
    Record* r = find(e.chunk.owner);
    if (r == nullptr || !r->chunks.contains(e.chunk.ordinal)) {
      counters.stale_completions += 1;
      return;
    }
    Lane& lane = lanes[r->spec.lane.value()];
    lane.bytes -= r->chunks[e.chunk.ordinal];
    lane.chunks -= 1;
    r->chunks.erase(e.chunk.ordinal);
    r->done += e.bytes;
    if (e.reason != Reason::none && r->state != OwnerState::draining) {
      stop(*r, TaskState::failed, e.reason);
      return;
    }
    if (!r->chunks.empty()) return;
    if (r->done >= r->spec.length) return end(*r, TaskState::completed, Reason::none);
    if (r->state == OwnerState::draining) end(*r, r->outcome, r->reason);
  }
  void on(const ChunkRefused& e) { on(ChunkEnded{e.chunk, 0, Reason::transport_error}); }
  void on(const CancelRequested& e) {
    for (Record& r : owners) {
      if (r.state != OwnerState::free && r.session == e.session && r.spec.slot == e.slot &&
          r.spec.slot_generation == e.slot_generation) {
        return stop(r, TaskState::canceled, Reason::canceled);
      }
    }
  }
  void on(const RouteResolved& e) {
    Record* r = find(e.owner);
    if (r == nullptr || r->state != OwnerState::route_pending) return;
    r->spec.lane = e.lane;
    r->spec.remote_region = e.remote_region;
    r->spec.remote_offset = e.remote_offset;
    r->state = OwnerState::queued;
    lanes[e.lane.value()].queue.push_back(e.owner.index);
  }
  void on(const RouteFailed& e) {
    Record* r = find(e.owner);
    if (r != nullptr && r->state == OwnerState::route_pending) {
      stop(*r, TaskState::failed, e.reason);
    }
  }
  void on(const CreditConsumed&) {}
  void on(const CreditWanted& e) { grant(e.session); }
  void on(const SessionOpened& e) {
    sessions[e.session.value()] = {true, false, e.client, 0};
    grant(e.session);
  }
  void on(const SessionClosed& e) {
    sessions[e.session.value()].closing = true;
    if (sessions[e.session.value()].live == 0) {
      sessions[e.session.value()] = Session{};
      effects.push_back(SessionQuiet{e.session});
      return;
    }
    for (Record& r : owners) {
      if (r.state != OwnerState::free && r.session == e.session) {
        stop(r, TaskState::canceled, Reason::canceled);
      }
    }
  }
  void on(const LaneOpened& e) { lanes[e.lane.value()].shape = e; }
  void on(const LaneWindowChanged& e) {
    lanes[e.lane.value()].shape = {e.lane, e.window_bytes, e.window_chunks, e.chunk_bytes};
  }
  void on(const DrainRequested&) { draining = true; }
  void on(const ResumeRequested&) { draining = drained_sent = false; }
  void on(const ShutdownRequested&) {
    draining = true;
    for (Record& r : owners) {
      if (r.state != OwnerState::free) stop(r, TaskState::canceled, Reason::shutdown);
    }
  }
  void on(const Tick&) {}

  std::optional<Effect> dispatch() {
    for (auto& [number, lane] : lanes) {
      if (lane.queue.empty() || lane.chunks >= lane.shape.window_chunks) continue;
      Record& r = owners[lane.queue.front()];
      const std::uint64_t most = std::min(lane.shape.chunk_bytes, lane.shape.window_bytes);
      const std::uint64_t length = std::min(r.spec.length - r.handed, most);
      if (lane.bytes + length > lane.shape.window_bytes) continue;
      const ChunkId chunk{r.id, 0, r.next_ordinal++};
      DispatchChunk effect{chunk,
                           r.spec.lane,
                           r.session,
                           r.spec.op,
                           r.spec.local_region,
                           r.spec.remote_region,
                           r.spec.local_offset + r.handed,
                           r.spec.remote_offset + r.handed,
                           length};
      if (r.handed == 0) r.dispatched = now;
      r.handed += length;
      r.chunks[chunk.ordinal] = length;
      lane.bytes += length;
      lane.chunks += 1;
      counters.dispatched_chunks += 1;
      r.state = OwnerState::dispatching;
      if (r.handed == r.spec.length) {
        r.state = OwnerState::submitted;
        lane.queue.pop_front();
      }
      return effect;
    }
    return std::nullopt;
  }
};

Core::Core(const Limits& limits, const HardMaxima& maxima, Policy policy, std::uint64_t)
    : parts_(std::make_unique<Parts>()) {
  parts_->limits = limits;
  parts_->maxima = maxima;
  parts_->policy = policy;
  parts_->owners.resize(maxima.owners);
  parts_->sessions.resize(maxima.sessions);
  for (std::uint32_t i = maxima.owners; i-- > 0;) {
    parts_->owners[i].id = {i, 0};
    parts_->free.push_back(i);
  }
}
Core::~Core() = default;

void Core::handle(const Event& event, Time now) {
  parts_->now = now;
  std::visit([this](const auto& e) { parts_->on(e); }, event);
}
std::optional<Effect> Core::next_effect() {
  if (!parts_->effects.empty()) {
    Effect effect = parts_->effects.front();
    parts_->effects.pop_front();
    return effect;
  }
  if (auto effect = parts_->dispatch()) return effect;
  if (parts_->draining && !parts_->drained_sent && parts_->outstanding.owners == 0) {
    parts_->drained_sent = true;
    return Drained{};
  }
  return std::nullopt;
}
std::optional<Time> Core::next_deadline() const {
  return std::nullopt;
}
void Core::check_invariants() const {}
StatusCode Core::set_policy(Policy policy) {
  parts_->policy = policy;
  return StatusCode::ok;
}
StatusCode Core::set_limits(const Limits& limits, std::string*) {
  parts_->limits = limits;
  return StatusCode::ok;
}
Policy Core::policy() const {
  return parts_->policy;
}
const Limits& Core::limits() const {
  return parts_->limits;
}
bool Core::draining() const {
  return parts_->draining;
}
ClassTotals Core::class_totals(ClassId cls) const {
  return parts_->totals[index_of(cls)];
}
LaneTotals Core::lane_totals(LaneId) const {
  return {};
}
SessionTotals Core::session_totals(SessionId) const {
  return {};
}
const Counters& Core::counters() const {
  return parts_->counters;
}
Amounts Core::outstanding() const {
  return parts_->outstanding;
}
std::optional<OwnerView> Core::find_owner(OwnerId) const {
  return std::nullopt;
}
std::optional<Explanation> Core::explain(OwnerId) const {
  return std::nullopt;
}
std::vector<OwnerView> Core::list_owners(const std::function<bool(const OwnerView&)>&,
                                         std::size_t) const {
  return {};
}
std::uint64_t Core::state_hash() const {
  return parts_->outstanding.owners;
}

}  // namespace tentq::core
