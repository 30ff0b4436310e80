// Transfers between two hosts: every byte right, rights of the other host, and what a lost way
// means to who waits for it.
#include <gtest/gtest.h>

#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/load.h"
#include "tests/processes/pattern.h"
#include "tests/processes/two_hosts.h"

namespace tentq::test {
namespace {

using namespace std::chrono_literals;
using namespace tentq::size_literals;  // NOLINT: literals

Rights for_other_hosts(Access access) {
  Rights rights;
  rights.other_hosts = access;
  return rights;
}

class BetweenHosts : public TwoHosts {
 protected:
  ExporterOptions store(std::size_t bytes, Access access = Access::remote_read_write) {
    ExporterOptions options;
    options.bytes = bytes;
    options.rights = for_other_hosts(access);
    return options;
  }
};

TEST_F(BetweenHosts, ReadsAndWritesArriveByteForByte) {
  start();
  Exporter exporter(stores().socket(), store(8_MiB));
  exporter.fill(1, 0, 8_MiB);
  Client client = attach(engines().socket(), "engine");
  Memory memory = allocate_at(client, 8_MiB);
  const Segment segment = need(client.open_segment(this->segment("store")), "open_segment");
  for (const std::size_t length : {std::size_t{1}, std::size_t{63}, std::size_t{4096}, 100'001ul,
                                   std::size_t{1_MiB}, std::size_t{8_MiB} - 17}) {
    const std::span<std::byte> target = memory.bytes().subspan(5, length);
    ASSERT_EQ(transfer(client, {read_from(segment, 11, target)}).state, State::completed) << length;
    EXPECT_EQ(pattern_differences(target, 1, 11), 0u) << length;
  }
  fill_pattern(memory.bytes(), 2);
  ASSERT_EQ(transfer(client, {write_to(segment, 0, memory.bytes())}).state, State::completed);
  EXPECT_EQ(exporter.differences(2, 0, 8_MiB), 0u);
  EXPECT_EQ(exporter.stop(), 0);
}

// What `tentqctl peers` and `lanes` show.
TEST_F(BetweenHosts, BothHostsShowTheirLink) {
  start();
  Exporter exporter(stores().socket(), store(64_KiB));
  Client client = attach(engines().socket(), "engine");
  const Segment segment = need(client.open_segment(this->segment("store")), "open_segment");
  const auto peers_of = [](DaemonProcess& host) {
    return query(host.admin_socket(), QueryKind::peers).at("peers");
  };
  ASSERT_TRUE(eventually(kLong, [&] {
    const nlohmann::json peers = peers_of(engines());
    return peers.size() == 1 && peers[0].at("connections") == 2;
  }));
  const nlohmann::json ours = peers_of(engines())[0];
  EXPECT_EQ(ours.at("address"), stores_address());
  EXPECT_EQ(ours.at("dialed"), true);
  EXPECT_EQ(ours.at("accepted"), false);
  EXPECT_EQ(ours.at("away"), false);
  const nlohmann::json theirs = peers_of(stores())[0];
  EXPECT_EQ(theirs.at("accepted"), true);
  EXPECT_NE(ours.at("host"), theirs.at("host"));
  const nlohmann::json lanes = query(engines().admin_socket(), QueryKind::lanes).at("lanes");
  ASSERT_EQ(lanes.size(), 5u);
  EXPECT_EQ(lanes[2].at("lane"), "tcp read " + stores_address());
  EXPECT_EQ(lanes[2].at("transport"), "tcp");
  const nlohmann::json rows =
      query(engines().admin_socket(), QueryKind::queue, "by=peer").at("peers");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].at("peer"), stores_address());
  stores().kill();
  EXPECT_TRUE(eventually(kLong, [&] { return peers_of(engines())[0].at("away") == true; }));
  stores().start();
  EXPECT_TRUE(eventually(kLong, [&] { return peers_of(engines())[0].at("away") == false; }));
  EXPECT_EQ(peers_of(engines())[0].at("lost_links"), 1);
  EXPECT_EQ(exporter.stop(), 0);
}

