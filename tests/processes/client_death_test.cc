// Clients that die by SIGKILL at the worst moments: everything they had comes back, nobody else
// notices, and their name can be taken at once by the next life.
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/load.h"
#include "tests/processes/pattern.h"
#include "tests/processes/raw_session.h"
#include "tests/support/proc.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals
using Clock = std::chrono::steady_clock;

class ClientDeath : public DaemonFixture {
 protected:
  // Sessions and regions of the living alone, and nothing outstanding.
  bool only_left(std::size_t sessions) const {
    const nlohmann::json status = ask(QueryKind::status);
    return status.at("sessions") == sessions && status.at("outstanding").at("owners") == 0 &&
           status.at("outstanding").at("bytes") == 0;
  }
};

// A client that submits `owners` small requests and then `large` ones of 1 MiB, says so, and goes
// on submitting until it is killed.
int submit_and_wait_for_death(const std::string& socket, const std::string& name,
                              std::size_t owners, std::size_t large, RoleChannel& channel) {
  Client client = attach(socket, name);
  const Segment store = need(client.open_segment("bulk"), "open_segment");
  Memory memory = allocate_at(client, 2_MiB);
  Batch batch = need(client.allocate_batch(static_cast<std::uint32_t>(owners + large)), "batch");
  const Request bulk = write_to(store, 0, memory.bytes().first(1_MiB));
  for (std::size_t i = 0; i < large; ++i) {
    need(client.submit_wait(batch, std::span(&bulk, 1), {}, kLong), "submit");
  }
  std::vector<Request> requests;
  for (std::size_t i = 0; i < 250; ++i) {
    requests.push_back(write_to(store, 4_KiB * i, memory.bytes().subspan(4_KiB * i, 1_KiB)));
  }
  for (std::size_t i = 0; i < owners; i += requests.size()) {
    need(client.submit_wait(batch, requests, {}, kLong), "submit");
  }
  channel.send(std::uint64_t{batch.overall().pending});
  for (;;) {
    Batch more = need(client.allocate_batch(250), "allocate_batch");
    (void)client.submit(more, requests);
    (void)more.wait(kLong);
    client.free_batch(more);
  }
}

