// What will happen between hosts, in order of time; at one time in the order in which it was
// planned, so that a run repeats itself exactly.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "tests/sim/scenario.h"

namespace tentq::sim {

enum class Happening : std::uint8_t {
  arrives,   // data, at its receiver
  is_in,     // the receiver's memory has taken in what it was at
  is_done,   // the sender hears of it
  asked,     // a READ, at its server
  message,   // of one daemon to another
  way_over,  // nothing was heard for too long
  way_back,  // there is a link again
  given_up,  // what was on a way that is over
};

class Timeline {
 public:
  struct Event {
    std::int64_t at_ns = 0;
    std::uint64_t order = 0;
    std::uint32_t index = 0;  // of what it happens to
    Happening what = Happening::arrives;
    bool operator>(const Event& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };

  void plan(std::int64_t at_ns, Happening what, std::uint32_t index) {
    events_.push({at_ns, next_order_++, index, what});
  }
  std::int64_t next_ns() const { return events_.empty() ? kNeverNs : events_.top().at_ns; }
  Event take() {
    const Event event = events_.top();
    events_.pop();
    return event;
  }

 private:
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t next_order_ = 0;
};

}  // namespace tentq::sim