TEST_F(BetweenHosts, ChecksumsGoWithPayloads) {
  start({{"tcp", {{"checksum", true}}}});
  Exporter exporter(stores().socket(), store(4_MiB));
  Client client = attach(engines().socket(), "engine");
  Memory memory = allocate_at(client, 4_MiB);
  const Segment segment = need(client.open_segment(this->segment("store")), "open_segment");
  fill_pattern(memory.bytes(), 3);
  ASSERT_EQ(transfer(client, {write_to(segment, 0, memory.bytes())}).state, State::completed);
  EXPECT_EQ(exporter.differences(3, 0, 4_MiB), 0u);
  std::fill(memory.bytes().begin(), memory.bytes().end(), std::byte{0});
  ASSERT_EQ(transfer(client, {read_from(segment, 0, memory.bytes())}).state, State::completed);
  EXPECT_EQ(pattern_differences(memory.bytes(), 3), 0u);
  EXPECT_EQ(exporter.stop(), 0);
}

TEST_F(BetweenHosts, OnlyWhatIsGivenToOtherHostsIsReached) {
  start();
  Exporter readable(stores().socket(), store(64_KiB, Access::remote_read));
  ExporterOptions own = store(64_KiB, Access::none);
  own.name = "private";
  Exporter exporter(stores().socket(), own);
  Client client = attach(engines().socket(), "engine");
  Memory memory = allocate_at(client, 64_KiB);
  EXPECT_EQ(client.open_segment(segment("private")).status().code(), Code::not_permitted);
  EXPECT_EQ(client.open_segment(segment("nobody")).status().code(), Code::not_found);
  const Segment segment = need(client.open_segment(this->segment("store")), "open_segment");
  const std::span<std::byte> block = memory.bytes().first(4096);
  EXPECT_EQ(transfer(client, {read_from(segment, 0, block)}).state, State::completed);
  const BatchStatus written = transfer(client, {write_to(segment, 0, block)});
  EXPECT_EQ(written.state, State::failed);
  EXPECT_EQ(written.reason, TaskReason::not_permitted);
  const BatchStatus outside = transfer(client, {read_from(segment, 64_KiB - 4095, block)});
  EXPECT_EQ(outside.state, State::failed);
  EXPECT_EQ(outside.reason, TaskReason::out_of_range);
  EXPECT_EQ(readable.stop(), 0);
  EXPECT_EQ(exporter.stop(), 0);
}

TEST_F(BetweenHosts, AHostWithoutADaemonIsNoRouteAfterTheBudget) {
  start({{"limits", {{"route_budget", "300ms"}}}});
  Client client = attach(engines().socket(), "engine");
  const Status status = client.open_segment("tentq://127.0.0.1:1/store").status();
  EXPECT_EQ(status.code(), Code::no_route);
  EXPECT_NE(status.to_string().find("127.0.0.1:1"), std::string::npos) << status.to_string();
}

TEST_F(BetweenHosts, AnotherKeyOpensNothing) {
  start({{"limits", {{"route_budget", "500ms"}}}});
  stores().configure({{"peers", {{"key_file", key_file("other", 'o')}}}});
  ASSERT_EQ(stores().stop(), 0);
  stores().start();
  Exporter exporter(stores().socket(), store(64_KiB));
  Client client = attach(engines().socket(), "engine");
  EXPECT_EQ(client.open_segment(segment("store")).status().code(), Code::no_route);
  EXPECT_NE(engines().log().find("no link to host"), std::string::npos) << engines().log();
  EXPECT_EQ(exporter.stop(), 0);
}

// What another host asks for waits for admission credit here, as a client's submits do.
TEST_F(BetweenHosts, MoreReadsThanAreAdmittedAtOnceWaitTheirTurn) {
  start();
  stores().configure({{"limits", {{"client", {{"owners", 4}}}}}});
  ASSERT_EQ(stores().stop(), 0);
  stores().start();
  Exporter exporter(stores().socket(), store(4_MiB));
  exporter.fill(8, 0, 4_MiB);
  Client client = attach(engines().socket(), "engine");
  Memory memory = allocate_at(client, 4_MiB);
  const Segment segment = need(client.open_segment(this->segment("store")), "open_segment");
  constexpr std::size_t kReads = 512;
  constexpr std::size_t kEach = 4_MiB / kReads;
  Batch batch = need(client.allocate_batch(kReads), "allocate_batch");
  for (std::size_t i = 0; i < kReads; ++i) {
    const Request request = read_from(segment, i * kEach, memory.bytes().subspan(i * kEach, kEach));
    const SubmitOptions options{.cls = i % 3 == 0 ? Class::foreground : Class::background};
    need(client.submit(batch, {&request, 1}, options), "submit");
  }
  need(batch.wait(kLong), "wait");
  EXPECT_EQ(batch.overall().state, State::completed);
  EXPECT_EQ(pattern_differences(memory.bytes(), 8), 0u);
  EXPECT_EQ(exporter.stop(), 0);
}

