// Two hosts with peers.auth mtls: every byte right, nothing readable on the way, and whoever has no
// good certificate stays outside and is told why.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>
#include <cstring>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/pattern.h"
#include "tests/processes/recording_relay.h"
#include "tests/processes/two_hosts.h"
#include "tests/support/certificates.h"
#include "tests/support/loopback.h"
#include "tests/support/query.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals
using std::chrono::hours;

nlohmann::json peers_of(DaemonProcess& host) {
  return query(host.admin_socket(), QueryKind::peers).at("peers");
}

class Encrypted : public TwoHosts {
 protected:
  static nlohmann::json with(const std::string& ca_file, const CertificateFiles& files) {
    return {{"peers",
             {{"auth", "mtls"},
              {"tls_ca_file", ca_file},
              {"tls_certificate_file", files.certificate},
              {"tls_key_file", files.key}}}};
  }
  void start_with_tls(const CertificateTerms& terms = {}) {
    files_ = authority_.issue("host", terms);
    start(with(authority_.file(), files_));
  }
  static ExporterOptions store(std::size_t bytes) {
    ExporterOptions options;
    options.bytes = bytes;
    options.rights.other_hosts = Access::remote_read_write;
    return options;
  }
  std::uint16_t stores_port() const {
    return static_cast<std::uint16_t>(
        std::stoul(stores_address().substr(stores_address().rfind(':') + 1)));
  }
  // The error of that cause: its count, 0 if there is none; its text in *text.
  static int errors(DaemonProcess& host, const std::string& cause, std::string* text) {
    const nlohmann::json rows = query(host.admin_socket(), QueryKind::errors).at("errors");
    for (const nlohmann::json& row : rows) {
      if (row.at("cause") != cause) continue;
      *text = row.dump();
      return row.at("count");
    }
    return 0;
  }
  // Text goes through a relay, there and back; whether it could be read on the way.
  bool readable_on_the_way(std::string_view word);

  Authority authority_{"tentq tests"};
  CertificateFiles files_;
};

