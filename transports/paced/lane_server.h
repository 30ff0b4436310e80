// One lane as a link of a given rate that serves one chunk at a time: a token bucket whose burst is
// the chunk in service. Arithmetic alone; times in nanoseconds, sizes in bytes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "proto/units.h"

namespace tentq {

// How long a link of `bytes_per_second` takes for `bytes`, rounded up.
constexpr Duration service_time(std::uint64_t bytes, std::uint64_t bytes_per_second) {
  __extension__ using Wide = unsigned __int128;
  const Wide ns = (Wide{bytes} * 1'000'000'000 + bytes_per_second - 1) / bytes_per_second;
  const Wide most = static_cast<Wide>(Duration::max().count());
  return Duration{static_cast<Duration::rep>(std::min(ns, most))};
}

class LaneServer {
 public:
  // When service of a chunk posted at `posted` begins: at once, or after the chunk before it.
  Time start_of(Time posted) const { return std::max(posted, free_at_); }
  // Takes the next chunk in order of posting into service; returns when its service ends.
  Time serve(Time posted, std::uint64_t bytes, std::uint64_t bytes_per_second) {
    const Time start = start_of(posted);
    const Duration took = service_time(bytes, bytes_per_second);
    free_at_ = took > kNever - start ? kNever : start + took;
    return free_at_;
  }

 private:
  Time free_at_{};  // end of the last service
};

}  // namespace tentq
