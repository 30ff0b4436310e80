// What a transfer request must satisfy before the core sees it. Works on a private copy of each
// cell; every check is against the daemon's own tables. One unfit cell ends its whole call.
#include <algorithm>

#include "daemon/hosts/hosts.h"
#include "daemon/inbox.h"
#include "daemon/lanes.h"
#include "proto/check.h"

namespace tentq {

namespace {

// What the cores' own caches hold easily beside the daemon's tables.
constexpr std::uint64_t kExpectedBytes = 4096;

}  // namespace

bool Inbox::take_slot(Session& session, const CellBody& cell, Time now) {
  if (cell.slot < session.slots.size()) {
    SlotEntry& entry = session.slots[cell.slot];
    if (!entry.busy && cell.slot_generation == entry.generation + 1) {
      entry = SlotEntry{};
      entry.generation = cell.slot_generation;
      entry.busy = true;
      entry.enqueued = now;
      ++session.slots_used;
      return true;
    }
  }
  host_.violation(session, Violation::bad_slot);
  return false;
}

void Inbox::handle_transfers(Session& session, ClassId cls, std::span<const CellBody> group,
                             Time now) {
  Reason reason = Reason::none;
  const bool replayed = (group.front().flags & kCellReplayed) != 0;
  if ((group.front().flags & kCellDowngraded) != 0) {
    session.downgraded_owners += group.size();
    downgraded_owners_ += group.size();
  }
  if (group.size() > settings_.limits.largest_call_owners) reason = Reason::too_large;
  specs_.clear();
  for (const CellBody& cell : group) {
    if (!take_slot(session, cell, now)) {
      reason = Reason::invalid_cell;
      continue;
    }
    core::OwnerSpec& spec = specs_.emplace_back();
    spec.slot = cell.slot;
    spec.slot_generation = cell.slot_generation;
    spec.length = cell.length;
    if (reason != Reason::none) continue;
    Verdict verdict = check_transfer(session, cell, &spec, now);
    if (((cell.flags & kCellReplayed) != 0) != replayed) {
      verdict = {Reason::invalid_cell, Violation::bad_group, true};
    }
    if (verdict.violated) host_.violation(session, verdict.violation);
    reason = verdict.reason;
  }
  if (specs_.empty()) return;
  if (reason == Reason::none && specs_.size() == 1) expect_copy(specs_.front());
  for (core::OwnerSpec& spec : specs_) {
    if (reason != Reason::none) {
      spec.local_region = RegionIndex{};
      spec.remote_region = RegionIndex{};
      continue;
    }
    regions_.pin(spec.local_region);
    if (spec.remote_region.valid()) pin(spec.remote_region);
  }
  core_.handle(core::Submitted{session.id, cls, replayed, reason, specs_}, now);
}

// A small copy is made in this turn when nothing is before it: its lines, which another core wrote
// last, come while the core decides.
void Inbox::expect_copy(const core::OwnerSpec& spec) const {
  if (!spec.remote_region.valid() || is_elsewhere(spec.remote_region)) return;
  const std::byte* local = regions_.at(spec.local_region).mapping.data() + spec.local_offset;
  const std::byte* remote = regions_.at(spec.remote_region).mapping.data() + spec.remote_offset;
  const std::byte* from = spec.op == Op::read ? remote : local;
  const std::byte* to = spec.op == Op::read ? local : remote;
  const std::uint64_t length = std::min(spec.length, kExpectedBytes);
  for (std::uint64_t at = 0; at < length; at += 64) {
    __builtin_prefetch(from + at);
    __builtin_prefetch(to + at, 1);
  }
}

Inbox::Verdict Inbox::check_transfer(Session& session, const CellBody& cell, core::OwnerSpec* spec,
                                     Time now) {
  const std::uint64_t reserved =
      cell.reserved0 | cell.reserved[0] | cell.reserved[1] | cell.reserved[2] | cell.reserved[3];
  constexpr std::uint16_t kKnown = kCellReplayed | kCellNoResubmit | kCellDowngraded;
  const bool known_op = cell.op == Op::read || cell.op == Op::write;
  if (cell.kind != CellKind::transfer || !known_op || reserved != 0 ||
      (cell.flags & ~kKnown) != 0) {
    return {Reason::invalid_cell, Violation::reserved_bits, true};
  }
  if (cell.length == 0) return {Reason::invalid_cell, Violation::bad_length, true};
  if (cell.length > settings_.limits.largest_owner_bytes) {
    return {Reason::too_large, Violation::bad_length, true};
  }
  constexpr std::uint64_t kLongest = std::uint64_t{1} << 62;  // a duration that cannot wrap
  if (cell.deadline_ns > kLongest || cell.max_queue_wait_ns > kLongest) {
    return {Reason::invalid_cell, Violation::bad_length, true};
  }
  spec->op = cell.op;
  spec->cookie = cell.cookie;
  spec->deadline = Duration{static_cast<std::int64_t>(cell.deadline_ns)};
  spec->max_queue_wait = Duration{static_cast<std::int64_t>(cell.max_queue_wait_ns)};
  const Verdict local = check_local(session, cell, spec);
  if (local.reason != Reason::none) return local;
  return check_remote(session, cell, spec, now);
}

Inbox::Verdict Inbox::check_local(const Session& session, const CellBody& cell,
                                  core::OwnerSpec* spec) const {
  const auto it = session.regions.find(cell.local_region);
  if (it == session.regions.end()) {
    return {Reason::unknown_region, Violation::unknown_region, true};
  }
  const Region& region = regions_.at(it->second);
  if (cell.local_offset > region.size || cell.length > region.size - cell.local_offset) {
    return {Reason::out_of_range, Violation::out_of_range, true};
  }
  if (cell.op == Op::read && region.read_only) {
    return {Reason::not_permitted, Violation::not_permitted, true};
  }
  spec->local_region = it->second;
  spec->local_offset = cell.local_offset;
  return {};
}

Inbox::Verdict Inbox::check_remote(const Session& session, const CellBody& cell,
                                   core::OwnerSpec* spec, Time now) const {
  const auto it = session.segments.find(cell.remote_segment);
  if (it == session.segments.end()) {
    return {Reason::unknown_segment, Violation::unknown_segment, true};
  }
  spec->remote_segment = SegmentHandle{cell.remote_segment};
  if (it->second.remote != nullptr) return check_elsewhere(*it->second.remote, cell, spec);
  const Segment& segment = *it->second.segment;
  if (segment.incarnation != it->second.incarnation) return {Reason::stale_handle, {}, false};
  const Resolution found =
      segments_.resolve(segment, cell.remote_offset, cell.length, cell.op, session.asker(), now);
  switch (found.lookup) {
    case Lookup::pending: spec->remote_offset = cell.remote_offset; return {};
    case Lookup::found:
      spec->lane = lane_of(cell.op);
      spec->remote_region = found.region;
      spec->remote_offset = found.region_offset;
      return {};
    case Lookup::failed:
      // What its exporter did is not the client's fault; asking for what it has no right to is.
      return {found.reason,
              found.reason == Reason::not_permitted ? Violation::not_permitted
                                                    : Violation::out_of_range,
              found.reason == Reason::not_permitted || found.reason == Reason::out_of_range};
  }
  TENTQ_CHECK(false);
  return {};
}

// Range and rights are checked where the segment is.
Inbox::Verdict Inbox::check_elsewhere(const RemoteSegment& segment, const CellBody& cell,
                                      core::OwnerSpec* spec) const {
  if (cell.remote_offset + cell.length < cell.length) {
    return {Reason::out_of_range, Violation::out_of_range, true};
  }
  const Resolution found = hosts_->resolve(segment);
  if (found.lookup == Lookup::failed) return {found.reason, {}, false};
  spec->remote_offset = cell.remote_offset;
  spec->without_route = Reason::peer_lost;
  if (found.lookup == Lookup::pending) return {};
  spec->lane = hosts_->lane_of(segment, cell.op);
  if (spec->lane.valid()) spec->remote_region = found.region;
  return {};
}

void Inbox::pin(RegionIndex remote) {
  if (is_elsewhere(remote)) {
    hosts_->pin(remote);
  } else {
    regions_.pin(remote);
  }
}

Resolution Inbox::resolve_late(const Session& session, SegmentHandle handle, std::uint64_t offset,
                               std::uint64_t length, Op op, Time now, LaneId* lane) const {
  const auto it = session.segments.find(handle.value());
  if (it == session.segments.end()) {
    Resolution closed;
    closed.reason = Reason::unknown_segment;
    return closed;
  }
  const OpenedSegment& opened = it->second;
  if (opened.remote == nullptr) {
    *lane = lane_of(op);
    return segments_.resolve(*opened.segment, offset, length, op, session.asker(), now);
  }
  Resolution found = hosts_->resolve(*opened.remote);
  found.region_offset = offset;
  *lane = found.lookup == Lookup::found ? hosts_->lane_of(*opened.remote, op) : LaneId{};
  if (!lane->valid() && found.lookup == Lookup::found) found.lookup = Lookup::pending;
  return found;
}

}  // namespace tentq
