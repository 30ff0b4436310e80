// A lane of the core on a virtual link: background that never ends and foreground that arrives by
// chance, measured from submit to end. Virtual time.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "tests/core/link_model.h"
#include "tests/core/world.h"

namespace tentq::core {

struct LoadShape {
  LinkShape link;
  LaneOpened lane;                     // its id is 0
  std::uint64_t foreground_bytes = 0;  // of one owner; 0: none
  double foreground_share = 0.2;       // of the link's rate
  std::uint64_t background_bytes = 16 * kMiB;
  std::uint64_t seed = 1;
};

struct LoadResult {
  double utilisation = 0;  // of the link's rate
  double p50_us = 0;       // foreground
  double p99_us = 0;
  std::size_t samples = 0;
  std::size_t refused = 0;  // more than the lane can take
};

class WindowWorld {
 public:
  explicit WindowWorld(const LoadShape& shape);

  World world;
  LinkModel link;

  // Goes on for that long; returns what happened in that time.
  LoadResult run(std::int64_t for_ns);

 private:
  static constexpr std::uint32_t kBackgroundSessions = 4;
  static constexpr std::uint32_t kForegroundSession = 4;

  void submit(std::uint32_t session, ClassId cls, std::uint64_t bytes);
  void handle(const Event& event, std::int64_t at_ns);
  std::int64_t gap_ns();
  std::int64_t now_ns() const { return to_ns(world.now); }

  LoadShape shape_;
  std::mt19937_64 random_;
  std::map<std::uint64_t, DispatchChunk> sent_;
  std::vector<std::int64_t> latencies_;
  std::vector<std::uint32_t> ended_background_;
  std::uint64_t next_ = 0;
  std::size_t refused_ = 0;
  std::int64_t next_foreground_ns_ = 0;
};

}  // namespace tentq::core
