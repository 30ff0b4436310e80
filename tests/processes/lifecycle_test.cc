// Start, stop and reload of the daemon: signals, the single instance, what a killed one leaves
// behind, and exit codes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <vector>

#include "proto/status_page.h"
#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/load.h"
#include "tests/processes/pattern.h"
#include "tests/support/program.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

class Lifecycle : public DaemonFixture {
 protected:
  // A second daemon with the same configuration.
  Outcome second_instance() {
    return run_program({find_daemon_binary(""), "--config", daemon().config_path()});
  }
};

class Draining : public Lifecycle {
 protected:
  void start_slow(const nlohmann::json& more = nlohmann::json::object()) {
    nlohmann::json config = narrow_lanes();
    config.merge_patch(more);
    start(config);
  }
  // Owners of 16 MiB each.
  Batch submit_much(Client& client, SegmentId segment, Memory& memory, std::uint32_t owners) {
    return submit_again_and_again(client, write_to(segment, 0, memory.bytes()), owners);
  }
};

TEST_F(Draining, SigtermFinishesWhatIsQueuedAndTakesNothingNew) {
  start_slow();
  Exporter store(socket(), {.bytes = 16_MiB});
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 16_MiB);
  fill_pattern(memory.bytes(), 4);
  // They are all in the ring when the signal comes, and few of them taken.
  constexpr std::uint32_t kOwners = 200;
  Batch batch = submit_much(client, segment, memory, kOwners);
  daemon().signal(SIGTERM);
  // Accepted before it has seen the signal, then refused until it has ended.
  std::uint64_t draining = 0;
  Batch more = need(client.allocate_batch(10'000), "allocate_batch");
  const Request small = write_to(segment, 0, memory.bytes().first(64));
  while (!batch.done() && more.tasks() < more.capacity()) {
    const Status status = client.submit(more, std::span(&small, 1));
    if (status.code() == Code::draining) {
      ++draining;
      EXPECT_TRUE(status.may_retry());
    }
    (void)batch.wait(std::chrono::milliseconds{1});
  }
  EXPECT_GT(draining, 0u);
  EXPECT_TRUE(batch.done());
  EXPECT_EQ(batch.overall().completed, kOwners);
  EXPECT_EQ(daemon().wait(kLong), 0) << daemon().log();
  EXPECT_EQ(store.differences(4, 0, 16_MiB), 0u);
  EXPECT_EQ(batch.overall().completed, kOwners);
  daemon_has_ended();
}

TEST_F(Draining, ASecondSigtermCancelsWhatIsQueued) {
  start_slow();
  Exporter store(socket(), {.bytes = 16_MiB});
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 16_MiB);
  Batch batch = submit_much(client, segment, memory, 4'000);  // seconds of work
  daemon().signal(SIGTERM);
  ASSERT_TRUE(eventually(kLong, [&] { return ask(QueryKind::status).at("state") == "draining"; }));
  daemon().signal(SIGTERM);
  EXPECT_EQ(daemon().wait(std::chrono::seconds{20}), 0) << daemon().log();
  EXPECT_TRUE(batch.wait(kLong).ok() || !client.attached());
  EXPECT_GT(batch.overall().canceled, 0u);
  EXPECT_EQ(batch.overall().failed, 0u);
  daemon_has_ended();
}

TEST_F(Draining, EndsByItsTimeLimit) {
  start_slow({{"drain_timeout", "200ms"}});
  Exporter store(socket(), {.bytes = 16_MiB});
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 16_MiB);
  Batch batch = submit_much(client, segment, memory, 4'000);
  const auto begin = Clock::now();
  daemon().signal(SIGTERM);
  EXPECT_EQ(daemon().wait(std::chrono::seconds{30}), 0) << daemon().log();
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds{150});
  EXPECT_GT(batch.overall().canceled, 0u);
  EXPECT_NE(daemon().log().find("drain_timeout"), std::string::npos);
  daemon_has_ended();
}

TEST_F(Lifecycle, AnIdleDaemonStopsAtOnce) {
  start();
  std::vector<std::unique_ptr<Exporter>> idle;
  for (int i = 0; i < 4; ++i) {
    idle.push_back(
        std::make_unique<Exporter>(socket(), ExporterOptions{.name = "idle" + std::to_string(i)}));
  }
  const auto begin = Clock::now();
  EXPECT_EQ(daemon().stop(), 0);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds{2});
  daemon_has_ended();
}

TEST_F(Lifecycle, SigtermWhileMemoryIsBeingRegisteredEndsWell) {
  start();
  Role role("registering", std::chrono::seconds{60}, [&](RoleChannel& channel) {
    Client client = attach(socket(), "registering");
    channel.send(std::uint64_t{0});
    for (;;) {
      if (!client.allocate(16_MiB).ok()) break;
    }
    (void)channel.receive<std::uint64_t>(kLong);
    return 0;
  });
  ASSERT_TRUE(role.channel().receive<std::uint64_t>(kLong));
  daemon().signal(SIGTERM);
  EXPECT_EQ(daemon().wait(kLong), 0) << daemon().log();
  role.kill();
  role.join(kLong);
  daemon_has_ended();
}

