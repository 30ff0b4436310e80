// Names of segments in a real etcd: found without their host, gone with it, and back after etcd
// was gone itself, with and without its data.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/pattern.h"
#include "tests/support/etcd_server.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals

ExporterOptions for_other_hosts(const std::string& name) {
  ExporterOptions options;
  options.name = name;
  options.bytes = 64_KiB;
  options.rights.other_hosts = Access::remote_read_write;
  return options;
}

std::string by_name(const std::string& name) {
  return "tentq:///" + name;
}

class Directory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string lacks = EtcdServer::missing(); !lacks.empty()) GTEST_SKIP() << lacks;
    etcd_ = std::make_unique<EtcdServer>();
    engines_ = host();
    stores_ = host();
  }
  void TearDown() override {
    for (auto* host : {engines_.get(), stores_.get(), others_.get()}) {
      if (host != nullptr && host->pid() > 0) {
        EXPECT_EQ(host->stop(), 0) << host->log();
      }
    }
  }

  std::unique_ptr<DaemonProcess> host() const {
    DaemonOptions options;
    options.config = {
        {"peers", {{"listen", "127.0.0.1:0"}, {"auth", "none"}}},
        {"limits", {{"route_budget", "500ms"}}},
        {"directory", {{"kind", "etcd"}, {"endpoints", etcd_->endpoint()}, {"lease", "2s"}}}};
    return std::make_unique<DaemonProcess>(options);
  }
  EtcdServer& etcd() { return *etcd_; }
  DaemonProcess& engines() { return *engines_; }
  DaemonProcess& stores() { return *stores_; }
  DaemonProcess& others() {
    if (others_ == nullptr) others_ = host();
    return *others_;
  }

  // What opening the name says, asked again until it is this.
  static ::testing::AssertionResult opens(Client& client, const std::string& name, Code code) {
    std::string last;
    const bool is_so = eventually(kLong, [&] {
      const Status status = client.open_segment(by_name(name)).status();
      last = status.to_string();
      return status.code() == code;
    });
    if (is_so) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "the last answer: " << last;
  }
  // The same of a client that is there for this alone: exporters are forked without any.
  ::testing::AssertionResult is_found(const std::string& name) {
    Client client = attach(engines().socket(), "asker");
    return opens(client, name, Code::ok);
  }

 private:
  std::unique_ptr<EtcdServer> etcd_;
  std::unique_ptr<DaemonProcess> engines_, stores_, others_;
};

TEST_F(Directory, ASegmentIsFoundByItsNameAlone) {
  Exporter exporter(stores().socket(), for_other_hosts("store"));
  exporter.fill(1, 0, 64_KiB);
  Client client = attach(engines().socket(), "engine");
  Memory memory = allocate_at(client, 64_KiB);
  ASSERT_TRUE(opens(client, "store", Code::ok));
  const Segment segment = need(client.open_segment(by_name("store")), "open_segment");
  must_complete(client, read_from(segment, 0, memory.bytes()));
  EXPECT_EQ(pattern_differences(memory.bytes(), 1), 0u);
  const nlohmann::json shown = query(engines().socket(), QueryKind::status).at("directory");
  EXPECT_EQ(shown.at("state"), "up");
  EXPECT_EQ(shown.at("published"), 0);
  const nlohmann::json theirs = query(stores().socket(), QueryKind::status).at("directory");
  EXPECT_EQ(theirs.at("published"), 1);
  EXPECT_EQ(theirs.at("taken"), 0);
  const nlohmann::json own = query(stores().admin_socket(), QueryKind::segments).at("segments");
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(own[0].at("directory"), "published");
  const nlohmann::json seen = query(engines().admin_socket(), QueryKind::segments, "of=hosts");
  ASSERT_EQ(seen.at("elsewhere").size(), 1u);
  EXPECT_EQ(seen.at("elsewhere")[0].at("segment"), "store");
  EXPECT_EQ(seen.at("elsewhere")[0].at("state"), "open");
  ASSERT_EQ(seen.at("directory").size(), 1u);
  EXPECT_EQ(seen.at("directory")[0].at("address"), seen.at("elsewhere")[0].at("address"));
  // On its own host, too.
  Client neighbour = attach(stores().socket(), "neighbour");
  EXPECT_TRUE(opens(neighbour, "store", Code::ok));
  const auto unknown = client.open_segment(by_name("nobody")).status();
  EXPECT_EQ(unknown.code(), Code::not_found);
  EXPECT_NE(unknown.to_string().find("no host publishes 'nobody'"), std::string::npos)
      << unknown.to_string();
  EXPECT_EQ(exporter.stop(), 0);
  EXPECT_TRUE(opens(client, "store", Code::not_found));
}

TEST_F(Directory, WhatOtherHostsMayNotReachIsNotPublished) {
  ExporterOptions options = for_other_hosts("private");
  options.rights.other_hosts = Access::none;
  Exporter kept(stores().socket(), options);
  Exporter given(stores().socket(), for_other_hosts("given"));
  Client client = attach(engines().socket(), "engine");
  ASSERT_TRUE(opens(client, "given", Code::ok));
  EXPECT_EQ(client.open_segment(by_name("private")).status().code(), Code::not_found);
  // At home it is found as it is without a directory.
  Client neighbour = attach(stores().socket(), "neighbour");
  EXPECT_EQ(neighbour.open_segment(by_name("private")).status().code(), Code::ok);
  EXPECT_EQ(kept.stop(), 0);
  EXPECT_EQ(given.stop(), 0);
}

