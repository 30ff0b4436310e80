// What a replay is made to live through, in order, evenly spread over the trace. The coordinating
// process's.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "tests/bench/host_pair.h"
#include "tests/bench/replay/setup.h"
#include "tests/support/role.h"

namespace tentq::bench {

enum class Fault : std::uint8_t { kill_daemon, cut_link, kill_store_daemon, kill_store };

// `--kill-daemon`, `--kill-store-daemon`, `--kill-store`, `--cut-link`.
void add_fault_options(CLI::App* command, ReplayOptions* options);
// Throws std::runtime_error when these options have not what their faults need.
void check_faults(const CommonOptions& common, const ReplayOptions& options);

class Faults {
 public:
  Faults(Replay& replay, HostPair& hosts);

  std::size_t count() const { return faults_.size(); }
  std::size_t done() const { return done_; }
  // Carries the next one out; what it did, for people.
  std::string carry_out(std::list<test::Role>& stores);
  // A link that was cut for long enough carries again; or at once.
  void join_if_due(std::int64_t now_ns);
  void join();

 private:
  void kill_store(std::list<test::Role>& stores);

  Replay& replay_;
  HostPair& hosts_;
  std::vector<Fault> faults_;
  std::size_t done_ = 0;
  std::uint32_t killed_stores_ = 0;
  std::int64_t join_at_ns_ = 0;  // 0: the link is not cut
};

}  // namespace tentq::bench
