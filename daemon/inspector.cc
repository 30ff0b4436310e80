// Views of the shell. See inspector.h and views.h.
#include "daemon/inspector.h"

#include <unistd.h>

#include <algorithm>

#include "daemon/config/quotas.h"
#include "daemon/hosts/hosts.h"
#include "daemon/lanes.h"
#include "proto/version.h"

namespace tentq {

namespace {

std::string text_of(RegionAccess access) {
  switch (access) {
    case RegionAccess::none: return "none";
    case RegionAccess::read: return "read";
    case RegionAccess::read_write: return "read-write";
  }
  return "unknown";
}

std::string scope_of(const Region& region) {
  switch (region.host_scope) {
    case RegionScope::same_uid: return "same uid";
    case RegionScope::uid: return "uid " + std::to_string(region.scope_id);
    case RegionScope::gid: return "gid " + std::to_string(region.scope_id);
    case RegionScope::name: return "name " + region.scope_name;
    case RegionScope::everyone: return "everyone";
  }
  return "unknown";
}

RegionView view_of(const Region& region) {
  return {region.base,
          region.size,
          text_of(region.host_access),
          scope_of(region),
          text_of(region.remote_access),
          region.pins,
          region.resident};
}

bool stalled(const Session& session, Time now, Duration limit) {
  return std::any_of(session.rings.begin(), session.rings.end(), [&](const SessionRing& ring) {
    return ring.stalled_since != Time{} && now - ring.stalled_since >= limit;
  });
}

QuotaView view_of(const FairnessKey& key, const core::Limits& limits) {
  constexpr std::string_view kPer[] = {"cgroup", "user", "all"};
  QuotaView view;
  const Quota quota = key.quota.value_or(Quota{});
  if (key.quota) view.name = quota_name(quota);
  view.per = kPer[static_cast<std::size_t>(quota.per)];
  view.highest_class = quota.highest_class;
  view.downgrade = quota.over == OverClass::downgrade;
  view.owners = quota.owners.value_or(limits.client.owners);
  view.bytes = quota.bytes.value_or(limits.client.bytes);
  view.in_flight_bytes = quota.in_flight_bytes.value_or(limits.client_in_flight_bytes);
  view.has_in_flight = quota.in_flight_bytes.has_value();
  view.pinned_bytes = quota.pinned_bytes;
  view.used_pinned_bytes = key.pinned_bytes;
  return view;
}

DirectoryView view_of(const directory::Directory& names) {
  DirectoryView view;
  view.state = to_string(names.state());
  view.endpoints = names.endpoints();
  view.last_failure = names.last_failure();
  view.published = names.presence().published();
  for (const auto& [name, of] : names.presence().names()) {
    view.taken += of.state == directory::NameState::taken ? 1 : 0;
  }
  view.known = names.known().table().size();
  view.failures = names.failures();
  return view;
}

// What the directory has of a segment of this host.
std::string standing_of(const std::string& name, const directory::Presence& presence) {
  const auto it = presence.names().find(name);
  if (it == presence.names().end() || !it->second.wanted) return {};
  switch (it->second.state) {
    case directory::NameState::pending: return "pending";
    case directory::NameState::published: return "published";
    case directory::NameState::taken: break;
  }
  const auto& holder = it->second.holder;
  return "taken by " + (holder ? holder->address : std::string("an unreadable entry"));
}

std::string_view name_of(RemoteState state) {
  switch (state) {
    case RemoteState::away: return "away";
    case RemoteState::open: return "open";
    case RemoteState::failed: return "failed";
  }
  return "unknown";
}

}  // namespace

Inspector::Inspector(const Sources& sources) : from_(sources), started_(monotonic_now()) {}

DaemonView Inspector::daemon() const {
  DaemonView view;
  view.version = kProductVersion;
  view.epoch_counter = from_.epoch.counter;
  view.epoch_random = from_.epoch.random;
  view.state = from_.state;
  view.uptime = now() - started_;
  view.pid = static_cast<std::uint32_t>(::getpid());
  view.sessions = from_.sessions.count();
  view.registered_bytes = from_.regions.registered_bytes();
  view.regions = from_.regions.count();
  view.reaped_clients = from_.departures.reaped();
  view.refused_attaches = refused_attaches_;
  view.missed_wakeups = from_.inbox.missed_wakeups();
  view.downgraded_owners = from_.inbox.downgraded_owners();
  std::copy(violations_.begin(), violations_.end(), view.violations);
  view.metrics = from_.metrics;
  if (from_.hosts != nullptr) view.peers = from_.hosts->listens_at();
  if (from_.directory != nullptr) view.directory = view_of(from_.directory->names());
  view.latencies = &from_.latencies;
  view.turns = from_.conductor.turns();
  view.sleeps = from_.conductor.sleeps();
  view.shm_workers = from_.shm_workers;
  view.shm_paced_bytes_per_second = from_.shm_paced_bytes_per_second;
  view.warnings = from_.warnings;
  return view;
}

std::vector<ClientView> Inspector::clients() const {
  std::vector<ClientView> views;
  const Time at = now();
  from_.sessions.for_each([&](const Session& session) {
    ClientView& view = views.emplace_back();
    view.id = session.client;
    view.session = session.id;
    view.key = session.key;
    view.name = session.name;
    view.pid = session.credentials.pid;
    view.uid = session.credentials.uid;
    view.gid = session.credentials.gid;
    view.class_mask = session.class_mask;
    const FairnessKey& key = from_.sessions.key(session.key);
    view.weight = key.weight;
    view.quota = view_of(key, from_.core.limits());
    view.downgraded_classes = session.downgraded;
    view.downgraded_owners = session.downgraded_owners;
    view.slots = static_cast<std::uint32_t>(session.slots.size());
    view.slots_used = session.slots_used;
    view.totals = from_.core.session_totals(session.id);
    view.registered_bytes = session.registered_bytes;
    view.regions = static_cast<std::uint32_t>(session.regions.size());
    view.segments = static_cast<std::uint32_t>(session.segments.size());
    view.mailbox_lost = session.mailbox_lost;
    view.parked = session.doorbell.parked();
    view.stalled_producer = stalled(session, at, std::chrono::milliseconds{100});
    view.quarantined = session.quarantined;
    view.leaving = session.leaving;
    std::copy(session.violations.begin(), session.violations.end(), view.violations);
    view.last_error = session.last_error;
    view.attached = session.attached;
  });
  return views;
}

std::vector<SegmentView> Inspector::segments() const {
  std::vector<SegmentView> views;
  for (const SegmentPtr& segment : from_.segments.list()) {
    SegmentView& view = views.emplace_back();
    view.name = segment->name;
    view.uid = segment->uid;
    view.incarnation = segment->incarnation;
    view.handles = segment->handles;
    if (from_.directory != nullptr) {
      view.directory = standing_of(segment->name, from_.directory->names().presence());
    }
    from_.sessions.for_each([&](const Session& session) {
      if (session.id == segment->exporter) view.client = session.client;
    });
    for (const RegionIndex index : segment->regions) {
      view.regions.push_back(view_of(from_.regions.at(index)));
    }
  }
  return views;
}

std::vector<ElsewhereView> Inspector::elsewhere() const {
  std::vector<ElsewhereView> views;
  if (from_.hosts == nullptr) return views;
  from_.hosts->remote_segments().for_each([&](const RemoteSegment& segment) {
    ElsewhereView& view = views.emplace_back();
    view.name = segment.name;
    view.address = segment.address;
    view.state = name_of(segment.state);
    if (segment.state == RemoteState::failed) view.failure = to_string(segment.failure);
    view.regions = segment.regions;
    view.pins = segment.pins;
  });
  return views;
}

std::vector<DirectoryNameView> Inspector::directory_names(std::size_t most) const {
  std::vector<DirectoryNameView> views;
  if (from_.directory == nullptr) return views;
  for (const auto& [name, entry] : from_.directory->names().known().table()) {
    if (views.size() == most) break;
    views.push_back({name, entry.holder.address, entry.holder.host});
  }
  return views;
}

std::vector<LaneView> Inspector::lanes() const {
  std::vector<LaneView> views;
  for (std::size_t i = 0; i < kLaneCount; ++i) {
    const LaneId id{static_cast<std::uint16_t>(i)};
    views.push_back({id, std::string(kLaneNames[i]), "shm", from_.core.lane_totals(id)});
  }
  if (from_.hosts == nullptr) return views;
  for (const OtherHost& host : from_.hosts->table().hosts()) {
    if (!host.known) continue;
    const std::pair<LaneId, const char*> lanes[] = {
        {host.read, "tcp read "}, {host.write, "tcp write "}, {host.serve, "tcp serve "}};
    for (const auto& [id, name] : lanes) {
      views.push_back({id, name + host.address, "tcp", from_.core.lane_totals(id)});
    }
  }
  return views;
}

std::vector<PeerView> Inspector::peers() const {
  std::vector<PeerView> views;
  if (from_.hosts == nullptr) return views;
  for (const OtherHost& host : from_.hosts->table().hosts()) {
    if (!host.known) continue;
    PeerView view;
    for (const std::uint8_t byte : host.id) {
      constexpr char kDigits[] = "0123456789abcdef";
      view.host += {kDigits[byte >> 4], kDigits[byte & 15]};
    }
    view.address = host.address;
    view.auth = to_string(from_.hosts->links().auth());
    view.certificate = host.certificate;
    view.dialed = host.dialed.valid();
    view.accepted = host.accepted.valid();
    view.connections = static_cast<std::uint32_t>(host.connections.size());
    view.away = host.away;
    view.lost_links = host.lost_links;
    view.read = from_.core.lane_totals(host.read);
    view.write = from_.core.lane_totals(host.write);
    view.serve = from_.core.lane_totals(host.serve);
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace tentq
