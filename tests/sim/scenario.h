// What a scenario file says, checked: one host, its lanes, its clients and their loads, changes at
// given times, what is measured and what is expected. Plain data; times count from the start of the
// run, in nanoseconds.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/limits.h"
#include "tests/bench/qos/arrivals.h"

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
};

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

  std::uint32_t session_count() const { return count * sessions; }
};

enum class ChangeKind : std::uint8_t { lane_rate, lane_delay, lane_jam, policy, class_weight };

struct Change {
  std::int64_t at_ns = 0;
  ChangeKind kind = ChangeKind::lane_rate;
  std::uint32_t lane = 0;
  std::uint64_t rate = 0;        // bytes per second
  std::int64_t duration_ns = 0;  // the new delay, or how long it is jammed
  core::Policy policy = core::Policy::wdrr;
  ClassId cls = ClassId::standard;
  std::uint32_t weight = 1;
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
};

enum class SubjectKind : std::uint8_t { client, cls, lane, host };

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
  std::vector<LaneSpec> lanes;
  std::vector<ClientSpec> clients;
  std::vector<Change> changes;  // in order of time
  std::vector<Phase> phases;
  std::optional<Reference> reference;
  std::vector<Expectation> expectations;
};

}  // namespace tentq::sim