TEST_F(Directory, AHostThatStopsTakesItsNamesAlong) {
  Exporter exporter(stores().socket(), for_other_hosts("store"));
  Client client = attach(engines().socket(), "engine");
  ASSERT_TRUE(opens(client, "store", Code::ok));
  ASSERT_EQ(stores().stop(), 0);
  // Its lease is given back before it ends: nothing is left of it.
  const std::string left = etcd().ask("/v3/kv/range", R"({"key":"AA==","range_end":"AA=="})");
  EXPECT_NE(left.find("\"header\""), std::string::npos);
  EXPECT_EQ(left.find("\"kvs\""), std::string::npos) << left;
  EXPECT_TRUE(opens(client, "store", Code::not_found));
  stores().start();
  EXPECT_TRUE(opens(client, "store", Code::ok));
  EXPECT_EQ(exporter.stop(), 0);
}

TEST_F(Directory, AHostThatDiesLosesItsNamesWithItsLease) {
  Exporter exporter(stores().socket(), for_other_hosts("store"));
  Client client = attach(engines().socket(), "engine");
  ASSERT_TRUE(opens(client, "store", Code::ok));
  stores().kill();
  EXPECT_TRUE(opens(client, "store", Code::not_found));
  stores().start();
  EXPECT_TRUE(opens(client, "store", Code::ok));
  // At once, before the lease of the life before has ended: the name is the same host's.
  stores().kill();
  stores().start();
  EXPECT_TRUE(opens(client, "store", Code::ok));
  EXPECT_EQ(exporter.stop(), 0);
  EXPECT_TRUE(opens(client, "store", Code::not_found));
}

TEST_F(Directory, TheFirstKeepsANameAndTheSecondTakesItOver) {
  Exporter first(stores().socket(), for_other_hosts("store"));
  ASSERT_TRUE(is_found("store"));
  Exporter second(others().socket(), for_other_hosts("store"));
  first.fill(1, 0, 64_KiB);
  second.fill(2, 0, 64_KiB);
  const auto is_told = [&] {
    const nlohmann::json errors = query(others().admin_socket(), QueryKind::errors).at("errors");
    for (const nlohmann::json& error : errors) {
      if (error.at("cause") == "directory.name_taken") return true;
    }
    return false;
  };
  ASSERT_TRUE(eventually(kLong, is_told)) << others().log();
  EXPECT_NE(others().log().find("the name 'store' is in the directory already"), std::string::npos);
  const nlohmann::json segments = query(others().admin_socket(), QueryKind::segments);
  EXPECT_TRUE(
      segments.at("segments")[0].at("directory").get<std::string>().starts_with("taken by "))
      << segments;
  Client client = attach(engines().socket(), "engine");
  Memory memory = allocate_at(client, 64_KiB);
  const auto read = [&] {
    const Segment segment = need(client.open_segment(by_name("store")), "open_segment");
    must_complete(client, read_from(segment, 0, memory.bytes()));
  };
  read();
  EXPECT_EQ(pattern_differences(memory.bytes(), 1), 0u);
  EXPECT_EQ(first.stop(), 0);
  // The name moves to the other host.
  const auto moved = [&] {
    return client.open_segment(by_name("store")).status().code() == Code::ok;
  };
  ASSERT_TRUE(eventually(kLong, moved));
  read();
  EXPECT_EQ(pattern_differences(memory.bytes(), 2), 0u);
  EXPECT_EQ(second.stop(), 0);
}

TEST_F(Directory, WithoutEtcdKnownNamesAreFoundAndOthersAreRefused) {
  Exporter exporter(stores().socket(), for_other_hosts("store"));
  Client client = attach(engines().socket(), "engine");
  ASSERT_TRUE(opens(client, "store", Code::ok));
  etcd().kill();
  EXPECT_EQ(client.open_segment(by_name("store")).status().code(), Code::ok);
  const auto unknown = client.open_segment(by_name("nobody")).status();
  EXPECT_EQ(unknown.code(), Code::no_route);
  EXPECT_NE(unknown.to_string().find("tentq://HOST/nobody needs no directory"), std::string::npos)
      << unknown.to_string();
  const auto logged = [&](const std::string& text) {
    return eventually(kLong, [&] { return engines().log().find(text) != std::string::npos; });
  };
  EXPECT_TRUE(logged("the directory cannot be reached")) << engines().log();
  etcd().start();
  EXPECT_TRUE(opens(client, "nobody", Code::not_found));
  EXPECT_TRUE(opens(client, "store", Code::ok));
  // Changes are followed again.
  EXPECT_EQ(exporter.stop(), 0);
  EXPECT_TRUE(opens(client, "store", Code::not_found));
}

TEST_F(Directory, AnEtcdThatLostItsDataIsToldEverythingAgain) {
  Exporter exporter(stores().socket(), for_other_hosts("store"));
  ASSERT_TRUE(is_found("store"));
  etcd().kill();
  etcd().lose_data();
  etcd().start();
  // Another name, of which only the new etcd knows.
  Exporter later(stores().socket(), for_other_hosts("later"));
  Client client = attach(engines().socket(), "engine");
  EXPECT_TRUE(opens(client, "later", Code::ok));
  EXPECT_TRUE(opens(client, "store", Code::ok));
  EXPECT_EQ(exporter.stop(), 0);
  EXPECT_TRUE(opens(client, "store", Code::not_found));
  EXPECT_EQ(later.stop(), 0);
}

// It takes connections and answers nothing.
TEST_F(Directory, AFrozenEtcdHoldsNobodyUpForLong) {
  Client client = attach(engines().socket(), "engine");
  ASSERT_TRUE(opens(client, "nobody", Code::not_found));
  etcd().freeze();
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(client.open_segment(by_name("nobody")).status().code(), Code::no_route);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds{10});
  etcd().thaw();
  EXPECT_TRUE(opens(client, "nobody", Code::not_found));
}

}  // namespace
}  // namespace tentq::test
