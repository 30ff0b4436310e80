// See copy_limit.h.
#include "tests/bench/copy_limit.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "transports/shm/copy_routines.h"

namespace tentq::bench {
namespace {

struct Candidate {
  CopyRoutine routine;
  double seconds = 0;
  std::uint64_t bytes = 0;
  double bytes_per_second() const { return static_cast<double>(bytes) / seconds; }
};

struct Blocks {
  std::byte* destination;
  const std::byte* source;
  std::uint64_t size;
  std::uint32_t depth;

  void copy(CopyRoutine routine) const {
    for (std::uint64_t i = 0; i < depth; ++i) {
      copy_bytes(routine, destination + i * size, source + i * size, size);
    }
  }
  void time(Candidate* candidate) const {
    const auto begin = std::chrono::steady_clock::now();
    copy(candidate->routine);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    candidate->seconds += std::max(took.count(), 1e-9);
    candidate->bytes += size * depth;
  }
};

bool faster(const Candidate& a, const Candidate& b) {
  return a.bytes_per_second() > b.bytes_per_second();
}

}  // namespace

CopyLimit measure_copy_limit(std::byte* destination, const std::byte* source, std::uint64_t size,
                             std::uint32_t depth, std::uint64_t passes) {
  const Blocks blocks = {destination, source, size, depth};
  std::vector<Candidate> candidates;
  for (const CopyRoutine routine : kCopyRoutines) {
    if (!runs_here(routine)) continue;
    Candidate& candidate = candidates.emplace_back(Candidate{routine});
    blocks.copy(routine);
    blocks.time(&candidate);
  }
  std::sort(candidates.begin(), candidates.end(), faster);
  candidates.resize(std::min<std::size_t>(candidates.size(), 2));
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    blocks.time(&candidates[pass % candidates.size()]);
  }
  const Candidate& best = *std::min_element(candidates.begin(), candidates.end(), faster);
  return {std::string(name_of(best.routine)), best.bytes_per_second() / 1e9};
}

double copy_limit_bytes_per_second(std::byte* destination, const std::byte* source,
                                   std::uint64_t size, std::uint32_t depth, std::uint64_t passes) {
  return measure_copy_limit(destination, source, size, depth, passes).gb_per_s * 1e9;
}

}  // namespace tentq::bench
