// Queries against a real core: what the documents say, and who may see what.
#include "daemon/queries/queries.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/daemon/fake_host.h"

namespace tentq {
namespace {

using nlohmann::json;
using test::FakeHost;

const Caller kAdmin{0, true, {}};
constexpr std::uint32_t kAlice = 1000;
constexpr std::uint32_t kBob = 1001;

QueryAnswer ask(const FakeHost& host, QueryKind kind, const std::string& argument = {},
                const Caller& caller = kAdmin) {
  auto query = make_message<Query>(1);
  query.kind = kind;
  query.argument.assign(argument);
  return answer_query(query, host, host.errors, caller);
}

json document(const QueryAnswer& answer) {
  EXPECT_EQ(answer.status, StatusCode::ok) << answer.text;
  return json::parse(answer.document);
}

// Every number anywhere in the document.
void collect_numbers(const json& value, std::vector<double>* out) {
  if (value.is_number()) out->push_back(value.get<double>());
  if (value.is_structured()) {
    for (const json& part : value) collect_numbers(part, out);
  }
}

std::uint64_t first_owner(const FakeHost& host) {
  const json owners = document(ask(host, QueryKind::owners)).at("owners");
  return owners.empty() ? 0 : owners.at(0).at("owner").get<std::uint64_t>();
}

TEST(QueueQuery, IsAllZeroWhenNothingIsOutstanding) {
  FakeHost host;
  host.add_client("idle", kAlice);
  host.dispatch();
  const json queue = document(ask(host, QueryKind::queue));
  std::vector<double> numbers;
  collect_numbers(queue, &numbers);
  EXPECT_EQ(numbers.size(), 7u * (kClassCount + 1));
  for (const double number : numbers) EXPECT_EQ(number, 0);
  for (const char* name : {"internal", "foreground", "default", "prefetch", "background"}) {
    EXPECT_TRUE(queue.at("classes").contains(name)) << name;
  }
}

TEST(QueueQuery, CountsWhatIsQueuedAndInFlightPerClass) {
  FakeHost host;
  const SessionId session = host.add_client("engine", kAlice);
  host.submit(session, ClassId::foreground, 4096);
  host.submit(session, ClassId::background, 8192);
  host.advance(std::chrono::milliseconds{5});
  json queue = document(ask(host, QueryKind::queue));
  EXPECT_EQ(queue["classes"]["foreground"]["depth"], 1);
  EXPECT_EQ(queue["classes"]["foreground"]["bytes"], 4096);
  EXPECT_EQ(queue["classes"]["foreground"]["oldest_age_ns"], 5'000'000);
  EXPECT_EQ(queue["total"]["depth"], 2);
  EXPECT_EQ(queue["total"]["bytes"], 12288);
  host.dispatch();
  queue = document(ask(host, QueryKind::queue));
  EXPECT_EQ(queue["total"]["depth"], 0);
  EXPECT_EQ(queue["total"]["oldest_age_ns"], 0);
  EXPECT_EQ(queue["total"]["in_flight"], 2);
  EXPECT_EQ(queue["classes"]["background"]["in_flight_bytes"], 8192);
}

TEST(QueueQuery, ListsClientsAndLanesOnRequest) {
  FakeHost host;
  const SessionId session = host.add_client("engine", kAlice);
  host.submit(session, ClassId::foreground, 4096);
  const json by_client = document(ask(host, QueryKind::queue, "by=client"));
  EXPECT_EQ(by_client.at("clients").at(0).at("name"), "engine");
  EXPECT_EQ(by_client.at("clients").at(0).at("depth"), 1);
  EXPECT_EQ(by_client.at("clients").at(0).at("outstanding_bytes"), 4096);
  const json by_lane = document(ask(host, QueryKind::queue, "by=lane"));
  EXPECT_EQ(by_lane.at("lanes").at(0).at("lane"), "shm read");
  EXPECT_EQ(by_lane.at("lanes").at(0).at("depth"), 1);
  EXPECT_EQ(ask(host, QueryKind::queue, "by=colour").status, StatusCode::invalid_argument);
}

// What this host keeps to itself, and all that goes to and from each other one.
TEST(QueueQuery, ListsHostsOnRequest) {
  FakeHost host;
  host.submit(host.add_client("engine", kAlice), ClassId::foreground, 4096);
  PeerView peer;
  peer.host = "0123";
  peer.address = "10.0.0.2:7471";
  peer.away = true;
  peer.read.queued_owners = 1;
  peer.write.queued_owners = 2;
  peer.write.queued_bytes = 100;
  peer.serve.queued_bytes = 1000;
  peer.serve.in_flight_chunks = 3;
  peer.read.in_flight_bytes = 7;
  peer.serve.in_flight_bytes = 70;
  host.peer_views = {peer};
  const json rows = document(ask(host, QueryKind::queue, "by=peer")).at("peers");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("peer"), "this host");
  EXPECT_TRUE(rows[0].at("host").is_null());
  EXPECT_EQ(rows[0].at("depth"), 1);
  EXPECT_EQ(rows[1].at("peer"), "10.0.0.2:7471");
  EXPECT_EQ(rows[1].at("host"), "0123");
  EXPECT_EQ(rows[1].at("away"), true);
  EXPECT_EQ(rows[1].at("depth"), 3);
  EXPECT_EQ(rows[1].at("bytes"), 1100);
  EXPECT_EQ(rows[1].at("in_flight_chunks"), 3);
  EXPECT_EQ(rows[1].at("in_flight_bytes"), 77);
}

TEST(SegmentsQuery, ListsThoseOfOtherHostsToTheOperatorOnRequest) {
  FakeHost host;
  host.elsewhere_views = {{"blocks", "10.0.0.2:7471", "failed", "stale_handle", 3, 1}};
  host.directory_views.assign(kMostDirectoryNames + 1, {"blocks", "10.0.0.2:7471", "0123"});
  EXPECT_FALSE(document(ask(host, QueryKind::segments)).contains("elsewhere"));
  const json shown = document(ask(host, QueryKind::segments, "of=hosts"));
  ASSERT_EQ(shown.at("elsewhere").size(), 1u);
  EXPECT_EQ(shown.at("elsewhere")[0].at("failure"), "stale_handle");
  EXPECT_EQ(shown.at("directory").size(), kMostDirectoryNames);
  EXPECT_EQ(shown.at("directory")[0].at("address"), "10.0.0.2:7471");
  EXPECT_EQ(ask(host, QueryKind::segments, "of=all").status, StatusCode::invalid_argument);
  const Caller caller{kAlice, false, {}};
  EXPECT_EQ(ask(host, QueryKind::segments, "of=hosts", caller).status, StatusCode::not_permitted);
}

TEST(StatusQuery, TellsVersionEpochTotalsAndTransports) {
  FakeHost host;
  const SessionId session = host.add_client("engine", kAlice);
  host.submit(session, ClassId::standard, 4096);
  host.daemon_view.warnings = {"memlock is small"};
  const json status = document(ask(host, QueryKind::status));
  EXPECT_EQ(status.at("state"), "running");
  EXPECT_EQ(status.at("epoch").at("counter"), 7);
  EXPECT_EQ(status.at("epoch").at("random"), "fedcba9876543210");
  EXPECT_EQ(status.at("uptime_seconds"), 90.0);
  EXPECT_EQ(status.at("policy"), "wdrr");
  EXPECT_EQ(status.at("outstanding").at("bytes"), 4096);
  EXPECT_EQ(status.at("counters").at("enqueued"), 1);
  EXPECT_EQ(status.at("transports").at(0).at("name"), "shm");
  EXPECT_EQ(status.at("transports").at(0).at("lanes"), json({"shm read", "shm write"}));
  EXPECT_EQ(status.at("transports").at(0).at("workers"), 2);
  EXPECT_FALSE(status.at("transports").at(0).contains("paced_bytes_per_second"));
  EXPECT_EQ(status.at("warnings"), json({"memlock is small"}));
}

TEST(StatusQuery, TellsThatLanesArePaced) {
  FakeHost host;
  host.daemon_view.shm_paced_bytes_per_second = 500'000'000;
  const json status = document(ask(host, QueryKind::status));
  EXPECT_EQ(status.at("transports").at(0).at("paced_bytes_per_second"), 500'000'000);
}

TEST(StatusQuery, TellsLatenciesByClassAndWhereMetricsAre) {
  FakeHost host;
  EXPECT_TRUE(document(ask(host, QueryKind::status)).at("metrics").is_null());
  EXPECT_TRUE(document(ask(host, QueryKind::status)).at("peers").is_null());
  host.daemon_view.metrics = "127.0.0.1:9464";
  host.daemon_view.peers = "0.0.0.0:7471";
  for (int i = 0; i < 100; ++i) {
    // 98 wait for 3 us; two wait for 100 us, of which one is never dispatched.
    const Time left = time_from_ns(i < 98 ? 4'000 : 101'000);
    host.latencies.ended(ClassId::foreground, time_from_ns(1'000), i < 99 ? left : Time{},
                         i < 99 ? left + std::chrono::microseconds{50} : left);
  }
  const json status = document(ask(host, QueryKind::status));
  EXPECT_EQ(status.at("metrics"), "127.0.0.1:9464");
  EXPECT_EQ(status.at("peers"), "0.0.0.0:7471");
  const json wait = status.at("latency").at("foreground").at("wait");
  EXPECT_EQ(wait, json({{"owners", 100}, {"p50_ns", 3'072}, {"p99_ns", 114'688}}));
  const json transport = status.at("latency").at("foreground").at("transport");
  EXPECT_EQ(transport, json({{"owners", 99}, {"p50_ns", 57'344}, {"p99_ns", 57'344}}));
  const json none = {{"owners", 0}, {"p50_ns", 0}, {"p99_ns", 0}};
  EXPECT_EQ(status.at("latency").at("background").at("wait"), none);
  EXPECT_EQ(status.at("latency").size(), kClassCount);
}

TEST(StatusQuery, CountsRefusalsByTheirReason) {
  FakeHost host;
  const SessionId session = host.add_client("engine", kAlice);
  host.submit(session, ClassId::standard, std::uint64_t{1} << 40);
  const json counters = document(ask(host, QueryKind::status)).at("counters");
  EXPECT_EQ(counters.at("rejected"), 1);
  EXPECT_EQ(counters.at("rejected_by_reason").size(), 1u);
}

TEST(OwnersQuery, ListsOldestFirstAndFilters) {
  FakeHost host;
  const SessionId alice = host.add_client("alice", kAlice);
  const SessionId bob = host.add_client("bob", kBob);
  host.submit(alice, ClassId::foreground, 4096);
  host.advance(std::chrono::microseconds{3});
  host.submit(bob, ClassId::background, 8192);
  json owners = document(ask(host, QueryKind::owners)).at("owners");
  ASSERT_EQ(owners.size(), 2u);
  EXPECT_EQ(owners[0].at("client_name"), "alice");
  EXPECT_EQ(owners[0].at("age_ns"), 3000);
  EXPECT_EQ(owners[0].at("state"), "queued");
  EXPECT_EQ(owners[0].at("lane"), "shm read");
  EXPECT_TRUE(owners[0].at("deadline_in_ns").is_null());
  EXPECT_EQ(owners[1].at("class"), "background");
  EXPECT_EQ(document(ask(host, QueryKind::owners, "client=bob")).at("owners").size(), 1u);
  EXPECT_EQ(document(ask(host, QueryKind::owners, "client=100")).at("owners").size(), 1u);
  EXPECT_EQ(document(ask(host, QueryKind::owners, "state=submitted")).at("owners").size(), 0u);
  EXPECT_EQ(document(ask(host, QueryKind::owners, "state=queued client=alice")).at("owners").size(),
            1u);
  host.dispatch();
  owners = document(ask(host, QueryKind::owners, "state=submitted")).at("owners");
  EXPECT_EQ(owners.size(), 2u);
}

TEST(OwnersQuery, SaysWhenThereAreMore) {
  FakeHost host;
  const SessionId session = host.add_client("engine", kAlice);
  for (int i = 0; i < 3; ++i) host.submit(session, ClassId::standard, 4096);
  json answer = document(ask(host, QueryKind::owners, "most=2"));
  EXPECT_EQ(answer.at("owners").size(), 2u);
  EXPECT_EQ(answer.at("more"), true);
  answer = document(ask(host, QueryKind::owners, "most=3"));
  EXPECT_EQ(answer.at("more"), false);
  EXPECT_EQ(ask(host, QueryKind::owners, "most=0").status, StatusCode::invalid_argument);
  EXPECT_EQ(ask(host, QueryKind::owners, "most=1001").status, StatusCode::invalid_argument);
}

TEST(OwnersQuery, RefusesUnknownFilters) {
  FakeHost host;
  EXPECT_EQ(ask(host, QueryKind::owners, "state=happy").status, StatusCode::invalid_argument);
  EXPECT_EQ(ask(host, QueryKind::owners, "state=free").status, StatusCode::invalid_argument);
  EXPECT_EQ(ask(host, QueryKind::owners, "client=nobody").status, StatusCode::not_found);
  EXPECT_EQ(ask(host, QueryKind::owners, "colour=red").status, StatusCode::invalid_argument);
  EXPECT_EQ(ask(host, QueryKind::owners, "client=").status, StatusCode::invalid_argument);
  EXPECT_EQ(ask(host, QueryKind::owners, "state=queued state=queued").status,
            StatusCode::invalid_argument);
  EXPECT_EQ(ask(host, static_cast<QueryKind>(99)).status, StatusCode::invalid_argument);
}

TEST(ExplainQuery, NamesTheFullWindow) {
  FakeHost host;
  const SessionId session = host.add_client("engine", kAlice);
  host.submit(session, ClassId::foreground, 16 * test::kWindowBytes);
  host.dispatch();
  const json explained =
      document(ask(host, QueryKind::explain, "owner=" + std::to_string(first_owner(host))));
  EXPECT_EQ(explained.at("waits_for"), "window");
  // With the two chunks that foreground may have beyond the window.
  EXPECT_EQ(explained.at("lane_window_bytes"), test::kWindowBytes + 2 * test::kChunkBytes);
  EXPECT_EQ(explained.at("lane_in_flight_bytes"), test::kWindowBytes + 2 * test::kChunkBytes);
  EXPECT_NE(explained.at("text").get<std::string>().find("shm read"), std::string::npos);
}

TEST(ExplainQuery, RefusesWhatIsNoOwner) {
  FakeHost host;
  EXPECT_EQ(ask(host, QueryKind::explain, "owner=12345").status, StatusCode::not_found);
  EXPECT_EQ(ask(host, QueryKind::explain, "owner=0x12").status, StatusCode::invalid_argument);
  EXPECT_EQ(ask(host, QueryKind::explain, "owner=99999999999999999999").status,
            StatusCode::invalid_argument);
  EXPECT_EQ(ask(host, QueryKind::explain).status, StatusCode::invalid_argument);
}

TEST(QueryRights, ClientsSeeTotalsAndTheirOwnOwnersOnly) {
  FakeHost host;
  const SessionId alice = host.add_client("alice", kAlice);
  const SessionId bob = host.add_client("bob", kBob);
  host.submit(alice, ClassId::foreground, 4096);
  host.submit(bob, ClassId::foreground, 4096);
  const std::uint64_t of_alice = first_owner(host);
  const Caller caller{kBob, false, {}};
  EXPECT_EQ(document(ask(host, QueryKind::queue, {}, caller)).at("total").at("depth"), 2);
  EXPECT_EQ(ask(host, QueryKind::status, {}, caller).status, StatusCode::ok);
  const json owners = document(ask(host, QueryKind::owners, {}, caller));
  ASSERT_EQ(owners.at("owners").size(), 1u);
  EXPECT_EQ(owners.at("owners").at(0).at("client_name"), "bob");
  EXPECT_EQ(owners.at("only_own"), true);
  EXPECT_EQ(document(ask(host, QueryKind::clients, {}, caller)).at("clients").size(), 1u);
  EXPECT_EQ(document(ask(host, QueryKind::queue, "by=client", caller)).at("clients").size(), 1u);
  for (const QueryAnswer& refused :
       {ask(host, QueryKind::explain, "owner=" + std::to_string(of_alice), caller),
        ask(host, QueryKind::owners, "client=alice", caller)}) {
    EXPECT_EQ(refused.status, StatusCode::not_permitted);
    EXPECT_NE(refused.text.find("admin.sock"), std::string::npos);
  }
}

TEST(QueryRights, AnAttachedClientSeesItsOwnSessionUnderAnyUid) {
  FakeHost host;
  const SessionId session = host.add_client("mapped", kAlice);
  host.submit(session, ClassId::foreground, 4096);
  const Caller caller{kBob, false, session};
  EXPECT_EQ(document(ask(host, QueryKind::owners, {}, caller)).at("owners").size(), 1u);
}

TEST(QueryRights, SegmentsOfOthersAreHidden) {
  FakeHost host;
  SegmentView segment;
  segment.name = "store-0";
  segment.uid = kAlice;
  segment.incarnation = 0xab;
  segment.regions.push_back({4096, 65536, "read", "same uid", "none", 2, true});
  host.segment_views.push_back(segment);
  const json all = document(ask(host, QueryKind::segments));
  EXPECT_EQ(all.at("segments").at(0).at("registered_bytes"), 65536);
  EXPECT_EQ(all.at("segments").at(0).at("state"), "held");
  EXPECT_TRUE(all.at("segments").at(0).at("client").is_null());
  EXPECT_EQ(document(ask(host, QueryKind::segments, {}, {kBob, false, {}})).at("segments").size(),
            0u);
}

TEST(ClientsQuery, ShowsViolationsByKind) {
  FakeHost host;
  host.add_client("rogue", kAlice);
  ClientView& view = host.client_views.front();
  view.violations[static_cast<std::size_t>(Violation::bad_slot)] = 3;
  view.violations[static_cast<std::size_t>(Violation::over_credit)] = 1;
  view.quarantined = true;
  view.last_error = "bad slot";
  const json row = document(ask(host, QueryKind::clients)).at("clients").at(0);
  EXPECT_EQ(row.at("violations"), 4);
  EXPECT_EQ(row.at("violations_by_kind"), json({{"bad_slot", 3}, {"over_credit", 1}}));
  EXPECT_EQ(row.at("state"), "quarantined");
  EXPECT_EQ(row.at("classes"), json({"foreground", "default", "prefetch", "background"}));
}

TEST(ErrorsQuery, ListsCausesWithAgesAndRemedies) {
  FakeHost host;
  host.errors.report(LogLevel::error, "shm.fault", "page is gone", "register again", host.now());
  host.advance(std::chrono::seconds{2});
  const json errors = document(ask(host, QueryKind::errors));
  EXPECT_EQ(errors.at("total"), 1);
  EXPECT_EQ(errors.at("errors").at(0).at("last_age_ns"), 2'000'000'000);
  EXPECT_EQ(errors.at("errors").at(0).at("remedy"), "register again");
}

// A document must never fail to be written, whatever bytes a view holds.
TEST(QueryDocuments, SurviveTextThatIsNotUtf8) {
  FakeHost host;
  host.add_client("x", kAlice);
  host.client_views.front().last_error = "\xff\xfe\x01";
  EXPECT_EQ(ask(host, QueryKind::clients).status, StatusCode::ok);
}

TEST(QueryNames, EveryViolationHasItsOwnName) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kViolationCount; ++i) {
    const std::string_view name = to_string(static_cast<Violation>(i));
    EXPECT_NE(name, "unknown");
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 0) << name;
    names.push_back(name);
  }
}

}  // namespace
}  // namespace tentq