TEST_F(Encrypted, ReadsAndWritesArriveByteForByte) {
  start_with_tls({.names = {"DNS:store-1.example", "IP:127.0.0.1"}});
  Exporter exporter(stores().socket(), store(16_MiB));
  exporter.fill(1, 0, 16_MiB);
  Client client = attach(engines().socket(), "engine");
  Memory memory = allocate_at(client, 16_MiB);
  const Segment segment = need(client.open_segment(this->segment("store")), "open_segment");
  for (const std::size_t length : {std::size_t{1}, std::size_t{4096}, std::size_t{16'385},
                                   100'001ul, std::size_t{16_MiB} - 17}) {
    const std::span<std::byte> target = memory.bytes().subspan(5, length);
    ASSERT_EQ(transfer(client, {read_from(segment, 11, target)}).state, State::completed) << length;
    EXPECT_EQ(pattern_differences(target, 1, 11), 0u) << length;
  }
  fill_pattern(memory.bytes(), 2);
  ASSERT_EQ(transfer(client, {write_to(segment, 0, memory.bytes())}).state, State::completed);
  EXPECT_EQ(exporter.differences(2, 0, 16_MiB), 0u);
  const nlohmann::json peer = peers_of(engines())[0];
  EXPECT_EQ(peer.at("auth"), "mtls");
  EXPECT_EQ(peer.at("certificate"), "store-1.example");
  EXPECT_EQ(peers_of(stores())[0].at("certificate"), "store-1.example");
  EXPECT_EQ(exporter.stop(), 0);
}

bool Encrypted::readable_on_the_way(std::string_view word) {
  Exporter exporter(stores().socket(), store(64_KiB));
  Client client = attach(engines().socket(), "engine");
  Memory memory = allocate_at(client, 64_KiB);
  RecordingRelay relay(stores_port());
  const Segment segment =
      need(client.open_segment("tentq://" + relay.address() + "/store"), "open_segment");
  std::byte* const from = memory.bytes().data();
  std::memcpy(from, word.data(), word.size());
  const std::span<std::byte> there = memory.bytes().first(word.size());
  const std::span<std::byte> back = memory.bytes().subspan(4096, word.size());
  EXPECT_EQ(transfer(client, {write_to(segment, 100, there)}).state, State::completed);
  EXPECT_EQ(transfer(client, {read_from(segment, 100, back)}).state, State::completed);
  EXPECT_EQ(std::memcmp(back.data(), word.data(), word.size()), 0);
  EXPECT_GT(relay.recorded_bytes(), 2 * word.size());
  const bool readable = relay.recorded(word);
  EXPECT_EQ(relay.recorded("store"), readable);
  EXPECT_EQ(exporter.stop(), 0);
  return readable;
}

constexpr std::string_view kWord = "a block of somebody's conversation";

TEST_F(Encrypted, NothingOfThePayloadIsReadableOnTheWay) {
  start_with_tls();
  EXPECT_FALSE(readable_on_the_way(kWord));
}

// The same relay sees it where nothing is encrypted.
TEST_F(Encrypted, WithAKeyAloneThePayloadIsReadableOnTheWay) {
  start();
  EXPECT_TRUE(readable_on_the_way(kWord));
}

TEST_F(Encrypted, AHostOfAnotherAuthorityStaysOutside) {
  start_with_tls();
  Authority other("somebody else");
  engines().stop();
  engines().configure(with(authority_.file(), other.issue("other")));
  engines().configure({{"limits", {{"route_budget", "500ms"}}}});
  engines().start();
  Exporter exporter(stores().socket(), store(64_KiB));
  Client client = attach(engines().socket(), "engine");
  EXPECT_EQ(client.open_segment(this->segment("store")).status().code(), Code::no_route);
  std::string text;
  EXPECT_TRUE(eventually(kLong, [&] { return errors(stores(), "host.unknown_ca", &text) > 0; }))
      << stores().log() << engines().log();
  EXPECT_NE(text.find("peers.tls_ca_file"), std::string::npos) << text;
  EXPECT_TRUE(eventually(kLong, [&] { return errors(engines(), "host.unknown_ca", &text) > 0; }));
  EXPECT_NE(text.find("does not take this host's certificate"), std::string::npos) << text;
  EXPECT_EQ(exporter.stop(), 0);
}

TEST_F(Encrypted, AnExpiredCertificateOrAnOpenKeyKeepsTheDaemonFromStarting) {
  start_with_tls();
  engines().stop();
  const auto fails_with = [&](const CertificateFiles& files, const std::string& part) {
    engines().configure(with(authority_.file(), files));
    EXPECT_THROW(engines().start(), std::runtime_error);
    EXPECT_NE(engines().log().find(part), std::string::npos) << engines().log();
  };
  fails_with(authority_.issue("old", {.begins = hours{-3}, .ends = hours{-1}}), "has expired");
  fails_with({files_.certificate, authority_.issue("other").key}, "does not fit the certificate");
  engines().configure(with(authority_.file(), files_));
  engines().start();
}

TEST_F(Encrypted, GarbageAndPlainPeersDoNotDisturb) {
  start_with_tls();
  Exporter exporter(stores().socket(), store(1_MiB));
  exporter.fill(1, 0, 1_MiB);
  Client client = attach(engines().socket(), "engine");
  Memory memory = allocate_at(client, 1_MiB);
  const Segment segment = need(client.open_segment(this->segment("store")), "open_segment");
  const sockaddr_in at = loopback(stores_port());
  std::vector<shm::Fd> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int fd = strangers.back().get();
    ASSERT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
    const std::string garbage(1 + 100 * static_cast<std::size_t>(i), static_cast<char>(i));
    ASSERT_GT(::send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
    ASSERT_EQ(transfer(client, {read_from(segment, 0, memory.bytes())}).state, State::completed);
  }
  EXPECT_EQ(pattern_differences(memory.bytes(), 1), 0u);
  std::string text;
  EXPECT_TRUE(
      eventually(kLong, [&] { return errors(stores(), "host.protocol_error", &text) > 0; }));
  EXPECT_EQ(peers_of(engines())[0].at("lost_links"), 0);
  EXPECT_EQ(exporter.stop(), 0);
}

TEST_F(Encrypted, ANewCertificateCountsAfterSighupForNewLinks) {
  start_with_tls();
  Exporter exporter(stores().socket(), store(64_KiB));
  Client client = attach(engines().socket(), "engine");
  need(client.open_segment(this->segment("store")), "open_segment");
  EXPECT_EQ(peers_of(engines())[0].at("certificate"), "localhost");
  authority_.issue("host", {.names = {"DNS:renewed", "IP:127.0.0.1"}});
  stores().signal(SIGHUP);
  engines().kill();
  engines().start();
  EXPECT_TRUE(eventually(kLong, [&] { return client.open_segment(this->segment("store")).ok(); }));
  EXPECT_TRUE(eventually(kLong, [&] {
    const nlohmann::json peers = peers_of(engines());
    return peers.size() == 1 && peers[0].at("certificate") == "renewed";
  })) << peers_of(engines()).dump();
  EXPECT_EQ(exporter.stop(), 0);
}

}  // namespace
}  // namespace tentq::test