TEST_F(Lifecycle, ASecondInstanceIsRefusedNamingTheFirst) {
  start();
  for (int i = 0; i < 3; ++i) {
    const auto begin = Clock::now();
    const Outcome second = second_instance();
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds{5});
    EXPECT_EQ(second.exit_code, 1);
    EXPECT_NE(second.output.find(std::to_string(daemon().pid())), std::string::npos)
        << second.output;
  }
  // The first one is as before: its socket was not taken away.
  Client client = attach(socket(), "engine");
  EXPECT_TRUE(client.attached());
}

TEST_F(Lifecycle, FiftyKillsUnderLoadAndItStartsEachTime) {
  start();
  Exporter store(socket(), {.bytes = 2 * 64_KiB});
  Load load(socket(), {.clients = 2});
  std::vector<std::chrono::nanoseconds> starts;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(load.proceeds(1, kLong)) << "before kill " << i << "\n" << daemon().log();
    daemon().kill();
    const auto begin = Clock::now();
    daemon().start();
    starts.push_back(Clock::now() - begin);
  }
  std::sort(starts.begin(), starts.end());
  EXPECT_LT(starts[25], std::chrono::seconds{2});
  EXPECT_LT(starts[49], std::chrono::seconds{10});
  EXPECT_TRUE(load.proceeds(3, kLong));
  EXPECT_TRUE(load.stop());
  EXPECT_EQ(load.mismatches(), 0u);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Lifecycle, StaleFilesOfADeadOneDoNotBlockTheNext) {
  start();
  daemon().kill();
  EXPECT_TRUE(fs::exists(socket()));
  EXPECT_TRUE(fs::exists(daemon().directory() + "/tentqd.lock"));
  std::ofstream(daemon().directory() + "/tentqd.lock.pid") << "999999\n";
  std::ofstream(daemon().status_path()) << "not a status page";
  daemon().start();
  Client client = attach(socket(), "engine");
  EXPECT_TRUE(client.attached());
}

TEST_F(Lifecycle, ADamagedStartCounterIsSaidOrSurvived) {
  start();
  const std::uint64_t before = ask(QueryKind::status).at("epoch").at("counter");
  EXPECT_EQ(daemon().stop(), 0);
  daemon().start();
  EXPECT_EQ(ask(QueryKind::status).at("epoch").at("counter"), before + 1);
  EXPECT_EQ(daemon().stop(), 0);
  std::ofstream(daemon().directory() + "/starts", std::ios::trunc) << "nonsense";
  daemon().start();
  EXPECT_EQ(ask(QueryKind::status).at("state"), "running");
}

TEST_F(Lifecycle, ADeletedRuntimeDirectoryHurtsOnlyNewcomers) {
  start();
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_KiB);
  for (const std::string& path : {socket(), daemon().status_path()}) fs::remove(path);
  ConnectOptions options = connection(socket(), "newcomer");
  options.attach_timeout = std::chrono::milliseconds{100};
  EXPECT_EQ(Client::connect(options).status().code(), Code::daemon_gone);
  fill_pattern(memory.bytes(), 1);
  must_complete(client, write_to(segment, 0, memory.bytes()));
  EXPECT_EQ(store.differences(1, 0, 64_KiB), 0u);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Lifecycle, TheStatusPageOutlivesAKilledDaemon) {
  start();
  Exporter store(socket());
  {
    Client client = attach(socket(), "engine");
    const Segment segment = need(client.open_segment("store"), "open_segment");
    Memory memory = allocate_at(client, 64_KiB);
    must_complete(client, write_to(segment, 0, memory.bytes()));
  }
  const auto pid = static_cast<std::uint32_t>(daemon().pid());
  const auto page_shows_it = [&] {
    std::ifstream file(daemon().status_path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (bytes.size() != sizeof(StatusPage)) return false;
    auto page = std::make_unique<StatusPage>();
    std::memcpy(static_cast<void*>(page.get()), bytes.data(), bytes.size());
    if (page->magic != kStatusPageMagic || page->layout_hash != kStatusPageHash) return false;
    for (const StatusPageCopy& copy : page->copies) {
      StatusPageBody body;
      if (load_status(copy, &body) && body.pid == pid && body.completed == 1 &&
          body.socket_path.view() == socket()) {
        return true;
      }
    }
    return false;
  };
  EXPECT_TRUE(eventually(kLong, page_shows_it));
  daemon().kill();
  EXPECT_TRUE(page_shows_it());
  daemon().start();
  EXPECT_EQ(store.stop(), 0);
}

}  // namespace
}  // namespace tentq::test
