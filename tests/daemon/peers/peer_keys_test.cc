// The configuration of peers, and addresses of other hosts.
#include <gtest/gtest.h>

#include "daemon/config/config.h"
#include "daemon/config/peer_address.h"

namespace tentq {
namespace {

ConfigOutcome peers(const std::string& members) {
  return parse_settings(R"({"peers": {)" + members + "}}", "test.json");
}

TEST(PeerAddress, IsReadAndPrinted) {
  const std::pair<const char*, const char*> forms[] = {
      {"node-7", "node-7:7471"},     {"node-7:80", "node-7:80"},
      {"10.0.0.2", "10.0.0.2:7471"}, {"10.0.0.2:65535", "10.0.0.2:65535"},
      {"[::1]", "[::1]:7471"},       {"[::1]:5", "[::1]:5"},
      {"fd00::2", "[fd00::2]:7471"}, {"a.b_c-d.example.", "a.b_c-d.example.:7471"},
  };
  for (const auto& [text, printed] : forms) {
    const auto address = parse_peer_address(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->text(), printed);
    EXPECT_EQ(parse_peer_address(printed), address);
  }
  EXPECT_EQ(parse_peer_address("a", 9)->port, 9);
  EXPECT_EQ(parse_peer_address("a:8", 9)->port, 8);
  EXPECT_EQ(parse_peer_address("[::1]", 9)->port, 9);
}

TEST(PeerAddress, IsNothingElse) {
  using namespace std::string_view_literals;  // NOLINT: literals
  for (const std::string_view text :
       {""sv,      ":7471"sv, "a:"sv,   "a:0"sv,    "a:65536"sv, "a:-1"sv,         "a:1x"sv,
        "a:1:2"sv, "[]:1"sv,  "[::1"sv, "[::1]x"sv, "[::1]:"sv,  "[a]:1"sv,        "[10.0.0.1]:1"sv,
        "a b"sv,   "a/b"sv,   "-a"sv,   "a\0b"sv,   "a\n"sv,     "fe80::1%eth0"sv, "\xc3\xa4"sv}) {
    EXPECT_FALSE(parse_peer_address(text)) << text;
  }
  EXPECT_TRUE(parse_peer_address(std::string(253, 'a')));
  EXPECT_FALSE(parse_peer_address(std::string(254, 'a')));
}

TEST(PeerKeys, AreOffAndSafeByDefault) {
  const PeerSettings settings = parse_settings("", "test.json").settings->peers;
  EXPECT_EQ(settings.listen, "");
  EXPECT_EQ(settings.auth, PeerAuth::psk);
  EXPECT_FALSE(settings.allow_unauthenticated);
  EXPECT_EQ(settings.data_connections, 2u);
  EXPECT_EQ(settings.timeout, std::chrono::seconds{3});
  EXPECT_EQ(settings.most, 32u);
  EXPECT_EQ(settings.highest_class, ClassId::foreground);
}

TEST(PeerKeys, AreTaken) {
  const auto outcome = peers(
      R"("listen": "[::]:7471", "advertise": "node-7", "auth": "psk", "key_file": "/etc/tentq/key",
         "data_connections": 16, "timeout": "100ms", "connect_timeout": "1min", "most": 1,
         "highest_class": "background", "dscp": 63)");
  for (const ConfigError& error : outcome.errors) ADD_FAILURE() << error.text();
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.settings->peers.highest_class, ClassId::background);
  const auto again = parse_settings(print_settings(*outcome.settings), "printed");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(print_settings(*again.settings), print_settings(*outcome.settings));
}

TEST(PeerKeys, ThatAreWrongAreNamedWithWhatIsExpected) {
  const std::pair<const char*, const char*> bad[] = {
      {R"("listen": "node-7:7471")", "10.0.0.2:7471"},
      {R"("advertise": "a b")", "node-7"},
      {R"("auth": "tls")", "\"psk\", \"mtls\", \"none\""},
      {R"("allowed_names": "node-7,,node-8")", "*.stores.example"},
      {R"("allowed_names": "*")", "*.stores.example"},
      {R"("tls_key_file": "key.pem")", "an absolute path"},
      {R"("auth": "")", "\"psk\", \"mtls\", \"none\""},
      {R"("key_file": "key")", "an absolute path"},
      {R"("data_connections": 0)", "from 1 to 16"},
      {R"("data_connections": 17)", "from 1 to 16"},
      {R"("timeout": "99ms")", "100ms"},
      {R"("most": 0)", "from 1 to"},
      {R"("highest_class": "internal")", "\"foreground\""},
      {R"("highest_class": "urgent")", "\"background\""},
      {R"("highest_class": 1)", "\"background\""},
      {R"("dscp": 64)", "from 0 to 63"},
  };
  for (const auto& [text, expected] : bad) {
    const auto outcome = peers(text);
    ASSERT_EQ(outcome.errors.size(), 1u) << text;
    EXPECT_TRUE(outcome.errors[0].key.starts_with("peers.")) << text;
    EXPECT_NE(outcome.errors[0].expected.find(expected), std::string::npos)
        << outcome.errors[0].text();
  }
}

TEST(PeerKeys, WithoutAuthenticationListenAtThisHostAlone) {
  for (const char* listen : {"127.0.0.1:7471", "[::1]:0"}) {
    EXPECT_TRUE(peers(std::string(R"("auth": "none", "listen": ")") + listen + '"').ok());
  }
  for (const char* listen : {"0.0.0.0:7471", "10.0.0.1:7471", "[::]:7471"}) {
    const std::string members = std::string(R"("auth": "none", "listen": ")") + listen + '"';
    const auto refused = peers(members);
    ASSERT_EQ(refused.errors.size(), 1u) << listen;
    EXPECT_EQ(refused.errors[0].key, "peers.listen");
    EXPECT_NE(refused.errors[0].text().find("`peers.allow_unauthenticated`: true"),
              std::string::npos)
        << refused.errors[0].text();
    EXPECT_TRUE(peers(members + R"(, "allow_unauthenticated": true)").ok());
  }
}

TEST(PeerKeys, ThatListenNeedAKeyOrNone) {
  const auto refused = peers(R"("listen": "127.0.0.1:7471")");
  ASSERT_EQ(refused.errors.size(), 1u);
  EXPECT_EQ(refused.errors[0].key, "peers.key_file");
  EXPECT_NE(refused.errors[0].text().find("chmod 600"), std::string::npos);
  // Both rules at once: allowing the unauthenticated does not make a key needless.
  EXPECT_FALSE(peers(R"("listen": "0.0.0.0:1", "allow_unauthenticated": true)").ok());
  EXPECT_TRUE(peers(R"("listen": "0.0.0.0:1", "key_file": "/k")").ok());
}

TEST(PeerKeys, OfMtlsAreThereAllTogether) {
  const char* const files[] = {"tls_ca_file", "tls_certificate_file", "tls_key_file"};
  for (const char* base : {R"("listen": "127.0.0.1:1", "auth": "mtls")", R"("auth": "mtls")"}) {
    for (const char* missing : files) {
      std::string members = base;
      for (const char* file : files) {
        if (file != missing) members += std::string(", \"") + file + "\": \"/f\"";
      }
      const auto refused = peers(members);
      ASSERT_EQ(refused.errors.size(), 1u) << members;
      EXPECT_EQ(refused.errors[0].key, std::string("peers.") + missing);
      EXPECT_TRUE(peers(members + ", \"" + missing + R"(": "/f")").ok());
    }
  }
  // No links at all.
  EXPECT_TRUE(peers(R"("auth": "mtls")").ok());
  EXPECT_EQ(peers(R"("auth": "mtls", "listen": "10.0.0.1:1")").errors.size(), 3u);
}

TEST(PeerKeys, AdvertiseOnlyWhatListens) {
  const auto refused = peers(R"("advertise": "node-7")");
  ASSERT_EQ(refused.errors.size(), 1u);
  EXPECT_EQ(refused.errors[0].key, "peers.advertise");
}

}  // namespace
}  // namespace tentq
