// Attached clients that do nothing cost nothing: the daemon sleeps, and wakes for the first request
// after any pause.
#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/support/proc.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals
using Clock = std::chrono::steady_clock;

class Idle : public DaemonFixture {};

TEST_F(Idle, FiftyAttachedClientsCostNothing) {
  start();
  std::vector<std::unique_ptr<Exporter>> clients;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(std::make_unique<Exporter>(
        socket(), ExporterOptions{.name = "idle" + std::to_string(i), .bytes = 64_KiB}));
  }
  const auto rows = ask(QueryKind::clients).at("clients");
  ASSERT_EQ(rows.size(), 50u);
  const nlohmann::json before = ask(QueryKind::status);
  const ProcessFacts daemon_before = facts_of(daemon().pid());
  const ProcessFacts client_before = facts_of(clients[0]->pid());
  const auto begin = Clock::now();
  // A measured pause, on a socket that says nothing.
  pollfd silent{-1, 0, 0};
  ::poll(&silent, 1, 3'000);
  const auto seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const ProcessFacts daemon_after = facts_of(daemon().pid());
  const ProcessFacts client_after = facts_of(clients[0]->pid());
  const nlohmann::json after = ask(QueryKind::status);
  const auto turns =
      after.at("turns").get<std::uint64_t>() - before.at("turns").get<std::uint64_t>();
  // Two queries spin for a moment each; otherwise about ten safety polls a second.
  const auto sleeps =
      after.at("sleeps").get<std::uint64_t>() - before.at("sleeps").get<std::uint64_t>();
  EXPECT_LT(static_cast<double>(sleeps) / seconds, 40);
  RecordProperty("turns", std::to_string(turns));
  // Steps of 10 ms: at most 1 % of a core and two steps.
  EXPECT_LE(daemon_after.cpu_ns - daemon_before.cpu_ns, 30'000'000u + 20'000'000u);
  EXPECT_LE(client_after.cpu_ns - client_before.cpu_ns, 20'000'000u);
  for (auto& client : clients) EXPECT_EQ(client->stop(), 0);
}

// One request after each pause, from a client that the daemon has parked, with every way to wait.
TEST_F(Idle, TheFirstRequestAfterAPauseIsServedAtOnce) {
  start();
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_KiB);
  std::vector<std::chrono::nanoseconds> times;
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(eventually(kLong, [&] { return client_row("engine").at("state") == "parked"; }));
    const auto begin = Clock::now();
    must_complete(client, write_to(segment, 0, memory.bytes().first(64)));
    times.push_back(Clock::now() - begin);
  }
  std::sort(times.begin(), times.end());
  // Far below the safety poll of 100 ms, which would hide a missed wake-up.
  EXPECT_LT(times[times.size() / 2], std::chrono::milliseconds{20});
  expect_idle();
  EXPECT_EQ(store.stop(), 0);
}

// Wake-ups race with falling asleep: small pauses of random length around the park time.
TEST_F(Idle, NoWakeUpIsMissedAroundTheMomentOfParking) {
  start({{"loop", {{"session_park", "20us"}, {"spin", "5us"}, {"safety_poll", "1s"}}}});
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_KiB);
  const auto until = Clock::now() + std::chrono::seconds{5};
  std::uint64_t rounds = 0;
  std::chrono::nanoseconds longest{0};
  while (Clock::now() < until) {
    const auto begin = Clock::now();
    must_complete(client, write_to(segment, 0, memory.bytes().first(64)));
    longest = std::max<std::chrono::nanoseconds>(longest, Clock::now() - begin);
    const auto pause = std::chrono::nanoseconds(rounds++ * 7'919 % 60'000);
    const timespec time{0, pause.count()};
    ::ppoll(nullptr, 0, &time, nullptr);
  }
  EXPECT_GT(rounds, 100u);
  EXPECT_LT(longest, std::chrono::milliseconds{900}) << "only the safety poll found it";
  EXPECT_EQ(store.stop(), 0);
}

}  // namespace
}  // namespace tentq::test
