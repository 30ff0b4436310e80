// The private daemon under measurement with its source, the changes of policy at run time, and the
// groups of processes that load it. All in the coordinating process, which has no threads.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <span>
#include <string>
#include <vector>

#include "tests/bench/options.h"
#include "tests/bench/orders.h"
#include "tests/bench/qos/roles.h"

namespace tentq::bench::qos {

class Stage {
 public:
  // Starts the daemon and the source; setup->socket is the daemon's from then on.
  Stage(const CommonOptions& common, Setup* setup);
  ~Stage();

  // A change of the daemon's configuration at run time.
  void set(const std::string& key, const std::string& value);
  // What it began with, and what was asked for with --set.
  void configure();
  nlohmann::json status() const { return host_.status(); }
  // The lane that all transfers of the benchmark take.
  nlohmann::json lane() const;
  nlohmann::json clients();
  std::uint64_t outstanding_bytes() const;
  std::uint64_t transferred_bytes() const;
  // Throws std::runtime_error when it takes longer than a minute.
  void await_outstanding(std::uint64_t least_bytes) const;
  void await_quiet() const;

 private:
  Host host_;
  std::vector<std::string> settings_;
  std::list<test::Role> source_;  // none or one
};

// Milliseconds in which nothing else is to happen; the daemon and the others go on.
void let_run(double milliseconds);

// Bulk clients that flood together.
class Bulk {
 public:
  Bulk(const Setup& setup, std::span<const BulkSpec> specs);

  void begin();
  // Ends the flood and waits until it is over.
  void end();
  // Bytes of completed owners so far, by client.
  std::vector<double> bytes() const;
  std::uint64_t errors() const;
  std::uint64_t outstanding_bytes() const;  // while it floods
  // Stops the processes.
  void stop();
  // SIGKILL to the first one; end() and stop() leave it out from then on.
  void kill_first();

 private:
  const Setup& setup_;
  std::vector<BulkSpec> specs_;
  std::list<test::Role> roles_;
};

// The specification of the flood that --flood means, as background.
std::vector<BulkSpec> flood_of(const Setup& setup);

// The foreground clients together.
class ForegroundGroup {
 public:
  explicit ForegroundGroup(const Setup& setup);

  // Carries setup.plan[0] out; `meanwhile` is called about every `every_ms` until all are done.
  std::vector<Report> run(const std::function<void()>& meanwhile, int every_ms);
  void stop();

 private:
  std::list<test::Role> roles_;
};

}  // namespace tentq::bench::qos
