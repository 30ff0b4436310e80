// A flow: one client process that moves blocks between its memory and an exporter's on another
// host, for as long as it is told, either with a number of them outstanding or one after the other
// at given times. Every block that it moved is compared in the end.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/host_pair.h"
#include "tests/bench/orders.h"
#include "tests/bench/pair.h"

namespace tentq::bench {

struct FlowOptions {
  std::string name;
  bool from_first = true;  // the client is at the clients' host; else at the exporters'
  Opcode op = Opcode::read;
  Class cls = Class::standard;
  std::uint64_t size = 1u << 20;  // a multiple of 4096
  std::uint32_t depth = 8;        // outstanding
  std::int64_t every_ns = 0;      // not 0: one at a time, at these times; else as fast as it goes
  std::uint64_t seed = 1;
};

// What a flow found in one order.
struct FlowTotals {
  double bytes = 0;
  std::uint64_t errors = 0;
  std::int64_t took_ns = 0;
  std::int64_t longest_gap_ns = 0;   // between two of its completions, or to its begin or end
  std::vector<double> latencies_us;  // of one-at-a-time flows: from the time it was due
};

class Flow {
 public:
  Flow(const HostPair& hosts, const FlowOptions& options);

  // Runs for so long; several flows run at once, see run_flows().
  void begin(std::int64_t duration_ns);
  FlowTotals end();
  void stop();

 private:
  struct Shared {
    std::atomic<std::uint64_t> count{0};  // of latencies
    std::int64_t longest_gap_ns = 0;
  };
  static constexpr std::size_t kMostSamples = 1u << 16;

  test::Role start(const HostPair& hosts);

  FlowOptions options_;
  PairMemory memory_;
  test::SharedArray<Shared> shared_{1};
  test::SharedArray<double> latencies_{kMostSamples};
  test::Role exporter_;
  test::Role client_;
};

// Each for that long, all at once; in their order.
std::vector<FlowTotals> run_flows(const std::vector<Flow*>& flows, std::int64_t duration_ns);

}  // namespace tentq::bench
