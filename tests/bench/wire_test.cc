// The latency limit copies what it is asked to, over more calls than its ring has lines.
#include "tests/bench/wire.h"

#include <gtest/gtest.h>

#include "tests/bench/pattern.h"
#include "tests/support/role.h"

namespace tentq::bench {
namespace {

TEST(Wire, CopiesInTheOtherProcess) {
  constexpr std::uint64_t kCalls = 3 * kWireLines + 1;
  constexpr std::size_t kBytes = 256;
  const test::SharedArray<Wire> wire(1);
  const test::SharedArray<std::byte> source(4 * kBytes), destination(kBytes);
  for (std::uint64_t i = 0; i < 4; ++i) {
    Pattern(1, i).fill(source.span().subspan(i * kBytes, kBytes));
  }
  test::Role peer("wire-peer", std::chrono::seconds{60}, [&](test::RoleChannel&) {
    WireServer(wire.data(), destination.data(), source.data()).serve(kCalls);
    return 0;
  });
  WireCaller caller(wire.data());
  for (std::uint64_t i = 0; i < kCalls; ++i) {
    caller.copy(0, i % 4 * kBytes, kBytes);
    ASSERT_TRUE(Pattern(1, i % 4).matches(destination.span())) << i;
  }
  EXPECT_EQ(peer.join(std::chrono::seconds{60}), 0);
}

}  // namespace
}  // namespace tentq::bench
