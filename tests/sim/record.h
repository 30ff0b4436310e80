// What happened in a run, for figures to be made from: every owner's end, every chunk that came
// back, peaks, and what must not happen. Plain data; nanoseconds and bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/scenario.h"

namespace tentq::sim {

struct Sample {
  std::uint32_t client = 0;  // its number; see Record::clients
  std::int64_t intended_ns = 0;
  std::int64_t ended_ns = 0;
  std::int64_t took_admitted_ns = 0;  // from its admission
  std::int64_t bound_ns = -1;         // what P8 allows it from its admission; -1: not judged
  std::uint64_t bytes = 0;
  bool completed = false;
};

struct Moved {
  std::int64_t at_ns = 0;
  std::uint32_t client = 0;
  std::uint32_t lane = 0;
  std::uint64_t bytes = 0;
};

// Not a client of any group: work for other hosts.
inline constexpr std::uint32_t kNoGroup = UINT32_MAX;

// A client of a group.
struct ClientRecord {
  std::uint32_t group = 0;
  std::uint32_t weight = 1;
  std::uint64_t refused = 0;
  std::uint64_t largest_chunk = 0;
};

// What a lane can move from `from_ns` until the next one.
struct RateStep {
  std::int64_t from_ns = 0;
  std::uint64_t rate = 0;
};
struct LaneRecord {
  std::uint64_t peak_in_flight = 0;
  std::vector<RateStep> rates;
  std::uint32_t to_host = 0;         // of a network: where its data goes
  std::int64_t longest_wait_ns = 0;  // with something queued and nothing handed over, not away
};

// A host of a network, as a receiver.
struct HostRecord {
  std::uint32_t group = 0;
  std::vector<RateStep> rates;       // of its memory
  std::uint64_t peak_in_flight = 0;  // towards it, of all senders
  std::uint64_t over_slots = 0;      // chunks that went towards it when its slots were taken
  std::uint64_t peak_granted = 0;    // credit that is out
  std::uint64_t over_bound = 0;      // chunks that went when more was in flight than its bound
};

class Violations {
 public:
  static constexpr std::size_t kMostTexts = 10;
  void add(std::int64_t at_ns, const std::string& what) {
    count_ += 1;
    if (texts_.size() < kMostTexts) {
      texts_.push_back("at " + std::to_string(at_ns) + " ns: " + what);
    }
  }
  std::uint64_t count() const { return count_; }
  const std::vector<std::string>& texts() const { return texts_; }  // the first ones

 private:
  std::uint64_t count_ = 0;
  std::vector<std::string> texts_;
};

struct Record {
  std::vector<ClientRecord> clients;
  std::vector<LaneRecord> lanes;
  std::vector<HostRecord> hosts;  // of a network
  std::vector<Sample> samples;
  std::vector<Moved> moved;
  Violations violations;
  std::uint64_t peak_outstanding_bytes = 0;
  std::uint64_t peak_outstanding_owners = 0;
  std::uint64_t control_bytes = 0;  // of messages between hosts
  std::uint64_t control_messages = 0;
  std::uint64_t chunks = 0;  // that went from host to host
  std::uint64_t events = 0;
  std::uint64_t checks = 0;  // of all invariants
  std::int64_t end_ns = 0;   // when nothing was left
};

}  // namespace tentq::sim
