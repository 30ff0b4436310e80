// Links over TLS: who is let in, and why somebody is not; data goes encrypted; certificates that
// are read again.
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <cerrno>
#include <filesystem>

#include "tests/daemon/peers/peer_node.h"
#include "tests/daemon/peers/raw_peer.h"
#include "tests/daemon/peers/strange_tls.h"

namespace tentq::test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

class TlsLinks : public ::testing::Test {
 protected:
  Node::Options with(std::uint8_t host, const CertificateFiles& files) {
    return {.host = host, .ca_file = authority_.file(), .files = files};
  }
  Node::Options options(std::uint8_t host) {
    return with(host, authority_.issue("host-" + std::to_string(host)));
  }
  // The node has one trouble, for that reason, whose text has the part.
  void expect_trouble(const Node& node, PeerReason reason, const std::string& part) {
    ASSERT_TRUE(loop_.until([&] { return !node.troubles.empty(); }));
    EXPECT_EQ(to_string(node.troubles[0].reason), to_string(reason)) << node.troubles[0].text;
    EXPECT_NE(node.troubles[0].text.find(part), std::string::npos) << node.troubles[0].text;
    EXPECT_TRUE(node.up.empty());
  }
  // Somebody with these terms connects to a node.
  void expect_turned_away(const StrangeTerms& terms, PeerReason reason, const std::string& part) {
    Node node(loop_, options(2));
    StrangeTls stranger(node.address(), terms);
    expect_trouble(node, reason, part);
    node.stop();
  }
  // A node connects to somebody with these terms.
  void expect_not_believed(const StrangeTerms& terms, PeerReason reason, const std::string& part) {
    std::string address;
    const shm::Fd listener = listen_anywhere(&address);
    StrangeTls stranger(listener, terms);
    Node node(loop_, options(1));
    node.want(address);
    expect_trouble(node, reason, part);
    node.stop();
  }

  Authority authority_{"tentq tests"};
  Authority other_{"somebody else"};
  Loop loop_;
};

TEST_F(TlsLinks, CarryMessagesAndDataBothWays) {
  Node a(loop_, options(1)), b(loop_, options(2));
  a.want(b.address());
  ASSERT_TRUE(loop_.until([&] { return Node::connected(a, b); }));
  const LinkKey there = a.up_on(LinkSide::dialed)[0], back = b.up_on(LinkSide::accepted)[0];
  EXPECT_EQ(a.up.at(there).certificate, "localhost");
  EXPECT_EQ(b.up.at(back).certificate, "localhost");
  PeerListRegions question;
  question.header.request = 5;
  question.segment = 7;
  ASSERT_TRUE(a.links->send(there, question));
  ASSERT_TRUE(loop_.until([&] { return !b.messages.empty() || !b.downs.empty(); }));
  ASSERT_TRUE(b.downs.empty()) << b.downs[0].text;
  PeerRegions answer;
  answer.header.request = 5;
  ASSERT_TRUE(b.links->send(back, answer));
  ASSERT_TRUE(loop_.until([&] { return !a.messages.empty(); }));
  for (const auto& [connection, stream] : a.streams) {
    const std::uint64_t number = connection.second;
    std::string word = "data " + std::to_string(number);
    const iovec part = {word.data(), word.size()};
    ASSERT_EQ(stream->send({&part, 1}), static_cast<ssize_t>(word.size()));
    std::array<char, 16> got = {};
    const iovec room = {got.data(), got.size()};
    ASSERT_TRUE(loop_.until([&] { return b.streams.at({back, number})->receive({&room, 1}) > 0; }));
    EXPECT_EQ(std::string(got.data()), word);
  }
  EXPECT_TRUE(a.troubles.empty() && b.troubles.empty());
}

// Longer than the first pause of the keepalive, and many messages: nothing gets stuck between
// what TLS holds and what the socket tells.
TEST_F(TlsLinks, LiveOnUnderManyMessages) {
  auto quick = options(1);
  quick.timeout = milliseconds{300};
  auto answering = options(2);
  answering.timeout = milliseconds{300};
  Node a(loop_, quick), b(loop_, answering);
  a.want(b.address());
  ASSERT_TRUE(loop_.until([&] { return Node::connected(a, b); }));
  const LinkKey there = a.up_on(LinkSide::dialed)[0];
  PeerListRegions question;
  question.segment = 7;
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(a.links->send(there, question));
  ASSERT_TRUE(loop_.until([&] { return b.messages.size() == 2000; }));
  const auto end = std::chrono::steady_clock::now() + milliseconds{700};
  ASSERT_TRUE(loop_.until([&] { return std::chrono::steady_clock::now() > end; }));
  EXPECT_TRUE(a.downs.empty() && b.downs.empty());
}

