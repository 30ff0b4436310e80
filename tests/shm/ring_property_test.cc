// The ring against a naive queue: any sequence of publish, take and publish_head, in any order.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <deque>

#include "tests/shm/ring_memory.h"

namespace tentq::shm {
namespace {

enum class Action { publish_work, publish_control, take, show_head };

// A queue of groups; cells count as used until the head that covers them was shown.
class NaiveRing {
 public:
  NaiveRing(std::uint32_t cells, std::uint32_t reserved) : cells_(cells), reserved_(reserved) {}
  std::uint32_t room(RingUse use) const {
    const std::uint32_t limit = cells_ - (use == RingUse::work ? reserved_ : 0);
    const auto used = static_cast<std::uint32_t>(published_ - shown_);
    return used >= limit ? 0 : limit - used;
  }
  bool publish(const std::vector<CellBody>& bodies, RingUse use) {
    if (bodies.size() > room(use)) return false;
    std::vector<std::uint64_t> cookies;
    for (const CellBody& body : bodies) cookies.push_back(body.cookie);
    groups_.push_back(cookies);
    published_ += bodies.size();
    return true;
  }
  std::vector<std::uint64_t> take() {
    if (groups_.empty()) return {};
    std::vector<std::uint64_t> cookies = groups_.front();
    groups_.pop_front();
    taken_ += cookies.size();
    return cookies;
  }
  void show_head() { shown_ = taken_; }
  std::uint64_t published() const { return published_; }

 private:
  std::uint32_t cells_, reserved_;
  std::deque<std::vector<std::uint64_t>> groups_;
  std::uint64_t published_ = 0, taken_ = 0, shown_ = 0;
};

RC_GTEST_PROP(RingProperty, BehavesAsAQueueOfGroups, ()) {
  const std::uint32_t cells = 1u << *rc::gen::inRange(0, 7);
  const std::uint32_t reserved = *rc::gen::inRange<std::uint32_t>(0, cells);
  RingMemory ring(cells, reserved);
  NaiveRing naive(cells, reserved);
  const auto actions = *rc::gen::container<std::vector<Action>>(
      rc::gen::element(Action::publish_work, Action::publish_control, Action::take, Action::take,
                       Action::show_head));
  std::uint64_t cookie = 0;
  for (const Action action : actions) {
    switch (action) {
      case Action::publish_work:
      case Action::publish_control: {
        const RingUse use = action == Action::publish_work ? RingUse::work : RingUse::control;
        const auto count = *rc::gen::inRange<std::size_t>(1, cells + 1);
        const std::vector<CellBody> bodies = bodies_from(cookie, count);
        const std::uint64_t expected_position = naive.published();
        std::uint64_t position = expected_position;
        RC_ASSERT(ring.producer.publish(bodies, use, &position) == naive.publish(bodies, use));
        RC_ASSERT(position == expected_position);
        cookie += count;
        break;
      }
      case Action::take: RC_ASSERT(ring.take() == naive.take()); break;
      case Action::show_head:
        ring.consumer.publish_head();
        naive.show_head();
        break;
    }
    RC_ASSERT(ring.fault == RingFault::none);
    RC_ASSERT(ring.producer.room(RingUse::work) == naive.room(RingUse::work));
    RC_ASSERT(ring.producer.room(RingUse::control) == naive.room(RingUse::control));
    RC_ASSERT(!ring.consumer.stalled());
  }
}

// Whatever a client writes into cells and tail: the head never runs past the ring, no group is
// longer than the ring, and what is taken is consistent in itself.
RC_GTEST_PROP(RingProperty, GarbageNeverMovesTheConsumerOutOfBounds, ()) {
  constexpr std::uint32_t kCells = 8;
  RingMemory ring(kCells);
  const auto small =
      rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 20), rc::gen::arbitrary<std::uint64_t>());
  for (int step = 0; step < 30 && ring.fault == RingFault::none; ++step) {
    Cell& cell = ring.cells[*rc::gen::inRange<std::size_t>(0, kCells)];
    cell.seq = *small;
    cell.body.group_size = *rc::gen::inRange<std::uint16_t>(0, 12);
    cell.body.group_index = *rc::gen::inRange<std::uint16_t>(0, 9);
    ring.tail = *small;
    const std::uint64_t before = ring.consumer.head();
    const std::size_t taken = ring.take().size();
    RC_ASSERT(taken <= kCells);
    RC_ASSERT(ring.consumer.head() == before + taken);
    for (std::size_t i = 0; i < taken; ++i) {
      RC_ASSERT(ring.taken[i].group_size == taken);
      RC_ASSERT(ring.taken[i].group_index == i);
    }
    if (ring.fault != RingFault::none) RC_ASSERT(taken == 0u);
  }
}

}  // namespace
}  // namespace tentq::shm
