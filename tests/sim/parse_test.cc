// Scenario files: what is read from them, and that whatever is wrong is named with its line and
// with what to write instead.
#include "tests/sim/parse.h"

#include <gtest/gtest.h>

namespace tentq::sim {
namespace {

constexpr char kWhole[] = R"(# all statements
duration 10s
warmup 1500ms
seed 18446744073709551615
policy strict
check every 3
limits owners 1000 bytes 2GiB client-owners 500 client-bytes 1GiB age-max 0s largest-owner 8GiB client-in-flight 1MiB
class background weight 3 strict yes in-flight 64KiB reserve 4KiB owners 10 bytes 1GiB
lane shm rate 1.25GB/s delay 20us jitter 5us window 8MiB chunks 32 chunk 64KiB
lane far rate 500KB/s window 64MiB adaptive 500us floor 1MiB chunk auto   # learns
client bulk class background lane shm,far size 64KiB,1MiB flood 1GiB count 8 sessions 2 weight 4
client urgent class foreground lane shm size 256KiB open 20% arrivals fixed from 1s until 9s in-flight 1MiB
client one class default lane far size 5GiB once 1
client loop class prefetch lane far size 4KiB closed 7 think 30us
at 2s lane shm rate 125MB/s
at 2s lane far delay 1ms
at 3s lane far jam 500ms
at 4s policy wdrr
at 5s class background weight 9
phase late from 5s to 10s
reference only urgent,one
expect client urgent p99 <= 2ms in late
expect class background share >= 9%
expect lane shm utilisation >= 0.98
expect client one samples = 1
expect host peak-outstanding <= 2GiB
)";

TEST(ParseScenario, ReadsEveryStatement) {
  const Scenario s = parse_scenario(kWhole, "whole");
  EXPECT_EQ(s.duration_ns, 10'000'000'000);
  EXPECT_EQ(s.warmup_ns, 1'500'000'000);
  EXPECT_EQ(s.seed, ~std::uint64_t{0});
  EXPECT_EQ(s.policy, core::Policy::strict);
  EXPECT_EQ(s.check_every, 3u);
  EXPECT_EQ(s.limits.host.owners, 1000u);
  EXPECT_EQ(s.limits.host.bytes, 2ull << 30);
  EXPECT_EQ(s.limits.client.owners, 500u);
  EXPECT_EQ(s.limits.age_max, Duration{0});
  EXPECT_EQ(s.limits.largest_owner_bytes, 8ull << 30);
  EXPECT_EQ(s.limits.client_in_flight_bytes, 1u << 20);
  const core::ClassLimits& background = s.limits.classes[index_of(ClassId::background)];
  EXPECT_EQ(background.weight, 3u);
  EXPECT_TRUE(background.strict);
  EXPECT_EQ(background.in_flight_bytes, 64u << 10);
  EXPECT_EQ(background.reserve_bytes, 4096u);
  EXPECT_EQ(background.outstanding.owners, 10u);

  ASSERT_EQ(s.lanes.size(), 2u);
  EXPECT_EQ(s.lanes[0].rate, 1'250'000'000u);
  EXPECT_EQ(s.lanes[0].delay_ns, 20'000);
  EXPECT_EQ(s.lanes[0].jitter_ns, 5'000);
  EXPECT_EQ(s.lanes[0].window_bytes, 8u << 20);
  EXPECT_EQ(s.lanes[0].window_chunks, 32u);
  EXPECT_EQ(s.lanes[0].chunk_bytes, 64u << 10);
  EXPECT_FALSE(s.lanes[0].rules.adaptive);
  EXPECT_TRUE(s.lanes[1].rules.adaptive);
  EXPECT_EQ(s.lanes[1].rules.delay_target, Duration{500'000});
  EXPECT_EQ(s.lanes[1].rules.least_bytes, 1u << 20);
  EXPECT_EQ(s.lanes[1].chunk_bytes, 0u);

  ASSERT_EQ(s.clients.size(), 4u);
  EXPECT_EQ(s.clients[0].lanes, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(s.clients[0].sizes, (std::vector<std::uint64_t>{64u << 10, 1u << 20}));
  EXPECT_EQ(s.clients[0].kind, LoadKind::flood);
  EXPECT_EQ(s.clients[0].bytes, 1u << 30);
  EXPECT_EQ(s.clients[0].session_count(), 16u);
  EXPECT_EQ(s.clients[0].weight, 4u);
  EXPECT_EQ(s.clients[1].kind, LoadKind::open);
  EXPECT_DOUBLE_EQ(s.clients[1].share, 0.2);
  EXPECT_EQ(s.clients[1].spacing, bench::qos::Spacing::fixed);
  EXPECT_EQ(s.clients[1].from_ns, 1'000'000'000);
  EXPECT_EQ(s.clients[1].until_ns, 9'000'000'000);
  EXPECT_EQ(s.clients[2].kind, LoadKind::once);
  EXPECT_EQ(s.clients[2].sizes[0], 5ull << 30);
  EXPECT_EQ(s.clients[3].depth, 7u);
  EXPECT_EQ(s.clients[3].think_ns, 30'000);

  ASSERT_EQ(s.changes.size(), 5u);
  EXPECT_EQ(s.changes[0].rate, 125'000'000u);
  EXPECT_EQ(s.changes[1].kind, ChangeKind::lane_delay);
  EXPECT_EQ(s.changes[2].duration_ns, 500'000'000);
  EXPECT_EQ(s.changes[3].policy, core::Policy::wdrr);
  EXPECT_EQ(s.changes[4].weight, 9u);

  ASSERT_TRUE(s.reference.has_value());
  EXPECT_EQ(s.reference->only, (std::vector<std::uint32_t>{1, 2}));
  ASSERT_EQ(s.expectations.size(), 5u);
  EXPECT_EQ(s.expectations[0].figure, Figure::p99);
  EXPECT_DOUBLE_EQ(s.expectations[0].value, 2000);
  EXPECT_EQ(s.expectations[0].phase, 0u);
  EXPECT_EQ(s.expectations[1].index, index_of(ClassId::background));
  EXPECT_DOUBLE_EQ(s.expectations[1].value, 0.09);
  EXPECT_EQ(s.expectations[4].relation, Relation::at_most);
}

// Lines that stand before each bad one; the bad one is line 4.
constexpr char kGood[] =
    "duration 10s\nlane shm rate 500MB/s\n"
    "client bulk class background lane shm size 1MiB flood 64MiB count 8\n";

struct Bad {
  const char* line;
  const char* wrong;   // part of the message
  const char* remedy;  // part of the message
};

class BadLine : public ::testing::TestWithParam<Bad> {};

TEST_P(BadLine, IsNamedWithItsRemedy) {
  try {
    parse_scenario(std::string(kGood) + GetParam().line + "\n", "bad.txt");
    FAIL() << "it was taken: " << GetParam().line;
  } catch (const ScenarioError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.rfind("bad.txt:4: ", 0), 0u) << text;
    EXPECT_NE(text.find(GetParam().wrong), std::string::npos) << text;
    EXPECT_NE(text.find(std::string("; ")), std::string::npos) << text;
    EXPECT_NE(text.find(GetParam().remedy), std::string::npos) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Lines, BadLine,
    ::testing::Values(
        Bad{"lanes two", "no statement `lanes`", "duration, expect, hosts, lane"},
        Bad{"duration 5s", "stands above already", "keep one"},
        Bad{"warmup 1", "`1` is no warm-up", "us, ms, s"},
        Bad{"warmup -1s", "`-1s` is no warm-up", "whole number"},
        Bad{"warmup 1s 2s", "`2s` is left over", "delete it"},
        Bad{"warmup", "the line ends", "write warm-up there"},
        Bad{"warmup 10s", "the warm-up is as long", "longer `duration`"},
        Bad{"seed x", "`x` is no seed", "write a number"},
        Bad{"seed 18446744073709551616", "is no seed", "write a number"},
        Bad{"policy fair", "no policy `fair`", "direct, fifo, strict or wdrr"},
        Bad{"check all", "`all` is out of place", "`every`"},
        Bad{"check every 0", "`0` is no number", "from 1"},
        Bad{"limits", "says nothing", "bytes 64GiB"},
        Bad{"limits bytes 0", "`0` is no size", "write bytes from"},
        Bad{"limits owners 16777217", "is no number of owners", "16777216"},
        Bad{"limits bytes 1GiB bytes 2GiB", "`bytes` stands twice", "keep one"},
        Bad{"class internal weight 2", "no class `internal`", "foreground, default"},
        Bad{"class default", "says nothing", "weight 4"},
        Bad{"class default strict maybe", "no answer `maybe`", "no or yes"},
        Bad{"class default in-flight 1", "the core does not take", "4096"},
        Bad{"lane shm rate 1GB/s", "`shm` stands above", "another name"},
        Bad{"lane 2nd rate 1GB/s", "`2nd` is no name", "beginning with a letter"},
        Bad{"hosts b count 2", "lanes of one host already", "client NAME on HOSTS"},
        Bad{"client b on x class default size 1MiB closed 1", "no hosts `x`", "hosts x count 2"},
        Bad{"client b op read class default lane shm size 1MiB closed 1", "of several hosts",
            "hosts NAME"},
        Bad{"lane b", "`rate` is missing", "rate 500MB/s"},
        Bad{"lane b rate 500", "`500` is no rate", "500MB/s"},
        Bad{"lane b rate 0MB/s", "is no rate", "above 0"},
        Bad{"lane b rate infMB/s", "is no rate", "above 0"},
        Bad{"lane b rate nanMB/s", "is no rate", "above 0"},
        Bad{"lane b rate 1001GB/s", "is no rate", "at most 1000GB/s"},
        Bad{"lane b rate 1GB/s speed 2", "no setting `speed`", "rate, delay, jitter"},
        Bad{"lane b rate 1GB/s window 1KiB", "`1KiB` is no window", "4KiB"},
        Bad{"lane b rate 1GB/s chunks 0", "is no number of chunks", "from 1"},
        Bad{"lane b rate 1GB/s chunk 1", "`1` is no chunk", "4KiB"},
        Bad{"lane b rate 1GB/s adaptive 0us", "delay target is 0", "longer"},
        Bad{"lane b rate 1GB/s floor 1MiB", "no floor", "adaptive 100us"},
        Bad{"client b lane shm size 1MiB closed 1", "`class` is missing", "class background"},
        Bad{"client b class default size 1MiB closed 1", "`lane` is missing", "lane NAME"},
        Bad{"client b class default lane shm closed 1", "`size` is missing", "size 256KiB"},
        Bad{"client b class default lane far size 1MiB closed 1", "no lane `far`", "shm"},
        Bad{"client b class default lane shm size 1MiB", "this one has 0", "open 20%"},
        Bad{"client b class default lane shm size 1MiB closed 1 once 1", "this one has 2", "open"},
        Bad{"client b class default lane shm size 0 closed 1", "`0` in `0` is no size", "1B"},
        Bad{"client b class default lane shm size 1MiB, closed 1", "`` in `1MiB,`", "64KiB,1MiB"},
        Bad{"client b class default lane shm size 99999TiB closed 1", "is no size", "1TiB"},
        Bad{"client b class default lane shm size 1MiB closed 0", "`0` is no number", "from 1"},
        Bad{"client b class default lane shm size 1MiB open 0%", "open load", "more than 0"},
        Bad{"client b class default lane shm size 1MiB open -1", "`-1` is no part", "20%"},
        Bad{"client b class default lane shm size 1MiB open 1e9", "is no part", "20%"},
        Bad{"client b class default lane shm size 1MiB flood 1MiB count 2", "smaller than one",
            "flood 2097152"},
        Bad{"client b class default lane shm size 1MiB closed 1 arrivals fixed", "only an open",
            "delete `arrivals`"},
        Bad{"client b class default lane shm size 1MiB once 1 think 1us", "only a closed",
            "delete `think`"},
        Bad{"client b class default lane shm size 1MiB closed 1 from 2s until 1s", "before it",
            "later than"},
        Bad{"client b class default lane shm size 1MiB closed 1 from 10s", "begins after the end",
            "longer `duration`"},
        Bad{"client b class default lane shm size 1MiB closed 1 count 4096 sessions 2",
            "8200 sessions", "at most 4096"},
        Bad{"client bulk class default lane shm size 1MiB closed 1", "stands above", "another"},
        Bad{"at 1s lane shm", "the line ends", "rate, delay or jam"},
        Bad{"at 1s lane far rate 1GB/s", "no lane `far`", "shm"},
        Bad{"at 1s lane shm jam 0s", "is 0", "longer"},
        Bad{"at 1s client bulk", "no change `client`", "lane, policy, class, hosts or partition"},
        Bad{"at 1s class default weight 0", "`0` is no weight", "from 1"},
        Bad{"at 10s policy fifo", "comes after the end", "longer `duration`"},
        Bad{"phase a from 2s to 1s", "ends before it begins", "later time"},
        Bad{"phase a from 2s to 11s", "ends after the end", "longer `duration`"},
        Bad{"reference only other", "no client `other`", "bulk"},
        Bad{"reference without clients", "no part `clients`", "changes or credits"},
        Bad{"expect client other p99 <= 1ms", "no client `other`", "bulk"},
        Bad{"expect lane shm p99 <= 1ms", "no figure `p99`", "utilisation"},
        Bad{"expect client bulk p99 < 1ms", "no relation `<`", "<=, >= or ="},
        Bad{"expect client bulk p99 <= 20%", "`20%` is no time", "20us"},
        Bad{"expect client bulk share <= 1ms", "`1ms` is no ratio", "20%"},
        Bad{"expect client bulk p99 <= 1ms in late", "no phase `late`", "phase late from"},
        Bad{"expect client bulk refused <= 1 in late", "of the whole run", "delete the phase"},
        Bad{"expect client bulk p99-vs-reference <= 2", "needs a run", "reference only"},
        Bad{"expect", "the line ends", "client, class, lane, host or hosts"}));

TEST(ParseScenario, ChangesOutOfOrderAreRefused) {
  const std::string text = std::string(kGood) + "at 2s policy fifo\nat 1s policy wdrr\n";
  try {
    parse_scenario(text, "bad.txt");
    FAIL();
  } catch (const ScenarioError& error) {
    EXPECT_NE(std::string(error.what()).find("bad.txt:5: this change comes before"),
              std::string::npos)
        << error.what();
  }
}

TEST(ParseScenario, WhatIsMissingAltogetherIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "there is no `duration`"},
      {"duration 1s\n", "there is no lane"},
      {"duration 1s\nlane a rate 1GB/s", "there is no client"}};
  for (const auto& [text, wrong] : cases) {
    try {
      parse_scenario(text, "bad.txt");
      FAIL() << text;
    } catch (const ScenarioError& error) {
      EXPECT_NE(std::string(error.what()).find(wrong), std::string::npos) << error.what();
    }
  }
}

TEST(ParseScenario, AFileThatIsNotThereIsNamed) {
  try {
    read_scenario("/nonexistent/scenario.txt");
    FAIL();
  } catch (const ScenarioError& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/scenario.txt: cannot be read"),
              std::string::npos);
  }
}

TEST(ParseScenario, WindowsLineEndsAndTabsAreBlank) {
  const Scenario s = parse_scenario(
      "duration\t1s\r\nlane a rate 1GB/s\r\nclient b class default lane a size 1MiB closed 1\r\n",
      "crlf");
  EXPECT_EQ(s.clients.size(), 1u);
}

}  // namespace
}  // namespace tentq::sim