TEST_F(TlsLinks, ExpiredCertificatesAreRefusedOnBothSides) {
  const StrangeTerms old = {authority_.issue("old", {.begins = hours{-3}, .ends = hours{-1}})};
  expect_turned_away(old, PeerReason::certificate_expired, "connects (localhost, 127.0.0.1");
  expect_not_believed(old, PeerReason::certificate_expired, "has expired; put a new certificate");
}

TEST_F(TlsLinks, CertificatesThatAreNotValidYetAreRefused) {
  const StrangeTerms early = {authority_.issue("new", {.begins = hours{1}, .ends = hours{2}})};
  expect_turned_away(early, PeerReason::certificate_not_yet_valid, "clocks");
  expect_not_believed(early, PeerReason::certificate_not_yet_valid, "clocks");
}

TEST_F(TlsLinks, CertificatesOfOtherAuthoritiesAreRefused) {
  const StrangeTerms foreign = {other_.issue("other")};
  expect_turned_away(foreign, PeerReason::unknown_ca, "peers.tls_ca_file");
  expect_not_believed(foreign, PeerReason::unknown_ca, "peers.tls_ca_file");
}

TEST_F(TlsLinks, WhoShowsNoCertificateIsRefused) {
  expect_turned_away({}, PeerReason::bad_certificate, "shows no certificate");
}

TEST_F(TlsLinks, ACertificateForServersAloneDoesNotConnect) {
  const StrangeTerms server = {authority_.issue("server", {.usages = "serverAuth"})};
  expect_turned_away(server, PeerReason::bad_certificate, "TLS servers and clients");
}

TEST_F(TlsLinks, OlderVersionsAreRefusedOnBothSides) {
  const StrangeTerms old = {authority_.issue("old"), TLS1_2_VERSION};
  expect_turned_away(old, PeerReason::tls_version, "TLS 1.3");
  expect_not_believed(old, PeerReason::tls_version, "TLS 1.3");
}

TEST_F(TlsLinks, TheCertificateHasToNameWhatIsDialed) {
  const StrangeTerms misnamed = {authority_.issue("x", {.names = {"DNS:node-9", "IP:10.9.9.9"}})};
  expect_not_believed(misnamed, PeerReason::wrong_name, "(node-9, 10.9.9.9) is not for 127.0.0.1");
  // A common name that fits is none.
  const StrangeTerms common = {
      authority_.issue("y", {.names = {"DNS:node-9"}, .common_name = "127.0.0.1"})};
  expect_not_believed(common, PeerReason::wrong_name, "is not for 127.0.0.1");
}

TEST_F(TlsLinks, OnlyAllowedNamesComeIn) {
  auto choosy = options(2);
  choosy.allowed_names = "*.stores.example";
  Node a(loop_, options(1)), b(loop_, choosy);
  a.want(b.address());
  ASSERT_TRUE(loop_.until([&] { return !a.troubles.empty() && !b.troubles.empty(); }));
  EXPECT_EQ(b.troubles[0].reason, PeerReason::wrong_name);
  EXPECT_NE(b.troubles[0].text.find("localhost"), std::string::npos) << b.troubles[0].text;
  EXPECT_EQ(a.troubles[0].reason, PeerReason::refused);
  EXPECT_NE(a.troubles[0].text.find("peers.allowed_names"), std::string::npos)
      << a.troubles[0].text;
  Node c(loop_, with(3, authority_.issue("c", {.names = {"DNS:a.stores.example"}})));
  c.want(b.address());
  EXPECT_TRUE(loop_.until([&] { return b.up_on(LinkSide::accepted).size() == 1; }));
}

