// The submit limit passes every cell, in order, also when the last group is shorter.
#include "tests/bench/bare_ring.h"

#include <gtest/gtest.h>

namespace tentq::bench {
namespace {

TEST(BareRing, PassesEveryCellBetweenTwoProcesses) {
  BareRing ring;
  constexpr std::uint64_t kOwners = 3 * BareRing::kCells + 17;
  test::Role consumer("ring-consumer", std::chrono::seconds{60}, [&](test::RoleChannel&) {
    ring.consume(kOwners);
    ring.consume(5);
    return 0;
  });
  ring.produce(kOwners, 64);
  ring.produce(5, 64);
  EXPECT_EQ(consumer.join(std::chrono::seconds{60}), 0);
}

}  // namespace
}  // namespace tentq::bench
