// The hosts that this one has or had a link with, and the three lanes of each: what is READ from
// it, what is WRITTEN to it, and what it READs from here. The first two go by the link that this
// host has dialed, the third by the one that it has accepted. Conductor thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/core/core.h"
#include "daemon/lanes.h"
#include "proto/peer.h"

namespace tentq {

struct LaneTerms {
  std::uint64_t window_bytes = 0;
  std::uint32_t window_chunks = 0;
  std::uint64_t chunk_bytes = 0;
  core::WindowRules rules{};
};

struct OtherHost {
  bool known = false;
  HostId id{};
  std::string address;                  // of the link's other end, host:port
  std::string certificate;              // the name in the link's; empty without TLS
  LinkKey dialed;                       // invalid: none
  LinkKey accepted;                     // invalid: none
  std::set<std::uint64_t> connections;  // of the dialed link, with nothing known against them
  LaneId read, write, serve;
  bool away = true;  // read and write
  std::uint64_t lost_links = 0;
};

class HostTable {
 public:
  static constexpr std::uint32_t kLanesOfHost = 3;

  HostTable(core::Core& core, std::uint32_t most, const LaneTerms& terms)
      : core_(core), terms_(terms), hosts_(most) {}

  // The host's entry, made when it is not known; null: all are taken by others.
  OtherHost* enter(const HostId& id, Time now);
  OtherHost* find(const HostId& id);
  OtherHost* find_dialed(LinkKey link);
  OtherHost* find_accepted(LinkKey link);
  // There is a way again, though not for data yet: what waits for it does so as if it had just
  // broken.
  void renew(OtherHost& host, Time now);
  // Tells the core whether READs and WRITEs can go.
  void set_away(OtherHost& host, bool away, Time now);

  const std::vector<OtherHost>& hosts() const { return hosts_; }

 private:
  bool is_idle(const OtherHost& host) const;

  core::Core& core_;
  LaneTerms terms_;
  std::vector<OtherHost> hosts_;
};

}  // namespace tentq
