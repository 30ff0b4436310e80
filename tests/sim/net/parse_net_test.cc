// Scenario files of several hosts: what is read from them, and that whatever is wrong is named with
// its line and with what to write instead.
#include <gtest/gtest.h>

#include "tests/sim/parse.h"
#include "tests/sim/simulation.h"

namespace tentq::sim {
namespace {

constexpr char kWhole[] = R"(duration 10s
network delay 50us lost 1% doubled 2% late 3ms
credits on chunk 64KiB boot 1MiB legacy 2MiB ttl 100ms demand 10ms gap 2ms probe 5s queue 1ms
path window 8MiB chunks 32 chunk 64KiB adaptive 500us floor 1MiB
hosts stores count 3 uplink 2GB/s memory 1GB/s slots 512KiB legacy 30%
hosts engines count 2
client w on engines to stores class default size 1MiB closed 2 count 2 sessions 3
client r on engines to stores op read class foreground size 256KiB open 5%
client t on engines to engines op both class prefetch size 128KiB trace 60
at 1s hosts stores memory 100MB/s
at 2s hosts stores uplink 200MB/s
at 3s hosts stores jam 1s
at 4s hosts engines restart 100ms
at 5s partition stores from engines for 2s
reference without credits
expect hosts stores goodput >= 95%
expect hosts stores over-bound = 0
)";

TEST(ParseNetwork, ReadsEveryStatement) {
  const Scenario s = parse_scenario(kWhole, "whole");
  ASSERT_TRUE(s.is_network());
  EXPECT_EQ(s.net.delay_ns, 50'000);
  EXPECT_DOUBLE_EQ(s.net.lost, 0.01);
  EXPECT_DOUBLE_EQ(s.net.doubled, 0.02);
  EXPECT_EQ(s.net.late_ns, 3'000'000);
  EXPECT_TRUE(s.net.credits);
  EXPECT_EQ(s.net.rules.chunk_bytes, 64u << 10);
  EXPECT_EQ(s.net.rules.boot_bytes, 1u << 20);
  EXPECT_EQ(s.net.rules.legacy_bytes, 2u << 20);
  EXPECT_EQ(s.net.rules.ttl_ns, 100'000'000);
  EXPECT_EQ(s.net.rules.demand_ns, 10'000'000);
  EXPECT_EQ(s.net.rules.demand_gap_ns, 2'000'000);
  EXPECT_EQ(s.net.rules.probe_ns, 5'000'000'000);
  EXPECT_EQ(s.net.rules.target_queue_ns, 1'000'000);
  EXPECT_EQ(s.far_lane.window_bytes, 8u << 20);
  EXPECT_EQ(s.far_lane.window_chunks, 32u);
  EXPECT_EQ(s.far_lane.chunk_bytes, 64u << 10);
  EXPECT_TRUE(s.far_lane.rules.adaptive);

  ASSERT_EQ(s.net.hosts.size(), 2u);
  EXPECT_EQ(s.net.hosts[0].count, 3u);
  EXPECT_EQ(s.net.hosts[0].uplink, 2'000'000'000u);
  EXPECT_EQ(s.net.hosts[0].memory, 1'000'000'000u);
  EXPECT_EQ(s.net.hosts[0].slots_bytes, 512u << 10);
  EXPECT_DOUBLE_EQ(s.net.hosts[0].legacy, 0.3);
  EXPECT_EQ(s.net.hosts[1].first, 3u);
  EXPECT_EQ(s.net.host_count(), 5u);

  ASSERT_EQ(s.clients.size(), 3u);
  EXPECT_EQ(s.clients[0].on, 1u);
  EXPECT_EQ(s.clients[0].to, 0u);
  EXPECT_EQ(s.clients[0].ops, Ops::write);
  EXPECT_EQ(s.clients[0].session_count(), 6u);
  EXPECT_EQ(s.clients[1].ops, Ops::read);
  EXPECT_EQ(s.clients[2].ops, Ops::both);
  EXPECT_EQ(s.clients[2].kind, LoadKind::trace);
  EXPECT_DOUBLE_EQ(s.clients[2].speed, 60);

  ASSERT_EQ(s.changes.size(), 5u);
  EXPECT_EQ(s.changes[0].kind, ChangeKind::host_memory);
  EXPECT_EQ(s.changes[0].rate, 100'000'000u);
  EXPECT_EQ(s.changes[1].kind, ChangeKind::host_uplink);
  EXPECT_EQ(s.changes[2].kind, ChangeKind::host_jam);
  EXPECT_EQ(s.changes[3].kind, ChangeKind::host_restart);
  EXPECT_EQ(s.changes[3].hosts, 1u);
  EXPECT_EQ(s.changes[4].kind, ChangeKind::partition);
  EXPECT_EQ(s.changes[4].others, 1u);
  EXPECT_EQ(s.changes[4].duration_ns, 2'000'000'000);
  EXPECT_TRUE(s.reference->without_credits);
  EXPECT_EQ(s.expectations[0].subject, SubjectKind::hosts);
}

struct Bad {
  const char* line;
  const char* wrong;
  const char* remedy;
};
void PrintTo(const Bad& bad, std::ostream* out) {
  *out << bad.line;
}

class BadNetwork : public ::testing::TestWithParam<Bad> {};

constexpr char kGood[] =
    "duration 10s\nhosts a\nhosts b count 2\nclient w on a to b class default size 1MiB closed 1\n";

TEST_P(BadNetwork, IsNamedWithItsRemedy) {
  try {
    parse_scenario(std::string(kGood) + GetParam().line + "\n", "bad.txt");
    FAIL() << "it was taken: " << GetParam().line;
  } catch (const ScenarioError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.rfind("bad.txt:5: ", 0), 0u) << text;
    EXPECT_NE(text.find(GetParam().wrong), std::string::npos) << text;
    EXPECT_NE(text.find(GetParam().remedy), std::string::npos) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Lines, BadNetwork,
    ::testing::Values(
        Bad{"hosts a", "`a` stands above", "another name"},
        Bad{"hosts c count 0", "`0` is no number", "from 1"},
        Bad{"hosts c count 5000", "is no number", "to 4093"},
        Bad{"hosts c legacy 200%", "more hosts than there are", "at most 100%"},
        Bad{"hosts c speed 1", "no setting `speed`", "count, uplink, memory, slots or legacy"},
        Bad{"network lost 2", "more messages than there are", "at most 100%"},
        Bad{"network delay 0us", "delay is 0", "longer"},
        Bad{"credits maybe", "no answer `maybe`", "off or on"},
        Bad{"credits on boot 64KiB", "contradict each other: boot_bytes", "write others"},
        Bad{"credits on ttl 1ms", "contradict each other: ttl_ns", "write others"},
        Bad{"path window 1KiB", "is no window", "4KiB"},
        Bad{"lane shm rate 1GB/s", "lanes of one host stand beside", "delete `lane`"},
        Bad{"client x class default size 1MiB closed 1", "says where it is", "on HOSTS to HOSTS"},
        Bad{"client x on a to a class default size 1MiB closed 1", "no other one",
            "other hosts behind `to`"},
        Bad{"client x on a to c class default size 1MiB closed 1", "no hosts `c`", "a or b"},
        Bad{"client x on a to b op copy class default size 1MiB closed 1", "no operation `copy`",
            "write, read or both"},
        Bad{"client x on a to b class default size 1MiB trace 60", "reads blocks of one size",
            "op both"},
        Bad{"client x on a to b op both class default size 1MiB trace 0", "a trace that fast",
            "trace 60"},
        Bad{"at 1s hosts c jam 1s", "no hosts `c`", "a or b"},
        Bad{"at 1s hosts a sleep 1s", "no change of hosts `sleep`",
            "memory, uplink, jam or restart"},
        Bad{"at 1s partition a b", "`b` is out of place", "`from`"},
        Bad{"at 1s policy fifo", "do not change", "of one host"},
        Bad{"expect hosts c goodput >= 1", "no hosts `c`", "a or b"},
        Bad{"expect hosts a p99 <= 1ms", "no figure `p99`", "over-slots"},
        Bad{"expect host goodput >= 1", "of one host and its lanes", "hosts NAME"},
        Bad{"expect client w of-capacity >= 1", "of one host and its lanes", "hosts NAME"}));

TEST(ParseNetwork, MoreLanesThanAHostHasAreCounted) {
  const std::string many = "hosts many count 600\nclient x on a to many ";
  const std::string in = "hosts many count 600\nclient x on many to a ";
  const std::string load = "class default size 1MiB closed 1\n";
  for (const std::string& text : {many + load, in + "op read " + load}) {
    try {
      parse_scenario(std::string(kGood) + text, "bad.txt");
      FAIL() << text;
    } catch (const ScenarioError& error) {
      EXPECT_NE(std::string(error.what()).find("each of the hosts `a` has 602 lanes"),
                std::string::npos)
          << error.what();
    }
  }
  // Who is written to needs none.
  EXPECT_NO_THROW(parse_scenario(std::string(kGood) + in + load, "good.txt"));
}

TEST(ParseNetwork, ATraceThatIsNotNamedIsAskedFor) {
  const Scenario s = parse_scenario(
      "duration 1s\nhosts a\nhosts b\nclient x on a to b op both class default size 1MiB trace 1\n",
      "trace");
  try {
    simulate(s);
    FAIL();
  } catch (const ScenarioError& error) {
    EXPECT_NE(std::string(error.what()).find("add `--trace FILE`"), std::string::npos);
  }
}

}  // namespace
}  // namespace tentq::sim
