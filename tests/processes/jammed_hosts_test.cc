// One host of several goes wrong: nothing comes from it, it reads nothing, or it talks nonsense.
// Work with the others goes on as before, and work with it ends well once it can be reached anew.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/pattern.h"
#include "tests/processes/relay.h"
#include "tests/processes/two_hosts.h"

namespace tentq::test {
namespace {

using namespace std::chrono_literals;
using namespace tentq::size_literals;  // NOLINT: literals

constexpr std::size_t kBytes = 8_MiB;
constexpr std::size_t kBlock = 64_KiB;

struct Case {
  const char* name;
  void (Relay::*goes_wrong)();
};

class JammedHosts : public TwoHosts, public ::testing::WithParamInterface<Case> {
 protected:
  static ExporterOptions store(const std::string& name) {
    ExporterOptions options;
    options.name = name;
    options.bytes = kBytes;
    options.rights.other_hosts = Access::remote_read_write;
    return options;
  }
  // READs of a block, one after the other; the time of each, sorted.
  static std::vector<std::chrono::nanoseconds> times(Client& client, SegmentId segment,
                                                     std::span<std::byte> block, int count) {
    std::vector<std::chrono::nanoseconds> all;
    for (int i = 0; i < count; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      must_complete(client, read_from(segment, 0, block));
      all.push_back(std::chrono::steady_clock::now() - begin);
    }
    std::sort(all.begin(), all.end());
    return all;
  }
};

TEST_P(JammedHosts, DisturbNobodyElse) {
  const nlohmann::json settings = {{"peers", {{"timeout", "1s"}}},
                                   {"limits", {{"route_budget", "20s"}}}};
  start(settings);
  DaemonOptions options;
  options.config = settings;
  options.config.merge_patch(
      {{"peers", {{"listen", "127.0.0.1:0"}, {"key_file", key_file("key", 'k')}}}});
  DaemonProcess other(options);
  Exporter good(stores().socket(), store("good"));
  Exporter bad(other.socket(), store("bad"));
  good.fill(1, 0, kBytes);
  bad.fill(2, 0, kBytes);
  Relay relay(query(other.socket(), QueryKind::status).at("peers"));

  Client client = attach(engines().socket(), "steady");
  Client victim = attach(engines().socket(), "victim");
  Memory memory = allocate_at(client, kBlock);
  Memory its = allocate_at(victim, 2 * kBytes);
  const Segment segment = need(client.open_segment(this->segment("good")), "open_segment");
  const Segment jammed =
      need(victim.open_segment("tentq://" + relay.address() + "/bad"), "open_segment");
  const std::span<std::byte> to_write = its.bytes().first(kBytes);
  const std::span<std::byte> to_read = its.bytes().subspan(kBytes);
  fill_pattern(to_write, 3);
  must_complete(victim, write_to(jammed, 0, to_write));
  ASSERT_TRUE(eventually(kLong, [&] { return relay.connections() == 3; }));
  bad.fill(2, 0, kBytes);
  const auto before = times(client, segment, memory.bytes(), 200);

  (relay.*GetParam().goes_wrong)();
  // More than all windows and all credit of it.
  Batch reads = need(victim.allocate_batch(64), "allocate_batch");
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t each = kBytes / 64;
    const Request request = read_from(jammed, i * each, to_read.subspan(i * each, each));
    need(victim.submit_wait(reads, {&request, 1}, {.cls = Class::foreground}, kLong), "submit");
  }
  const auto beside = times(client, segment, memory.bytes(), 200);
  EXPECT_EQ(pattern_differences(memory.bytes(), 1), 0u);
  // Nobody waits for a time limit of another host, nor for its chunks. A busy machine may hold up
  // one or the other; hardly half of them.
  EXPECT_LT(beside.back(), 900ms);
  EXPECT_LT(beside[100], 5 * before[100] + 2ms);

  need(reads.wait(kLong), "wait");
  EXPECT_EQ(reads.overall().state, State::completed)
      << to_string(reads.overall().reason) << engines().log();
  EXPECT_EQ(pattern_differences(to_read, 2), 0u);
  must_complete(victim, write_to(jammed, 0, to_write));
  EXPECT_EQ(bad.differences(3, 0, kBytes), 0u);
  EXPECT_EQ(good.stop(), 0);
  EXPECT_EQ(bad.stop(), 0);
}

INSTANTIATE_TEST_SUITE_P(Ways, JammedHosts,
                         ::testing::Values(Case{"ThatAreSilent", &Relay::swallow},
                                           Case{"ThatDoNotRead", &Relay::stop_reading},
                                           Case{"ThatTalkNonsense", &Relay::send_garbage}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace tentq::test
