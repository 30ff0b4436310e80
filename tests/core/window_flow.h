// A lane with its window on a link, and always something to send: what tests of windows drive.
// Virtual time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "daemon/core/window.h"
#include "tests/core/link_model.h"

namespace tentq::core {

struct Flow {
  LaneWindow window;
  bool active = true;  // has something to send
  std::uint64_t in_flight = 0;
  std::uint64_t moved = 0;

  Flow(const WindowShape& shape, std::int64_t now_ns) { window.start(shape, now_ns); }
};

// Some flows that share one link.
class Flows {
 public:
  explicit Flows(const LinkShape& shape) : link(shape) {}

  LinkModel link;
  std::deque<Flow> flows;
  std::int64_t now_ns = 1'000'000;
  std::function<void(std::int64_t latency_ns)> on_end;  // sees each chunk

  Flow& add(const WindowShape& shape) { return flows.emplace_back(shape, now_ns); }
  // Bytes moved in that time.
  std::uint64_t run(std::int64_t for_ns);
  // Share of what the link could have moved in that time.
  double utilisation(std::int64_t for_ns, double bytes_per_ns) {
    return static_cast<double>(run(for_ns)) / (static_cast<double>(for_ns) * bytes_per_ns);
  }

 private:
  struct Sent {
    std::size_t flow;
    std::uint64_t bytes;
    ChunkMark mark;
  };
  void send();

  std::map<std::uint64_t, Sent> sent_;
  std::uint64_t next_ = 0;
};

}  // namespace tentq::core