TEST_F(TlsLinks, APlainPeerAndATlsPeerTellEachOther) {
  Node plain(loop_, {.host = 1}), tls(loop_, options(2));
  plain.want(tls.address());
  ASSERT_TRUE(loop_.until([&] { return !plain.troubles.empty() && !tls.troubles.empty(); }));
  EXPECT_EQ(tls.troubles[0].reason, PeerReason::auth_mismatch) << tls.troubles[0].text;
  EXPECT_EQ(plain.troubles[0].reason, PeerReason::refused) << plain.troubles[0].text;
  EXPECT_NE(plain.troubles[0].text.find("mtls"), std::string::npos) << plain.troubles[0].text;
  plain.troubles.clear();
  tls.troubles.clear();
  Node dialer(loop_, options(3));
  dialer.want(plain.address());
  ASSERT_TRUE(loop_.until([&] { return !dialer.troubles.empty() && !plain.troubles.empty(); }));
  EXPECT_EQ(dialer.troubles[0].reason, PeerReason::auth_mismatch) << dialer.troubles[0].text;
  EXPECT_TRUE(plain.has_trouble(PeerReason::auth_mismatch)) << plain.troubles[0].text;
}

TEST_F(TlsLinks, GarbageSilenceAndFloodsBeforeTheHandshakeEnd) {
  auto quick = options(2);
  quick.connect_timeout = milliseconds{300};
  Node node(loop_, quick);
  RawPeer garbage(loop_, node.address());
  const std::string text = "GET / HTTP/1.1\r\nHost: tentq\r\n\r\n";
  ASSERT_TRUE(garbage.send_bytes(text.data(), text.size()));
  EXPECT_TRUE(garbage.ended());
  ASSERT_TRUE(loop_.until([&] { return node.troubles.size() == 1; }));
  EXPECT_EQ(node.troubles[0].reason, PeerReason::protocol_error) << node.troubles[0].text;
  RawPeer silent(loop_, node.address());
  EXPECT_TRUE(silent.ended());
  ASSERT_TRUE(loop_.until([&] { return node.troubles.size() == 2; }));
  EXPECT_EQ(node.troubles[1].reason, PeerReason::handshake_timeout) << node.troubles[1].text;
  // A message of the handshake that says to be 16 MiB long.
  RawPeer flood(loop_, node.address());
  std::string record = {0x16, 3, 1, 0x40, 0, 1, '\xff', '\xff', '\xff'};
  record.resize(5 + 0x4000, 'x');
  flood.send_bytes(record.data(), record.size());
  EXPECT_TRUE(flood.ended());
  ASSERT_TRUE(loop_.until([&] { return node.troubles.size() == 3; }));
  EXPECT_EQ(node.troubles[2].reason, PeerReason::tls_failed) << node.troubles[2].text;
  EXPECT_TRUE(node.up.empty());
}

// A certificate lets its holder in, but not as the host that somebody else is.
TEST_F(TlsLinks, AHostIdIsNotTakenOverWithAnotherCertificate) {
  Node b(loop_, options(2)), a(loop_, options(1));
  a.want(b.address());
  ASSERT_TRUE(loop_.until([&] { return Node::connected(a, b); }));
  auto thief = with(1, authority_.issue("thief", {.names = {"DNS:thief", "IP:127.0.0.1"}}));
  thief.epoch = 9;
  Node c(loop_, thief);
  c.want(b.address());
  ASSERT_TRUE(loop_.until([&] { return !b.troubles.empty(); }));
  EXPECT_EQ(b.troubles[0].reason, PeerReason::twin) << b.troubles[0].text;
  EXPECT_EQ(b.up_on(LinkSide::accepted).size(), 1u);
  EXPECT_TRUE(b.downs.empty());
}

TEST_F(TlsLinks, CertificatesThatAreReadAgainCountForNewLinks) {
  Node a(loop_, options(1)), b(loop_, options(2));
  a.want(b.address());
  ASSERT_TRUE(loop_.until([&] { return Node::connected(a, b); }));
  authority_.issue("host-1", {.names = {"DNS:renewed", "IP:127.0.0.1"}});
  std::string why;
  ASSERT_TRUE(a.links->renew_certificates(&why)) << why;
  EXPECT_EQ(b.up.begin()->second.certificate, "localhost");
  b.restart(2);
  ASSERT_TRUE(loop_.until([&] { return Node::connected(a, b); }));
  EXPECT_EQ(b.up.begin()->second.certificate, "renewed");
  // What cannot be used changes nothing.
  std::filesystem::remove(a.options.files.key);
  EXPECT_FALSE(a.links->renew_certificates(&why));
  EXPECT_NE(why.find(a.options.files.key), std::string::npos);
  b.restart(3);
  EXPECT_TRUE(loop_.until([&] { return Node::connected(a, b); }));
}

}  // namespace
}  // namespace tentq::test
