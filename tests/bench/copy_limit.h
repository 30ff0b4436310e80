// The limit of tentq-bench's bandwidth: what the best copy routine of this processor reaches over
// the same memory, on one thread, with nothing else around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tentq::bench {

struct CopyLimit {
  std::string best_routine;
  double gb_per_s = 0;  // bytes / 1e9 / s
};

// One round: copies `depth` blocks of `size` bytes from `source` to `destination` (both hold
// depth × size bytes, resident), block by block, again and again. Every routine gets an untimed
// and a timed pass; the two fastest then share `passes` further passes in turns. The figure is that
// of the better one over its passes. Every pass leaves the destination equal to the source.
CopyLimit measure_copy_limit(std::byte* destination, const std::byte* source, std::uint64_t size,
                             std::uint32_t depth, std::uint64_t passes);

// The same as a bare figure, bytes a second.
double copy_limit_bytes_per_second(std::byte* destination, const std::byte* source,
                                   std::uint64_t size, std::uint32_t depth, std::uint64_t passes);

}  // namespace tentq::bench
