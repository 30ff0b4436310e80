// The parts of the simulator: order of turns, what the audit flags, formulas of figures, loads.
#include <gtest/gtest.h>

#include <map>

#include "tests/sim/agenda.h"
#include "tests/sim/audit.h"
#include "tests/sim/figures.h"
#include "tests/sim/parse.h"
#include "tests/sim/simulation.h"

namespace tentq::sim {
namespace {

TEST(Agenda, WhoIsDueFirstGoesFirstAndTiesGoByNumber) {
  Agenda agenda;
  const std::uint32_t a = agenda.add();
  const std::uint32_t b = agenda.add();
  EXPECT_EQ(agenda.next().at_ns, kNeverNs);
  agenda.set(b, 5);
  agenda.set(a, 7);
  EXPECT_EQ(agenda.next().actor, b);
  agenda.set(b, 9);
  EXPECT_EQ(agenda.next().actor, a);
  agenda.set(a, 9);
  EXPECT_EQ(agenda.next().actor, a);
  agenda.set(a, kNeverNs);
  EXPECT_EQ(agenda.next().actor, b);
  EXPECT_EQ(agenda.next().at_ns, 9);
  agenda.set(b, kNeverNs);
  EXPECT_EQ(agenda.next().at_ns, kNeverNs);
}

class AuditTest : public ::testing::Test {
 protected:
  AuditTest() {
    audit.submitted(session, 3, 1000);
    audit.admitted({session, owner, 3, 1}, 0);
    lane.window_bytes = 1000;
    lane.chunk_bytes = 100;
  }
  core::DispatchChunk chunk(std::uint64_t offset, std::uint64_t length) const {
    core::DispatchChunk one;
    one.chunk.owner = owner;
    one.lane = LaneId{0};
    one.session = session;
    one.local_offset = offset;
    one.length = length;
    return one;
  }
  void dispatch(std::uint64_t offset, std::uint64_t length, std::uint64_t in_flight = 1,
                core::Policy policy = core::Policy::wdrr) {
    audit.dispatched(chunk(offset, length), in_flight, lane, policy, 0);
  }
  core::OwnerEnded end(std::uint64_t bytes) const {
    core::OwnerEnded end;
    end.session = session;
    end.owner = owner;
    end.slot = 3;
    end.bytes_done = bytes;
    return end;
  }
  Violations violations;
  Audit audit{&violations};
  const SessionId session{0};
  const OwnerId owner{7, 1};
  core::LaneTotals lane;
};

TEST_F(AuditTest, AWholeOwnerIsFine) {
  dispatch(0, 600);
  dispatch(600, 400);
  audit.returned(chunk(0, 600));
  audit.returned(chunk(600, 400));
  audit.ended(end(1000), 0);
  EXPECT_EQ(violations.count(), 0u);
}
TEST_F(AuditTest, AGapBetweenChunksIsFlagged) {
  dispatch(0, 500);
  dispatch(600, 400);
  EXPECT_EQ(violations.count(), 1u);
}
TEST_F(AuditTest, BytesHandedOverTwiceAreFlagged) {
  dispatch(0, 500);
  dispatch(0, 500);
  EXPECT_EQ(violations.count(), 1u);
}
TEST_F(AuditTest, MoreThanTheOwnerHasIsFlagged) {
  dispatch(0, 1001);
  EXPECT_EQ(violations.count(), 1u);
}
TEST_F(AuditTest, AChunkOfNobodyIsFlagged) {
  core::DispatchChunk stray = chunk(0, 10);
  stray.chunk.owner = OwnerId{8, 1};
  audit.dispatched(stray, 10, lane, core::Policy::wdrr, 0);
  EXPECT_EQ(violations.count(), 1u);
}
TEST_F(AuditTest, CompletingWithoutAllBytesIsFlagged) {
  dispatch(0, 1000);
  audit.returned(chunk(0, 1000));
  audit.ended(end(999), 0);
  EXPECT_EQ(violations.count(), 1u);
}
TEST_F(AuditTest, CompletingWithChunksUnderWayIsFlagged) {
  dispatch(0, 1000);
  audit.ended(end(1000), 0);
  EXPECT_EQ(violations.count(), 1u);
}
TEST_F(AuditTest, ASecondEndIsFlagged) {
  dispatch(0, 1000);
  audit.returned(chunk(0, 1000));
  audit.ended(end(1000), 0);
  audit.ended(end(1000), 0);
  EXPECT_EQ(violations.count(), 1u);
}
TEST_F(AuditTest, ALaneBeyondItsWindowAndForegroundsRoomIsFlagged) {
  dispatch(0, 100, 1200);
  EXPECT_EQ(violations.count(), 0u);  // 1000 and two chunks
  dispatch(100, 100, 1201);
  EXPECT_EQ(violations.count(), 1u);
  dispatch(200, 100, 1001, core::Policy::fifo);  // classes do not count: no room beyond
  EXPECT_EQ(violations.count(), 2u);
  dispatch(300, 100, 1'000'000, core::Policy::direct);
  EXPECT_EQ(violations.count(), 2u);
}
TEST_F(AuditTest, ALaneThatIdlesWhileSomethingWaitsIsFlagged) {
  lane.queued_owners = 2;
  lane.in_flight_bytes = 1;
  audit.settled(LaneId{0}, lane, false, 0);
  EXPECT_EQ(violations.count(), 0u);
  lane.in_flight_bytes = 0;
  audit.settled(LaneId{0}, lane, false, 0);
  EXPECT_EQ(violations.count(), 1u);
}
TEST_F(AuditTest, AnOwnerWithoutAnEndIsFlagged) {
  const core::Core core(core::Limits{}, core::HardMaxima{}, core::Policy::wdrr, 1);
  audit.over(core, 0);
  EXPECT_EQ(violations.count(), 1u);
}

Scenario two_lanes() {
  return parse_scenario(
      "duration 10s\nwarmup 2s\nlane a rate 1GB/s\nlane b rate 500MB/s\n"
      "client x class foreground lane a size 1MiB closed 1 count 2\n"
      "client y class default lane a,b size 1MiB closed 1 weight 3\n",
      "two");
}

// Clients 0 and 1 are of x, 2 is y.
Record made_up() {
  Record record;
  record.clients = {{0, 1}, {0, 1}, {1, 3}};
  record.lanes = {{5, {{0, 1'000'000'000}, {6'000'000'000, 500'000'000}}}, {6, {{0, 500'000'000}}}};
  for (std::int64_t i = 1; i <= 100; ++i) {
    const std::int64_t at = 2'000'000'000 + i;
    record.samples.push_back({0, at, at + i * 1000, i * 1000, i <= 90 ? i * 1000 : 1, 10, true});
  }
  record.samples.push_back({0, 1'999'999'999, 9'000'000'000, 0, -1, 10, true});  // before
  record.samples.push_back({2, 3'000'000'000, 4'000'000'000, 0, -1, 10, false});
  record.moved = {{2'000'000'000, 0, 0, 300},  {5'000'000'000, 1, 0, 100},
                  {5'000'000'000, 2, 0, 300},  {9'999'999'999, 2, 1, 300},
                  {10'000'000'000, 2, 1, 999}, {1'999'999'999, 0, 0, 999}};
  return record;
}

TEST(Figures, FollowTheirFormulas) {
  const Scenario scenario = two_lanes();
  const Record record = made_up();
  Record faster = record;
  for (Sample& sample : faster.samples) {
    sample.ended_ns = sample.intended_ns + (sample.ended_ns - sample.intended_ns) / 2;
  }
  const Figures figures(scenario, record, &faster);
  const Interval in = measured_time(scenario);
  const Subject x{SubjectKind::client, 0};
  const Subject y{SubjectKind::client, 1};
  const Subject lane_a{SubjectKind::lane, 0};
  const Subject host{SubjectKind::host, 0};
  EXPECT_DOUBLE_EQ(*figures.value(x, Figure::p50, in), 50);
  EXPECT_DOUBLE_EQ(*figures.value(x, Figure::p99, in), 99);
  EXPECT_DOUBLE_EQ(*figures.value(x, Figure::p999, in), 100);
  EXPECT_DOUBLE_EQ(*figures.value(x, Figure::samples, in), 100);
  EXPECT_DOUBLE_EQ(*figures.value(y, Figure::failed, in), 1);
  EXPECT_FALSE(figures.value(y, Figure::p99, in).has_value());
  EXPECT_DOUBLE_EQ(*figures.value(x, Figure::within_p8, in), 0.9);
  EXPECT_DOUBLE_EQ(*figures.value(x, Figure::p99_vs_reference, in), 2);
  EXPECT_DOUBLE_EQ(*figures.value(x, Figure::moved, in), 400);
  EXPECT_DOUBLE_EQ(*figures.value(x, Figure::share, in), 0.4);
  EXPECT_DOUBLE_EQ(*figures.value(y, Figure::share, in), 0.6);
  EXPECT_DOUBLE_EQ(*figures.value({SubjectKind::cls, 2}, Figure::share, in), 0.6);
  EXPECT_DOUBLE_EQ(*figures.value(x, Figure::jain, in), 400. * 400 / (2 * (90'000. + 10'000)));
  // Four seconds at each rate of lane a, eight of lane b.
  EXPECT_DOUBLE_EQ(*figures.value(lane_a, Figure::utilisation, in), 700 / 6e9);
  EXPECT_DOUBLE_EQ(*figures.value(x, Figure::of_capacity, in), 400 / 6e9);
  EXPECT_DOUBLE_EQ(*figures.value(y, Figure::of_capacity, in), 600 / 10e9);
  EXPECT_DOUBLE_EQ(*figures.value(lane_a, Figure::peak_in_flight, in), 5);
  EXPECT_DOUBLE_EQ(*figures.value(host, Figure::goodput, in), 1010 / 10e9);
  EXPECT_DOUBLE_EQ(*figures.value(host, Figure::fairness, in), 0.8);
  EXPECT_DOUBLE_EQ(figures.urgent_percentile_us(0.5), 50);
}

TEST(Figures, AnExpectationIsMissedWhenItsFigureIsBeyondOrNotThere) {
  Scenario scenario = two_lanes();
  const Record record = made_up();
  const auto met = [&](const std::string& line) {
    Words words("f", 1, line);
    scenario.expectations = {parse_expectation(words, scenario)};
    return judge(scenario, Figures(scenario, record, nullptr)).front().met;
  };
  EXPECT_TRUE(met("client x p50 <= 50us"));
  EXPECT_FALSE(met("client x p50 <= 49us"));
  EXPECT_TRUE(met("client x p50 >= 50us"));
  EXPECT_FALSE(met("client x p50 >= 51us"));
  EXPECT_TRUE(met("client x samples = 100"));
  EXPECT_FALSE(met("client x samples = 99"));
  EXPECT_FALSE(met("client y p50 <= 1s"));  // it has none
  EXPECT_FALSE(met("client y p50 >= 0us"));
}

// Without company an open load on a fast lane is served at once, each at its planned time.
TEST(Loads, AnOpenLoadKeepsItsRateWhateverIsOutstanding) {
  const char* text =
      "duration 10s\nlane a rate 1GB/s\n"
      "client x class foreground lane a size 100KiB open 30% arrivals fixed count 3\n";
  const Scenario scenario = parse_scenario(text, "open");
  const Record record = simulate(scenario);
  const Figures figures(scenario, record, nullptr);
  const Interval in = measured_time(scenario);
  EXPECT_NEAR(*figures.value({SubjectKind::lane, 0}, Figure::utilisation, in), 0.3, 0.001);
  // Three clients in turn: none waits for another.
  EXPECT_NEAR(*figures.value({SubjectKind::client, 0}, Figure::p999, in), 102.4, 0.1);
  EXPECT_EQ(record.violations.count(), 0u);
}

TEST(Loads, AnOverloadedOpenLoadMeetsEveryPlannedSubmit) {
  const Scenario scenario = parse_scenario(
      "duration 1s\nlimits client-bytes 1MiB age-max 0s\nlane a rate 100MB/s\n"
      "client x class default lane a size 100KiB open 300% arrivals fixed\n",
      "over");
  const Record record = simulate(scenario);
  // 300 MB of owners of 100 KiB, most of them refused at first, all of them served in the end
  // (except the first planned time, which lies before the run), in their order.
  const double planned = 300e6 / (100 * 1024);
  EXPECT_NEAR(static_cast<double>(record.samples.size()), planned, 2);
  EXPECT_GT(record.clients[0].refused, 100u);
  EXPECT_GT(record.end_ns, 2'900'000'000);
  for (const Sample& sample : record.samples) EXPECT_TRUE(sample.completed);
}

TEST(Loads, AFloodKeepsItsBytesOutstanding) {
  const Scenario scenario = parse_scenario(
      "duration 1s\nlane a rate 1GB/s\n"
      "client x class background lane a size 1MiB,2MiB flood 48MiB count 4\n",
      "flood");
  const Record record = simulate(scenario);
  EXPECT_LE(record.peak_outstanding_bytes, 48u << 20);
  EXPECT_GE(record.peak_outstanding_bytes, 40u << 20);
  EXPECT_EQ(record.violations.count(), 0u);
}

// A lane of 1 GB/s serves 1 MB in 1 ms; with 1 ms of thinking half of the time is idle.
TEST(Loads, AClosedLoadThinksBetweenAnEndAndTheNextSubmit) {
  const Scenario scenario = parse_scenario(
      "duration 10s\nlane a rate 1GB/s\n"
      "client x class default lane a size 1000000 closed 1 think 1ms\n",
      "think");
  const Record record = simulate(scenario);
  const Figures figures(scenario, record, nullptr);
  const Interval in = measured_time(scenario);
  EXPECT_NEAR(*figures.value({SubjectKind::lane, 0}, Figure::utilisation, in), 0.5, 0.01);
  EXPECT_NEAR(*figures.value({SubjectKind::client, 0}, Figure::p999, in), 1000, 1);
}

TEST(Loads, OwnersOfEverySizeMeetEveryLane) {
  const Scenario scenario = parse_scenario(
      "duration 1s\nlane a rate 1GB/s\nlane b rate 1GB/s\n"
      "client x class background lane a,b size 1MiB,2MiB closed 1\n",
      "sizes");
  const Record record = simulate(scenario);
  std::map<std::uint32_t, std::uint64_t> bytes;
  for (const Moved& each : record.moved) bytes[each.lane] += each.bytes;
  EXPECT_NEAR(static_cast<double>(bytes[0]) / static_cast<double>(bytes[1]), 1, 0.02);
}

// A lane that the core itself does not take: its check fails, which is counted, not an abort.
TEST(Simulation, AFailedCheckOfTheCoreIsAViolation) {
  Scenario scenario = two_lanes();
  scenario.lanes[0].window_chunks = 0;
  const Record record = simulate(scenario);
  EXPECT_EQ(record.violations.count(), 1u);
  EXPECT_NE(record.violations.texts().front().find("window_chunks != 0"), std::string::npos);
}

class Nobody final : public Party {
  void ended(const core::OwnerEnded&, std::int64_t) override {}
  void credit_raised() override {}
};

// A lane that tells of its chunks only every 50 ms, which the bound knows nothing of.
TEST(Host, AForegroundOwnerBeyondItsBoundIsAViolation) {
  for (const Duration age_max : {Duration{0}, Duration{1'000'000'000}}) {
    HostShape shape;
    shape.limits.age_max = age_max;
    shape.maxima.sessions = shape.maxima.clients = shape.maxima.lanes = 1;
    shape.policy = core::Policy::strict;
    Record record;
    record.clients.resize(1);
    record.lanes.resize(1);
    Host host(shape, &record);
    host.open_lane(0, {0.5, 0, 0, 50'000'000, 1},
                   core::LaneOpened{LaneId{0}, 1u << 20, 64, 64u << 10});
    Nobody nobody;
    const SessionId session = host.open_session({0, ClientKey{0}, 0, 8}, &nobody);
    host.settle();
    ASSERT_TRUE(host.submit(session, ClassId::foreground, 0, 1u << 20, 0));
    host.settle();
    while (!host.idle()) {
      host.advance(host.next_ns());
      host.step();
      host.settle();
    }
    ASSERT_EQ(record.samples.size(), 1u);
    EXPECT_GT(record.samples[0].took_admitted_ns, record.samples[0].bound_ns);
    // With aging others may go first, so that the bound is only counted, not enforced.
    EXPECT_EQ(record.violations.count(), age_max == Duration{0} ? 1u : 0u);
  }
}

}  // namespace
}  // namespace tentq::sim
