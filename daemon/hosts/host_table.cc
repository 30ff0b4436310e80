// Hosts and their lanes. See host_table.h.
#include "daemon/hosts/host_table.h"

#include <algorithm>

namespace tentq {

bool HostTable::is_idle(const OtherHost& host) const {
  if (host.dialed.valid() || host.accepted.valid()) return false;
  for (const LaneId lane : {host.read, host.write, host.serve}) {
    const core::LaneTotals totals = core_.lane_totals(lane);
    if (totals.queued_owners != 0 || totals.in_flight_chunks != 0) return false;
  }
  return true;
}

OtherHost* HostTable::find(const HostId& id) {
  const auto it = std::find_if(hosts_.begin(), hosts_.end(), [&id](const OtherHost& host) {
    return host.known && host.id == id;
  });
  return it == hosts_.end() ? nullptr : &*it;
}

OtherHost* HostTable::enter(const HostId& id, Time now) {
  if (OtherHost* known = find(id)) return known;
  auto free =
      std::find_if(hosts_.begin(), hosts_.end(), [](const OtherHost& host) { return !host.known; });
  if (free == hosts_.end()) {
    free = std::find_if(hosts_.begin(), hosts_.end(),
                        [this](const OtherHost& host) { return is_idle(host); });
  }
  if (free == hosts_.end()) return nullptr;
  const auto first = static_cast<std::uint16_t>(
      kLaneCount + static_cast<std::size_t>(free - hosts_.begin()) * kLanesOfHost);
  *free = OtherHost{};
  free->known = true;
  free->id = id;
  free->read = LaneId{first};
  free->write = LaneId{static_cast<std::uint16_t>(first + 1)};
  free->serve = LaneId{static_cast<std::uint16_t>(first + 2)};
  for (const LaneId lane : {free->read, free->write, free->serve}) {
    core_.handle(core::LaneOpened{lane, terms_.window_bytes, terms_.window_chunks,
                                  terms_.chunk_bytes, terms_.rules},
                 now);
  }
  core_.handle(core::LaneAway{free->read}, now);
  core_.handle(core::LaneAway{free->write}, now);
  return &*free;
}

OtherHost* HostTable::find_dialed(LinkKey link) {
  const auto it = std::find_if(hosts_.begin(), hosts_.end(), [link](const OtherHost& host) {
    return host.known && host.dialed == link;
  });
  return it == hosts_.end() ? nullptr : &*it;
}

OtherHost* HostTable::find_accepted(LinkKey link) {
  const auto it = std::find_if(hosts_.begin(), hosts_.end(), [link](const OtherHost& host) {
    return host.known && host.accepted == link;
  });
  return it == hosts_.end() ? nullptr : &*it;
}

void HostTable::renew(OtherHost& host, Time now) {
  if (!host.away) return;
  set_away(host, false, now);
  set_away(host, true, now);
}

void HostTable::set_away(OtherHost& host, bool away, Time now) {
  if (host.away == away) return;
  host.away = away;
  for (const LaneId lane : {host.read, host.write}) {
    if (away) {
      core_.handle(core::LaneAway{lane}, now);
    } else {
      core_.handle(core::LaneBack{lane}, now);
    }
  }
}

}  // namespace tentq