// The other daemon dies with transfers under way and comes back: all of them complete.
TEST_F(BetweenHosts, TransfersOutliveTheOtherDaemonsDeath) {
  start({{"limits", {{"route_budget", "6s"}}}});
  Exporter exporter(stores().socket(), store(16_MiB));
  exporter.fill(4, 0, 16_MiB);
  Client client = attach(engines().socket(), "engine");
  Memory memory = allocate_at(client, 16_MiB);
  const Segment segment = need(client.open_segment(this->segment("store")), "open_segment");
  for (int round = 0; round < 3; ++round) {
    std::fill(memory.bytes().begin(), memory.bytes().end(), std::byte{0});
    Batch batch = need(client.allocate_batch(16), "allocate_batch");
    for (std::size_t i = 0; i < 16; ++i) {
      const std::span<std::byte> target = memory.bytes().subspan(i * 1_MiB, 1_MiB);
      const Request request = read_from(segment, i * 1_MiB, target);
      need(client.submit(batch, {&request, 1}), "submit");
    }
    stores().kill();
    stores().start();
    need(batch.wait(kLong), "wait");
    ASSERT_EQ(batch.overall().state, State::completed) << engines().log() << stores().log();
    EXPECT_EQ(pattern_differences(memory.bytes(), 4), 0u);
  }
  EXPECT_EQ(exporter.stop(), 0);
}

// So with their own daemon: the library repeats what had not ended.
TEST_F(BetweenHosts, TransfersOutliveTheirOwnDaemonsDeath) {
  start({{"limits", {{"route_budget", "60s"}}}});
  Exporter exporter(stores().socket(), store(16_MiB));
  exporter.fill(7, 0, 16_MiB);
  Client client = attach(engines().socket(), "engine");
  Memory memory = allocate_at(client, 16_MiB);
  const Segment segment = need(client.open_segment(this->segment("store")), "open_segment");
  for (int round = 0; round < 3; ++round) {
    std::fill(memory.bytes().begin(), memory.bytes().end(), std::byte{0});
    Batch batch = submit_again_and_again(client, read_from(segment, 0, memory.bytes()), 4);
    engines().kill();
    engines().start();
    need(batch.wait(kLong), "wait");
    ASSERT_EQ(batch.overall().state, State::completed) << engines().log();
    EXPECT_EQ(pattern_differences(memory.bytes(), 7), 0u);
  }
  EXPECT_EQ(exporter.stop(), 0);
}

// An address is one however it is written, also after its link was lost.
TEST_F(BetweenHosts, AnotherSpellingOfAnAddressIsOpenedAgain) {
  start();
  Exporter exporter(stores().socket(), store(64_KiB));
  Client client = attach(engines().socket(), "engine");
  Memory memory = allocate_at(client, 64_KiB);
  std::string address = stores_address();
  address.insert(address.find(':') + 1, "0");
  const Segment segment =
      need(client.open_segment("tentq://" + address + "/store"), "open_segment");
  ASSERT_EQ(transfer(client, {read_from(segment, 0, memory.bytes())}).state, State::completed);
  stores().kill();
  stores().start();
  EXPECT_EQ(transfer(client, {read_from(segment, 0, memory.bytes())}).state, State::completed);
  EXPECT_EQ(exporter.stop(), 0);
}

// The other host has had a link to here for longer than owners wait; the first owners to go there
// do not pay for it.
TEST_F(BetweenHosts, AFreshLinkBeginsAFreshBudget) {
  start({{"limits", {{"route_budget", "2s"}}}});
  Exporter there(stores().socket(), store(64_KiB));
  Exporter here(engines().socket(), store(64_KiB));
  Client guest = attach(stores().socket(), "guest");
  need(guest.open_segment("tentq://" + engines_address() + "/store"), "open_segment");
  // As long as that takes, and a little more.
  EXPECT_EQ(guest.open_segment("tentq://127.0.0.1:1/store").status().code(), Code::no_route);
  Client client = attach(engines().socket(), "engine");
  Memory memory = allocate_at(client, 64_KiB);
  const Segment segment = need(client.open_segment(this->segment("store")), "open_segment");
  EXPECT_EQ(transfer(client, {read_from(segment, 0, memory.bytes())}).state, State::completed);
  EXPECT_EQ(there.stop(), 0);
  EXPECT_EQ(here.stop(), 0);
}

