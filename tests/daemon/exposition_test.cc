// The metrics' text: its form, character by character, and what it says of a known state.
#include "daemon/metrics/exposition.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "daemon/metrics/text_format.h"
#include "tests/daemon/fake_host.h"
#include "tests/support/scraped.h"

namespace tentq {
namespace {

using test::FakeHost;
using test::Scraped;
using test::ScrapedFamily;

TEST(SecondsText, IsExact) {
  EXPECT_EQ(seconds_text(0), "0");
  EXPECT_EQ(seconds_text(1), "0.000000001");
  EXPECT_EQ(seconds_text(1'024), "0.000001024");
  EXPECT_EQ(seconds_text(500'000'000), "0.5");
  EXPECT_EQ(seconds_text(1'000'000'000), "1");
  EXPECT_EQ(seconds_text(90'010'000'000), "90.01");
  EXPECT_EQ(seconds_text(~std::uint64_t{0}), "18446744073.709551615");
}

TEST(TextFormat, IsWrittenAsPrometheusReadsIt) {
  TextFormat out;
  out.family("a_total", "counter", "Back\\slash,\nline and \"quote\".");
  out.sample({}, 7);
  out.family("b_seconds", "gauge", "Two labels.");
  out.seconds({{"lane", "shm \"read\"\\\n"}, {"transport", "shm"}}, 1'500'000);
  EXPECT_EQ(out.take(),
            "# HELP a_total Back\\\\slash,\\nline and \"quote\".\n"
            "# TYPE a_total counter\n"
            "a_total 7\n"
            "# HELP b_seconds Two labels.\n"
            "# TYPE b_seconds gauge\n"
            "b_seconds{lane=\"shm \\\"read\\\"\\\\\\n\",transport=\"shm\"} 0.0015\n");
}

TEST(TextFormat, WritesAHistogramInPowersOfTwo) {
  Histogram histogram;
  histogram.record(1'024);
  histogram.record(1'025);
  histogram.record(200'000'000'000);
  TextFormat out;
  out.family("h", "histogram", "H.");
  out.histogram("class", "default", histogram);
  const std::string text = out.take();
  const std::string head =
      "# HELP h H.\n"
      "# TYPE h histogram\n"
      "h_bucket{class=\"default\",le=\"0.000001024\"} 1\n"
      "h_bucket{class=\"default\",le=\"0.000002048\"} 2\n";
  const std::string tail =
      "h_bucket{class=\"default\",le=\"137.438953472\"} 2\n"
      "h_bucket{class=\"default\",le=\"+Inf\"} 3\n"
      "h_sum{class=\"default\"} 200.000002049\n"
      "h_count{class=\"default\"} 3\n";
  EXPECT_TRUE(text.starts_with(head)) << text;
  EXPECT_TRUE(text.ends_with(tail)) << text;
  EXPECT_EQ(Scraped(text).samples().size(), Histogram::kPowers + 3);
}

// The names are a contract with dashboards and alerts.
TEST(Exposition, HasTheseFamilies) {
  const FakeHost host;
  const Scraped scraped(exposition(host));
  std::map<std::string, std::string> types;
  for (const ScrapedFamily& family : scraped.families()) {
    types[family.name] = family.type;
    EXPECT_EQ(family.type == "counter", family.name.ends_with("_total")) << family.name;
    EXPECT_TRUE(family.help.ends_with(".")) << family.help;
  }
  const std::map<std::string, std::string> expected = {
      {"tentq_admitted_unmeetable_total", "counter"},
      {"tentq_build_info", "gauge"},
      {"tentq_client_violations_total", "counter"},
      {"tentq_completed_total", "counter"},
      {"tentq_dispatched_chunks_total", "counter"},
      {"tentq_downgraded_total", "counter"},
      {"tentq_draining", "gauge"},
      {"tentq_enqueued_total", "counter"},
      {"tentq_inflight_bytes", "gauge"},
      {"tentq_inflight_owners", "gauge"},
      {"tentq_internal_reserve_exhausted_total", "counter"},
      {"tentq_lane_base_latency_seconds", "gauge"},
      {"tentq_lane_inflight_bytes", "gauge"},
      {"tentq_lane_inflight_chunks", "gauge"},
      {"tentq_lane_queue_bytes", "gauge"},
      {"tentq_lane_rate_bytes_per_second", "gauge"},
      {"tentq_lane_target_latency_seconds", "gauge"},
      {"tentq_lanes", "gauge"},
      {"tentq_missed_wakeups_total", "counter"},
      {"tentq_queue_bytes", "gauge"},
      {"tentq_queue_depth", "gauge"},
      {"tentq_queue_oldest_age_seconds", "gauge"},
      {"tentq_queue_wait_seconds", "histogram"},
      {"tentq_reaped_clients_total", "counter"},
      {"tentq_refused_attaches_total", "counter"},
      {"tentq_regions", "gauge"},
      {"tentq_registered_bytes", "gauge"},
      {"tentq_rejected_total", "counter"},
      {"tentq_requeues_total", "counter"},
      {"tentq_route_pending_owners", "gauge"},
      {"tentq_sessions", "gauge"},
      {"tentq_stale_completions_total", "counter"},
      {"tentq_transferred_bytes_total", "counter"},
      {"tentq_transport_seconds", "histogram"},
      {"tentq_uptime_seconds", "gauge"},
      {"tentq_window_bytes", "gauge"},
      {"tentq_window_chunks", "gauge"},
      {"tentq_window_floor_bytes", "gauge"},
  };
  EXPECT_EQ(types, expected);
}

TEST(Exposition, SaysWhatIsQueuedAndInFlight) {
  FakeHost host;
  const SessionId session = host.add_client("store-0", 1000);
  host.dispatch();
  host.submit(session, ClassId::background, 4 * test::kWindowBytes);
  host.dispatch();
  host.submit(session, ClassId::foreground, 3'000);
  host.advance(std::chrono::milliseconds{2'500});
  const Scraped scraped(exposition(host));
  EXPECT_EQ(scraped.value("tentq_build_info{version=\"0.1.0\"}"), 1);
  EXPECT_EQ(scraped.value("tentq_uptime_seconds"), 90);
  EXPECT_EQ(scraped.value("tentq_draining"), 0);
  EXPECT_EQ(scraped.value("tentq_sessions"), 1);
  EXPECT_EQ(scraped.value("tentq_enqueued_total"), 2);
  EXPECT_EQ(scraped.value("tentq_queue_depth{class=\"foreground\"}"), 1);
  EXPECT_EQ(scraped.value("tentq_queue_bytes{class=\"foreground\"}"), 3'000);
  EXPECT_EQ(scraped.value("tentq_queue_oldest_age_seconds{class=\"foreground\"}"), 2.5);
  EXPECT_EQ(scraped.value("tentq_queue_oldest_age_seconds{class=\"default\"}"), 0);
  EXPECT_EQ(scraped.value("tentq_queue_depth{class=\"background\"}"), 0);
  EXPECT_EQ(scraped.value("tentq_inflight_owners{class=\"background\"}"), 1);
  const core::LaneTotals lane = host.core().lane_totals(test::kReadLane);
  ASSERT_GT(lane.in_flight_bytes, 0u);
  const auto of_lane = [&](const std::string& name) {
    return scraped.value(name + "{lane=\"shm read\",transport=\"shm\"}");
  };
  EXPECT_EQ(of_lane("tentq_window_bytes"), test::kWindowBytes);
  EXPECT_EQ(of_lane("tentq_lane_inflight_bytes"), static_cast<double>(lane.in_flight_bytes));
  EXPECT_EQ(of_lane("tentq_lane_inflight_chunks"), lane.in_flight_chunks);
  EXPECT_EQ(scraped.value("tentq_inflight_bytes{class=\"background\"}"),
            static_cast<double>(lane.in_flight_bytes));
  EXPECT_EQ(scraped.value("tentq_dispatched_chunks_total"), lane.in_flight_chunks);
  EXPECT_EQ(scraped.value("tentq_lanes"), 2);
}

TEST(Exposition, SaysWhatTheDaemonCounted) {
  FakeHost host;
  host.daemon_view.missed_wakeups = 3;
  host.daemon_view.downgraded_owners = 5;
  host.daemon_view.violations[static_cast<std::size_t>(Violation::out_of_range)] = 4;
  host.latencies.ended(ClassId::prefetch, time_from_ns(1'000), time_from_ns(2'000),
                       time_from_ns(5'000));
  const Scraped scraped(exposition(host));
  EXPECT_EQ(scraped.value("tentq_missed_wakeups_total"), 3);
  EXPECT_EQ(scraped.value("tentq_downgraded_total"), 5);
  EXPECT_EQ(scraped.value("tentq_client_violations_total{reason=\"out_of_range\"}"), 4);
  EXPECT_EQ(scraped.value("tentq_queue_wait_seconds_count{class=\"prefetch\"}"), 1);
  EXPECT_EQ(scraped.value("tentq_transport_seconds_sum{class=\"prefetch\"}"), 0.000003);
  EXPECT_EQ(scraped.value("tentq_transport_seconds_bucket{class=\"prefetch\",le=\"0.000002048\"}"),
            0);
  EXPECT_EQ(scraped.value("tentq_transport_seconds_bucket{class=\"prefetch\",le=\"0.000004096\"}"),
            1);
  EXPECT_EQ(scraped.value("tentq_queue_wait_seconds_count{class=\"default\"}"), 0);
  EXPECT_EQ(scraped.value("tentq_completed_total{result=\"timeout\"}"), 0);
  EXPECT_EQ(scraped.value("tentq_rejected_total{reason=\"over_limit\"}"), 0);
}

// Lanes are what there may be many of: the number of samples stays bounded.
TEST(Exposition, ShowsNoMoreThanSixtyFourLanes) {
  class ManyLanes : public FakeHost {
   public:
    std::vector<LaneView> lanes() const override {
      std::vector<LaneView> views;
      for (int i = 0; i < 100; ++i) {
        views.push_back({LaneId{0}, "tcp read " + std::to_string(i), "tcp", {}});
      }
      return views;
    }
  };
  const Scraped scraped(exposition(ManyLanes()));
  EXPECT_EQ(scraped.value("tentq_lanes"), 100);
  EXPECT_TRUE(scraped.has("tentq_window_bytes{lane=\"tcp read 63\",transport=\"tcp\"}"));
  EXPECT_FALSE(scraped.has("tentq_window_bytes{lane=\"tcp read 64\",transport=\"tcp\"}"));
}

}  // namespace
}  // namespace tentq
