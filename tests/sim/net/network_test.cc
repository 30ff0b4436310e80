// What a network does, in cases small enough to reckon: how long a transfer takes, what becomes of
// it when ways break and hosts restart, that a seed repeats a run, and that audits see what is
// wrong.
#include "tests/sim/net/network.h"

#include <gtest/gtest.h>

#include "tests/sim/figures.h"
#include "tests/sim/parse.h"
#include "tests/sim/report.h"

namespace tentq::sim {
namespace {

// 1 ms one way, and a millisecond for each 1 MB: at the uplink and at the memory.
std::string one_pair(const std::string& client, const std::string& more = "") {
  return "duration 100ms\nnetwork delay 1ms\npath window 8MiB chunk 1MiB\n"
         "hosts a uplink 1GB/s memory 1GB/s\nhosts b uplink 1GB/s memory 1GB/s\n"
         "client x on a to b class default size 1000000 " +
         client + "\n" + more;
}

Record run(const std::string& text) {
  return simulate(parse_scenario(text, "network"));
}

std::int64_t took_ns(const Record& record) {
  return record.samples.at(0).ended_ns - record.samples.at(0).intended_ns;
}

TEST(Network, AWriteTakesUplinkWayMemoryAndTheWordBack) {
  const Record record = run("credits off\n" + one_pair("once 1"));
  ASSERT_EQ(record.samples.size(), 1u);
  EXPECT_TRUE(record.samples[0].completed);
  EXPECT_EQ(took_ns(record), 4'000'000);
  EXPECT_EQ(record.violations.count(), 0u);
}

TEST(Network, AReadIsAskedForFirst) {
  const Record record = run("credits off\n" + one_pair("once 1 op read"));
  ASSERT_EQ(record.samples.size(), 1u);
  EXPECT_TRUE(record.samples[0].completed);
  EXPECT_EQ(took_ns(record), 4'000'000);
  EXPECT_EQ(record.moved.size(), 1u);  // what was served for it is not counted twice
}

TEST(Network, WithCreditsTheFirstChunkWaitsForARoundTrip) {
  EXPECT_EQ(took_ns(run("credits on\n" + one_pair("once 1"))), 6'000'000);
  // A host's own READs ask itself.
  EXPECT_EQ(took_ns(run("credits on\n" + one_pair("once 1 op read"))), 4'000'000);
}

TEST(Network, TheUplinkIsSharedByAllThatAHostSends) {
  const Record record = run("credits off\n" + one_pair("once 3"));
  ASSERT_EQ(record.samples.size(), 3u);
  EXPECT_EQ(record.samples[2].ended_ns, 6'000'000);
}

TEST(Network, AShortPartitionDelaysAndALongOneBreaksTheLink) {
  const std::string partition = "at 1ms partition a from b for ";
  // It is about to leave when the partition begins, and does so at its end.
  Record record = run("credits off\n" + one_pair("once 1", partition + "50ms\n"));
  EXPECT_EQ(record.samples.at(0).ended_ns, 54'000'000);
  EXPECT_TRUE(record.samples.at(0).completed);
  // The link is over after 3 s; the next one fences it, and the chunk goes again.
  record = run("credits off\n" + one_pair("once 1", partition + "4s\n"));
  EXPECT_TRUE(record.samples.at(0).completed);
  EXPECT_GT(record.samples.at(0).ended_ns, 4'000'000'000);
  EXPECT_EQ(record.chunks, 2u);
  EXPECT_EQ(record.violations.count(), 0u);
  // Nobody ever says that the old link is over.
  record = run("credits off\n" + one_pair("once 1", partition + "1h\n"));
  EXPECT_FALSE(record.samples.at(0).completed);
  EXPECT_NEAR(static_cast<double>(record.samples.at(0).ended_ns), 8e9, 1e8);
  EXPECT_EQ(record.violations.count(), 0u);
}

TEST(Network, WhatARestartedHostHadIsHandedInAgain) {
  for (const char* host : {"a", "b"}) {
    for (const char* op : {"read", "write", "both"}) {
      const Record record =
          run("credits on\n" + one_pair(std::string("once 4 op ") + op,
                                        std::string("at 3ms hosts ") + host + " restart 20ms\n"));
      ASSERT_EQ(record.samples.size(), 4u) << host << op;
      for (const Sample& each : record.samples) EXPECT_TRUE(each.completed) << host << op;
      EXPECT_EQ(record.violations.texts(), std::vector<std::string>{}) << host << op;
      EXPECT_GT(record.end_ns, 23'000'000);
    }
  }
}

TEST(Network, FastReceiversAreNotHeldUpByOneThatStops) {
  const Record record =
      run("duration 100ms\ncredits off\npath window 1MiB chunk 256KiB\nhosts a\nhosts b count 2\n"
          "hosts c\nclient x on a to b class default size 256KiB closed 1\n"
          "client y on a to c class default size 256KiB closed 8\nat 1ms hosts c jam 50ms\n");
  std::uint64_t in_jam = 0;
  for (const Sample& each : record.samples) {
    if (each.client == 0 && each.ended_ns > 10'000'000 && each.ended_ns < 50'000'000) in_jam += 1;
  }
  EXPECT_GT(in_jam, 50u);
}

TEST(Network, TheSameSeedGivesTheSameReportAndAnotherOneAnother) {
  Scenario s = parse_scenario(
      "duration 300ms\nnetwork lost 10% doubled 10% late 1ms\ncredits on chunk 64KiB\n"
      "path window 1MiB chunk 64KiB\nhosts a count 5 legacy 20%\nhosts b count 3\n"
      "client x on a to b op both class default size 256KiB open 20%\n"
      "at 100ms hosts b restart 10ms\nat 200ms partition a from b for 20ms\n",
      "seeds");
  const auto report = [&s] {
    std::vector<Outcome> outcomes;
    outcomes.push_back(run_side(s, side_of(s.policy), true));
    EXPECT_EQ(outcomes[0].violations(), 0u);
    return json_of(outcomes).dump() + table_of(outcomes);
  };
  const std::string first = report();
  EXPECT_EQ(report(), first);
  s.seed += 1;
  EXPECT_NE(report(), first);
}

TEST(Network, WhatIsBeyondTheSlotsIsCounted) {
  const Record record =
      run("duration 100ms\ncredits off\npath window 128KiB chunk 64KiB\nhosts sink slots 512KiB\n"
          "hosts a count 8\nclient x on a to sink class default size 1MiB closed 1\n");
  EXPECT_EQ(record.hosts[0].peak_in_flight, 1u << 20);
  EXPECT_GT(record.hosts[0].over_slots, 100u);
}

}  // namespace
}  // namespace tentq::sim
