// What a scenario file says, checked: one host and its lanes, or several hosts (net/spec.h),
// clients and their loads, changes at given times, what is measured and what is expected. Plain
// data; times count from the start of the run, in nanoseconds.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/limits.h"
#include "tests/bench/qos/arrivals.h"
#include "tests/sim/net/spec.h"

namespace tentq::sim {

inline constexpr std::int64_t kNeverNs = std::int64_t{1} << 62;

struct LaneSpec {
  std::string name;
  std::uint64_t rate = 0;  // bytes per second
  std::int64_t delay_ns = 0;
  std::int64_t jitter_ns = 0;
  std::uint64_t window_bytes = 4u << 20;  // the ceiling of an adaptive window
  std::uint32_t window_chunks = 256;
  std::uint64_t chunk_bytes = 256u << 10;  // 0: by the lane's rate
  core::WindowRules rules{};
};

enum class LoadKind : std::uint8_t {
  open,    // submits at times that are fixed before, whatever is outstanding
  closed,  // blocks: each session keeps `depth` owners outstanding
  flood,   // the group keeps `bytes` outstanding
  once,    // each session submits `depth` owners, all at once
  trace,   // requests as they were recorded: what was seen before is read, what is new is written
};

// What clients of several hosts do: data goes to the other host, comes from there, or both in turn.
enum class Ops : std::uint8_t { write, read, both };

inline constexpr std::uint32_t kNoHosts = UINT32_MAX;

// A group of equal clients; each is a fairness key of its own.
struct ClientSpec {
  std::string name;
  std::uint32_t count = 1;
  ClassId cls = ClassId::standard;
  std::uint32_t weight = 1;
  std::uint32_t sessions = 1;  // of each client
  std::uint64_t in_flight_bytes = 0;
  std::vector<std::uint32_t> lanes;  // taken in turn
  std::vector<std::uint64_t> sizes;  // of owners, taken in turn
  LoadKind kind = LoadKind::closed;
  double share = 0;  // open: of the rate of its first lane, all clients of the group together
  bench::qos::Spacing spacing = bench::qos::Spacing::poisson;
  std::uint32_t depth = 0;
  std::uint64_t bytes = 0;
  std::int64_t think_ns = 0;  // closed: mean time from an end to the submit that follows it
  std::int64_t from_ns = 0;
  std::int64_t until_ns = kNeverNs;  // submits nothing from then on
  bool silent = false;               // left out of a reference run
  // Of several hosts: groups of them. Counts are of each host, then.
  std::uint32_t on = kNoHosts;
  std::uint32_t to = kNoHosts;
  Ops ops = Ops::write;
  double speed = 1;  // trace: how many times faster than it was recorded

  std::uint32_t session_count() const { return count * sessions; }
};

enum class ChangeKind : std::uint8_t {
  lane_rate,
  lane_delay,
  lane_jam,
  policy,
  class_weight,
  host_memory,
  host_uplink,
  host_jam,      // takes nothing in
  host_restart,  // its daemon is another one after that time
  partition,     // nothing gets through between two groups of hosts
};

struct Change {
  std::int64_t at_ns = 0;
  ChangeKind kind = ChangeKind::lane_rate;
  std::uint32_t lane = 0;
  std::uint64_t rate = 0;        // bytes per second
  std::int64_t duration_ns = 0;  // the new delay, or how long it is jammed
  core::Policy policy = core::Policy::wdrr;
  ClassId cls = ClassId::standard;
  std::uint32_t weight = 1;
  std::uint32_t hosts = kNoHosts;  // groups
  std::uint32_t others = kNoHosts;
};

struct Phase {
  std::string name;
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
};

// What a second run for comparison leaves out.
struct Reference {
  std::vector<std::uint32_t> only;  // groups; empty: all of them
  bool without_changes = false;
  bool without_credits = false;
};

enum class SubjectKind : std::uint8_t { client, cls, lane, host, hosts };

enum class Figure : std::uint8_t {
  // Of clients: a group or a class.
  p50,
  p99,
  p999,
  samples,
  failed,
  refused,
  moved,
  share,
  of_capacity,
  jain,
  largest_chunk,
  within_p8,
  p99_vs_reference,
  moved_vs_reference,
  // Of a lane; also `moved` and `moved_vs_reference`.
  utilisation,
  peak_in_flight,
  // Of the host.
  goodput,
  fairness,
  peak_outstanding,
  // Of hosts of a network, as receivers; also goodput, moved, moved_vs_reference, peak_in_flight.
  over_slots,
  peak_granted,
  over_bound,
  longest_wait,
};

enum class Relation : std::uint8_t { at_most, at_least, equal };

struct Expectation {
  std::size_t line = 0;
  std::string text;  // as it stands in the file
  SubjectKind subject = SubjectKind::host;
  std::uint32_t index = 0;  // of the group, class or lane
  Figure figure = Figure::goodput;
  Relation relation = Relation::at_most;
  double value = 0;                    // microseconds, bytes, or a ratio
  std::optional<std::uint32_t> phase;  // none: the whole time that is measured
};

struct Scenario {
  std::string path;
  std::int64_t duration_ns = 0;
  std::int64_t warmup_ns = 0;
  std::uint64_t seed = 1;
  core::Policy policy = core::Policy::wdrr;
  core::Limits limits;
  std::uint32_t check_every = 1;  // events between two checks of all invariants
  std::vector<LaneSpec> lanes;    // of one host
  NetSpec net;                    // of several
  LaneSpec far_lane;              // window of each lane between two hosts
  std::string trace;              // a file of requests; empty: none was named
  std::vector<ClientSpec> clients;
  std::vector<Change> changes;  // in order of time
  std::vector<Phase> phases;
  std::optional<Reference> reference;
  std::vector<Expectation> expectations;

  bool is_network() const { return !net.hosts.empty(); }
};

}  // namespace tentq::sim