TEST_F(ClientDeath, WithAThousandQueuedAndMuchInFlightCostsNobodyElse) {
  // A narrow lane, so that the thousand really wait behind the 64 MiB.
  start({{"shm", {{"window_bytes", "64KiB"}, {"window_chunks", 1}, {"chunk_bytes", "64KiB"}}},
         {"policy", "fifo"}});
  Exporter bulk(socket(), {.name = "bulk", .bytes = 1_MiB});
  Exporter store(socket(), {.bytes = 8 * 64_KiB});
  Load load(socket(), {});
  Role victim("victim", std::chrono::seconds{120}, [&](RoleChannel& channel) {
    return submit_and_wait_for_death(socket(), "victim", 1'000, 64, channel);
  });
  ASSERT_TRUE(load.proceeds(5, kLong));
  const auto pending = victim.channel().receive<std::uint64_t>(kLong);
  ASSERT_TRUE(pending);
  EXPECT_GT(*pending, 0u);
  victim.kill();
  EXPECT_EQ(victim.join(kLong), -SIGKILL);
  const auto died = Clock::now();
  EXPECT_TRUE(eventually(kLong, [&] { return client_row("victim").is_null(); }));
  const auto back = Clock::now() - died;
  RecordProperty(
      "charges_back_us",
      static_cast<int>(std::chrono::duration_cast<std::chrono::microseconds>(back).count()));
  EXPECT_LT(back, std::chrono::seconds{2});
  EXPECT_TRUE(load.proceeds(20, kLong));
  EXPECT_TRUE(load.stop());
  EXPECT_EQ(load.mismatches(), 0u);
  EXPECT_EQ(load.failures(), 0u);
  EXPECT_TRUE(eventually(kLong, [&] { return only_left(2); }));
  EXPECT_EQ(ask(QueryKind::status).at("reaped_clients"), 1);
  EXPECT_EQ(bulk.stop(), 0);
  EXPECT_EQ(store.stop(), 0);
}

// Without others at work: from the death to the last charge.
TEST_F(ClientDeath, ChargesAreBackWithinAHundredMilliseconds) {
  start(narrow_lanes());
  Exporter bulk(socket(), {.name = "bulk", .bytes = 1_MiB});
  std::vector<std::chrono::nanoseconds> times;
  for (int round = 0; round < 9; ++round) {
    Role victim("victim", std::chrono::seconds{120}, [&](RoleChannel& channel) {
      return submit_and_wait_for_death(socket(), "victim", 1'000, 64, channel);
    });
    ASSERT_TRUE(victim.channel().receive<std::uint64_t>(kLong));
    victim.kill();
    victim.join(kLong);
    const auto died = Clock::now();
    ASSERT_TRUE(eventually(kLong, [&] { return only_left(1); }));
    times.push_back(Clock::now() - died);
  }
  std::sort(times.begin(), times.end());
  // The median: a busy machine may hold up single rounds.
  EXPECT_LT(times[4], std::chrono::milliseconds{100});
  EXPECT_EQ(bulk.stop(), 0);
}

TEST_F(ClientDeath, TwoHundredDeathsLeaveNothingInTheDaemon) {
  start();
  Exporter bulk(socket(), {.name = "bulk", .bytes = 1_MiB});
  const auto one_death = [&](int round) {
    Role victim("victim", std::chrono::seconds{120}, [&](RoleChannel& channel) {
      return submit_and_wait_for_death(socket(), "victim", 250, round % 2 == 0 ? 16 : 0, channel);
    });
    ASSERT_TRUE(victim.channel().receive<std::uint64_t>(kLong)) << round;
    victim.kill();
    victim.join(kLong);
  };
  const auto settled = [&](const ProcessFacts& goal) {
    return eventually(kLong, [&] {
      const ProcessFacts now = facts_of(daemon().pid());
      return now.fds <= goal.fds && now.memfds <= goal.memfds &&
             now.memfd_maps <= goal.memfd_maps && now.threads <= goal.threads;
    });
  };
  for (int i = 0; i < 5; ++i) one_death(i);  // lazily made threads and tables exist by now
  ASSERT_TRUE(eventually(kLong, [&] { return only_left(1); }));
  const ProcessFacts before = facts_of(daemon().pid());
  for (int i = 0; i < 200; ++i) one_death(i);
  ASSERT_TRUE(eventually(kLong, [&] { return only_left(1); }));
  EXPECT_TRUE(settled(before)) << "before: " << before.to_string()
                               << "\nafter: " << facts_of(daemon().pid()).to_string();
  const nlohmann::json status = ask(QueryKind::status);
  EXPECT_EQ(status.at("reaped_clients"), 205);
  EXPECT_EQ(status.at("regions"), 1);
  EXPECT_EQ(status.at("registered_bytes"), 1_MiB);
  EXPECT_EQ(bulk.stop(), 0);
}

TEST_F(ClientDeath, TheNextLifeTakesTheNameAtOnce) {
  start();
  Exporter bulk(socket(), {.name = "bulk", .bytes = 1_MiB});
  std::uint64_t last_id = 0;
  for (int life = 0; life < 150; ++life) {
    Role client("reborn", std::chrono::seconds{60}, [&](RoleChannel& channel) {
      const auto begin = Clock::now();
      Client self = attach(socket(), "reborn");
      channel.send(std::uint64_t{self.id()});
      channel.send(std::chrono::nanoseconds(Clock::now() - begin));
      (void)channel.receive<std::uint64_t>(kLong);
      return 0;
    });
    const auto id = client.channel().receive<std::uint64_t>(kLong);
    ASSERT_TRUE(id) << "life " << life << " did not attach; log:\n" << daemon().log();
    EXPECT_GT(*id, last_id);
    last_id = *id;
    client.kill();
    client.join(kLong);
  }
  ASSERT_TRUE(eventually(kLong, [&] { return only_left(1); }));
  EXPECT_EQ(bulk.stop(), 0);
}

// Giving back much memory takes the kernel long; nobody waits for it.
TEST_F(ClientDeath, OfALargeClientHoldsUpNeitherAnswersNorNewcomers) {
  start();
  Exporter bulk(socket(), {.name = "bulk", .bytes = 1_MiB});
  for (int round = 0; round < 3; ++round) {
    Role large("large", std::chrono::seconds{120}, [&](RoleChannel& channel) {
      Client client = attach(socket(), "large");
      std::vector<Memory> memories;
      for (int i = 0; i < 8; ++i) memories.push_back(need(client.allocate(64_MiB), "allocate"));
      const Segment store = need(client.open_segment("bulk"), "open_segment");
      Batch batch = need(client.allocate_batch(4'000), "allocate_batch");
      std::vector<Request> requests;
      for (std::size_t i = 0; i < 500; ++i) {
        requests.push_back(write_to(store, 0, memories[i % 8].bytes().first(256_KiB)));
      }
      need(client.submit_wait(batch, requests, {.merge = false}, kLong), "submit");
      channel.send(std::uint64_t{0});
      (void)channel.receive<std::uint64_t>(kLong);
      return 0;
    });
    ASSERT_TRUE(large.channel().receive<std::uint64_t>(kLong));
    large.kill();
    std::chrono::nanoseconds longest{0};
    do {
      const auto begin = Clock::now();
      Client newcomer = attach(socket(), "newcomer");
      longest = std::max<std::chrono::nanoseconds>(longest, Clock::now() - begin);
    } while (!client_row("large").is_null());
    large.join(kLong);
    EXPECT_LT(longest, std::chrono::seconds{1});
    EXPECT_TRUE(eventually(kLong, [&] { return only_left(1); }));
  }
  EXPECT_EQ(bulk.stop(), 0);
}

// The daemon may be answering while a client detaches: its GOODBYE counts all the same.
TEST_F(ClientDeath, ADetachWithUnreadAnswersIsNoDeath) {
  start();
  for (int i = 0; i < 200; ++i) {
    RawSession session(socket(), proper_hello("polite"));
    for (int question = 0; question < i % 8; ++question) {
      auto message = make_message<OpenSegment>(1);
      message.name.assign("nobody");
      ASSERT_TRUE(session.connection().send(message));
    }
    ASSERT_TRUE(session.connection().send(make_message<Goodbye>()));
  }
  ASSERT_TRUE(eventually(kLong, [&] { return only_left(0); }));
  EXPECT_EQ(ask(QueryKind::status).at("reaped_clients"), 0);
}

TEST_F(ClientDeath, ALivingHolderKeepsItsName) {
  start();
  Exporter store(socket());
  const auto second = Client::connect(connection(socket(), "store"));
  EXPECT_EQ(second.status().code(), Code::name_in_use);
  EXPECT_FALSE(second.status().text().empty());
  store.fill(1, 0, 64);
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 4_KiB);
  must_complete(client, read_from(segment, 0, memory.bytes().first(64)));
  EXPECT_EQ(pattern_differences(memory.bytes().first(64), 1), 0u);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(ClientDeath, ManyAtOneInstantLeaveTheOthersAtWork) {
  start();
  Exporter bulk(socket(), {.name = "bulk", .bytes = 1_MiB});
  Exporter store(socket(), {.bytes = 4 * 64_KiB});
  Load load(socket(), {.clients = 4});
  for (int round = 0; round < 10; ++round) {
    std::vector<std::unique_ptr<Role>> victims;
    for (int i = 0; i < 32; ++i) {
      const std::string name = "victim" + std::to_string(i);
      victims.push_back(
          std::make_unique<Role>(name, std::chrono::seconds{120}, [&, name](RoleChannel& channel) {
            return submit_and_wait_for_death(socket(), name, 250, 4, channel);
          }));
    }
    for (auto& victim : victims) {
      ASSERT_TRUE(victim->channel().receive<std::uint64_t>(kLong)) << victim->name();
    }
    for (auto& victim : victims) victim->kill();
    for (auto& victim : victims) victim->join(kLong);
    ASSERT_TRUE(eventually(kLong, [&] { return ask(QueryKind::status).at("sessions") == 6; }));
  }
  EXPECT_TRUE(load.proceeds(10, kLong));
  EXPECT_TRUE(load.stop());
  EXPECT_EQ(load.mismatches(), 0u);
  EXPECT_EQ(load.failures(), 0u);
  EXPECT_EQ(bulk.stop(), 0);
  EXPECT_EQ(store.stop(), 0);
}

// A stopped process is slow, not dead: it keeps its session, its name, its memory and its work.
TEST_F(ClientDeath, AStoppedClientIsNotDead) {
  start();
  Exporter store(socket());
  Exporter others_store(socket(), {.name = "others", .bytes = 2 * 64_KiB});
  Load load(socket(), {.store = "others", .clients = 2});
  Role slow("slow", std::chrono::seconds{120}, [&](RoleChannel& channel) {
    Client client = attach(socket(), "slow");
    const Segment segment = need(client.open_segment("store"), "open_segment");
    Memory memory = allocate_at(client, 1_MiB);
    fill_pattern(memory.bytes(), 8);
    channel.send(std::uint64_t{0});
    // Stopped while it submits; it goes on where it was.
    for (int i = 0; i < 300; ++i) must_complete(client, write_to(segment, 0, memory.bytes()));
    return client.reattaches() == 0 ? 0 : 2;
  });
  ASSERT_TRUE(slow.channel().receive<std::uint64_t>(kLong));
  const std::uint64_t id = client_row("slow").at("client");
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(::kill(slow.pid(), SIGSTOP), 0);
    ASSERT_TRUE(eventually(
        kLong, [&] { return state_of(slow.pid()) == 'T' || state_of(slow.pid()) == 'Z'; }));
    ASSERT_TRUE(load.proceeds(20, kLong));
    if (state_of(slow.pid()) == 'T') {
      EXPECT_EQ(client_row("slow").at("client"), id);
    }
    ::kill(slow.pid(), SIGCONT);
  }
  EXPECT_EQ(slow.join(kLong), 0);
  EXPECT_EQ(store.differences(8, 0, 1_MiB), 0u);
  EXPECT_TRUE(load.stop());
  EXPECT_EQ(load.mismatches(), 0u);
  EXPECT_EQ(store.stop(), 0);
  EXPECT_EQ(others_store.stop(), 0);
}

TEST_F(ClientDeath, AnExporterThatDiesEndsTheWorkOfOthersWithPeerLost) {
  start(narrow_lanes());
  Exporter store(socket(), {.bytes = 16_MiB});
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 16_MiB);
  Batch batch = need(client.allocate_batch(16), "allocate_batch");
  const Request request = write_to(segment, 0, memory.bytes());
  for (int i = 0; i < 16; ++i) {
    need(client.submit_wait(batch, std::span(&request, 1), {}, kLong), "submit");
  }
  store.kill();
  store.join();
  // What was admitted goes on into the memory that the daemon still holds; later calls fail.
  EXPECT_TRUE(batch.wait(kLong).ok());
  EXPECT_EQ(batch.overall().pending, 0u);
  ASSERT_TRUE(eventually(kLong, [&] { return client_row("store").is_null(); }));
  const BatchStatus late = transfer(client, request);
  EXPECT_EQ(late.state, State::failed);
  EXPECT_EQ(late.reason, TaskReason::peer_lost);
  EXPECT_TRUE(eventually(kLong, [&] { return ask(QueryKind::status).at("regions") == 1; }));
}

}  // namespace
}  // namespace tentq::test