TEST_F(BetweenHosts, APeerThatStaysAwayIsLost) {
  start({{"limits", {{"route_budget", "3s"}}}});
  Exporter exporter(stores().socket(), store(1_MiB));
  Client client = attach(engines().socket(), "engine");
  Memory memory = allocate_at(client, 1_MiB);
  const Segment segment = need(client.open_segment(this->segment("store")), "open_segment");
  ASSERT_EQ(transfer(client, {read_from(segment, 0, memory.bytes())}).state, State::completed);
  exporter.kill();
  exporter.join();
  stores().kill();
  const BatchStatus status = transfer(client, {read_from(segment, 0, memory.bytes())});
  EXPECT_EQ(status.state, State::failed);
  EXPECT_EQ(status.reason, TaskReason::peer_lost);
}

TEST_F(BetweenHosts, ADeadStoreFailsItsTransfersAndAnotherProcessIsStale) {
  start();
  Exporter exporter(stores().socket(), store(1_MiB));
  Client client = attach(engines().socket(), "engine");
  Memory memory = allocate_at(client, 1_MiB);
  const std::span<std::byte> block = memory.bytes().first(4096);
  Segment segment = need(client.open_segment(this->segment("store")), "open_segment");
  ASSERT_EQ(transfer(client, {read_from(segment, 0, block)}).state, State::completed);
  exporter.kill();
  exporter.join();
  EXPECT_TRUE(eventually(kLong, [&] {
    return transfer(client, {read_from(segment, 0, block)}).reason == TaskReason::peer_lost;
  }));
  EXPECT_EQ(transfer(client, {write_to(segment, 0, block)}).reason, TaskReason::peer_lost);
  Client another = attach(stores().socket(), "store");
  Memory its = allocate_at(another, 1_MiB, 0, for_other_hosts(Access::remote_read));
  EXPECT_EQ(transfer(client, {read_from(segment, 0, block)}).reason, TaskReason::stale_handle);
  EXPECT_EQ(transfer(client, {write_to(segment, 0, block)}).reason, TaskReason::stale_handle);
  segment = need(client.open_segment(this->segment("store")), "open_segment");
  EXPECT_EQ(transfer(client, {read_from(segment, 0, block)}).state, State::completed);
}

TEST_F(BetweenHosts, BothHostsReadFromEachOtherAtOnce) {
  start();
  const std::string back = "tentq://" + engines_address() + "/store";
  Exporter there(stores().socket(), store(4_MiB));
  Exporter here(engines().socket(), store(4_MiB));
  there.fill(5, 0, 4_MiB);
  here.fill(6, 0, 4_MiB);
  struct End {
    Client client;
    Memory memory;
    Segment segment;
    std::uint64_t seed;
    std::optional<Batch> batch;
  };
  std::vector<End> ends;
  for (const bool to_stores : {true, false}) {
    Client client = attach((to_stores ? engines() : stores()).socket(), "reader");
    Memory memory = allocate_at(client, 4_MiB);
    Segment opened =
        need(client.open_segment(to_stores ? this->segment("store") : back), "open_segment");
    ends.push_back({std::move(client), std::move(memory), std::move(opened), to_stores ? 5u : 6u,
                    std::nullopt});
  }
  for (int round = 0; round < 10; ++round) {
    for (End& end : ends) {
      std::fill(end.memory.bytes().begin(), end.memory.bytes().end(), std::byte{0});
      end.batch =
          submit_again_and_again(end.client, read_from(end.segment, 0, end.memory.bytes()), 1);
    }
    for (End& end : ends) {
      need(end.batch->wait(kLong), "wait");
      ASSERT_EQ(end.batch->overall().state, State::completed);
      EXPECT_EQ(pattern_differences(end.memory.bytes(), end.seed), 0u);
    }
  }
  ends.clear();
  EXPECT_EQ(there.stop(), 0);
  EXPECT_EQ(here.stop(), 0);
}

TEST(WithoutLinks, OtherHostsAreNoRouteAndTheTextSaysHow) {
  DaemonProcess daemon{{}};
  Client client = attach(daemon.socket(), "engine");
  const Status status = client.open_segment("tentq://10.0.0.2/store").status();
  EXPECT_EQ(status.code(), Code::no_route);
  EXPECT_NE(status.to_string().find("peers.key_file"), std::string::npos) << status.to_string();
}

}  // namespace
}  // namespace tentq::test
