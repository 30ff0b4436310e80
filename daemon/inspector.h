// Copies what the shell knows of itself for listings. Conductor thread only.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "daemon/attach.h"
#include "daemon/conductor.h"
#include "daemon/departures.h"
#include "daemon/directory/etcd_directory.h"
#include "daemon/inbox.h"
#include "daemon/metrics/latencies.h"
#include "daemon/sessions.h"
#include "daemon/views.h"

namespace tentq {

class Inspector final : public Inspection {
 public:
  struct Sources {
    const core::Core& core;
    const Sessions& sessions;
    const Segments& segments;
    const Regions& regions;
    const Inbox& inbox;
    const Departures& departures;
    const Conductor& conductor;
    const Epoch& epoch;
    const DaemonState& state;
    const std::vector<std::string>& warnings;
    const Latencies& latencies;
    const std::string& metrics;
    const std::unique_ptr<Hosts>& hosts;              // null: there are no links to other hosts
    const std::unique_ptr<EtcdDirectory>& directory;  // null: there is none
    std::uint32_t shm_workers;
    std::uint64_t shm_paced_bytes_per_second;
  };

  explicit Inspector(const Sources& sources);

  void count_refused_attach() { ++refused_attaches_; }
  void count_violation(Violation what) { ++violations_[static_cast<std::size_t>(what)]; }

  DaemonView daemon() const override;
  std::vector<ClientView> clients() const override;
  std::vector<SegmentView> segments() const override;
  std::vector<LaneView> lanes() const override;
  std::vector<PeerView> peers() const override;
  std::vector<ElsewhereView> elsewhere() const override;
  std::vector<DirectoryNameView> directory_names(std::size_t most) const override;
  const core::Core& core() const override { return from_.core; }
  Time now() const override { return monotonic_now(); }

 private:
  Sources from_;
  Time started_;
  std::uint64_t refused_attaches_ = 0;
  std::array<std::uint64_t, kViolationCount> violations_{};
};

}  // namespace tentq
