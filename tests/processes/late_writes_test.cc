// A WRITE whose connection was cut is repeated over another one; what the network still holds of
// the first never arrives. The test lets it through after the end, and finds its own pattern.
#include <gtest/gtest.h>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/pattern.h"
#include "tests/processes/relay.h"
#include "tests/processes/two_hosts.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals

struct Case {
  const char* name;
  std::size_t cut_from;          // 0: the control connection, too
  std::uint64_t written_before;  // bytes that the other host has of each connection
};

class LateWrites : public TwoHosts, public ::testing::WithParamInterface<Case> {};

TEST_P(LateWrites, NeverArrive) {
  constexpr std::size_t kBytes = 4_MiB;
  start({{"tcp", {{"chunk_bytes", "256KiB"}}}});
  ExporterOptions options;
  options.bytes = kBytes;
  options.rights.other_hosts = Access::remote_read_write;
  Exporter exporter(stores().socket(), options);
  Relay relay(stores_address());
  Client client = attach(engines().socket(), "engine");
  Memory memory = allocate_at(client, kBytes);
  const Segment segment =
      need(client.open_segment("tentq://" + relay.address() + "/store"), "open_segment");
  // All of the link is there: it works.
  fill_pattern(memory.bytes(), 1);
  must_complete(client, write_to(segment, 0, memory.bytes()));
  ASSERT_TRUE(eventually(kLong, [&] { return relay.connections() == 3; }));

  fill_pattern(memory.bytes(), 2);
  relay.hold(1, GetParam().written_before);
  Batch batch = submit_again_and_again(client, write_to(segment, 0, memory.bytes()), 1);
  ASSERT_TRUE(eventually(kLong, [&] { return relay.held() >= 256_KiB; }));
  relay.cut(GetParam().cut_from);
  need(batch.wait(kLong), "wait");
  ASSERT_EQ(batch.overall().state, State::completed) << engines().log() << stores().log();
  EXPECT_EQ(exporter.differences(2, 0, kBytes), 0u);

  exporter.fill(3, 0, kBytes);
  ASSERT_GT(relay.held(), 0u);
  relay.release();
  // Whoever would still apply it has had the time once later transfers are through.
  for (int i = 0; i < 20; ++i) must_complete(client, read_from(segment, 0, memory.bytes()));
  EXPECT_EQ(exporter.differences(3, 0, kBytes), 0u);
  EXPECT_EQ(pattern_differences(memory.bytes(), 3), 0u);
  EXPECT_EQ(exporter.stop(), 0);
}

INSTANTIATE_TEST_SUITE_P(Cuts, LateWrites,
                         ::testing::Values(Case{"OfDataConnections", 1, 0},
                                           Case{"OfDataConnectionsInAPayload", 1, 300'000},
                                           Case{"OfTheWholeLink", 0, 0},
                                           Case{"OfTheWholeLinkInAPayload", 0, 300'000}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace tentq::test
