// `directory.*` in the configuration: what is taken, and what is refused with its remedy.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/config/directory_endpoints.h"

namespace tentq {
namespace {

constexpr char kPeers[] = R"("peers": {"listen": "10.0.0.1:7471", "key_file": "/etc/tentq/key"})";

ConfigOutcome directory(const std::string& members, const std::string& peers = kPeers) {
  return parse_settings("{" + peers + R"(, "directory": {)" + members + "}}", "test.json");
}

TEST(DirectoryKeys, AreOffByDefault) {
  EXPECT_EQ(parse_settings("", "test.json").settings->directory.kind, DirectoryKind::none);
}

TEST(DirectoryKeys, AreTakenAndPrintedAsTheyWere) {
  const auto outcome = directory(
      R"("kind": "etcd", "endpoints": "http://etcd-0:2379, http://[::1]", "prefix": "/a/b-c",
         "lease": "10s", "timeout": "100ms")");
  for (const ConfigError& error : outcome.errors) ADD_FAILURE() << error.text();
  ASSERT_TRUE(outcome.ok());
  const auto again = parse_settings(print_settings(*outcome.settings), "printed");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.settings->directory.endpoints, "http://etcd-0:2379, http://[::1]");
  EXPECT_EQ(print_settings(*again.settings), print_settings(*outcome.settings));
}

TEST(DirectoryKeys, ThatAreWrongAreNamedWithWhatIsExpected) {
  const std::pair<const char*, const char*> bad[] = {
      {R"("kind": "consul")", "\"etcd\""},
      {R"("endpoints": "etcd-0:2379")", "http://"},
      {R"("endpoints": "https://etcd-0:2379")", "https:// is not spoken"},
      {R"("endpoints": "http://etcd-0:2379,,http://etcd-1")", "http://"},
      {R"("endpoints": "http://a:70000")", "http://"},
      {R"("prefix": "tentq")", "'-' and '/'"},
      {R"("prefix": "/")", "'-' and '/'"},
      {R"("prefix": "/a/")", "'-' and '/'"},
      {R"("prefix": "/a b")", "'-' and '/'"},
      {R"("lease": "1s")", "2s"},
      {R"("timeout": "99ms")", "100ms"},
  };
  for (const auto& [text, expected] : bad) {
    const auto outcome = directory(text);
    ASSERT_EQ(outcome.errors.size(), 1u) << text;
    EXPECT_TRUE(outcome.errors[0].key.starts_with("directory.")) << text;
    EXPECT_NE(outcome.errors[0].expected.find(expected), std::string::npos)
        << outcome.errors[0].text();
  }
}

// Each error alone: what the directory needs besides its own keys.
TEST(DirectoryKeys, NeedEndpointsLinksAndAnAddressToTell) {
  const std::string etcd = R"("kind": "etcd", "endpoints": "http://etcd-0")";
  EXPECT_TRUE(directory(etcd).ok());
  const auto key_of_only_error = [](const ConfigOutcome& outcome) {
    return outcome.errors.size() == 1 ? outcome.errors[0].key : "not one error";
  };
  EXPECT_EQ(key_of_only_error(directory(R"("kind": "etcd")")), "directory.endpoints");
  EXPECT_EQ(key_of_only_error(directory(etcd, R"("peers": {})")), "directory.kind");
  const std::string everywhere =
      R"("peers": {"listen": "0.0.0.0:7471", "key_file": "/etc/tentq/key")";
  EXPECT_EQ(key_of_only_error(directory(etcd, everywhere + "}")), "peers.advertise");
  EXPECT_TRUE(directory(etcd, everywhere + R"(, "advertise": "node-7"})").ok());
}

TEST(DirectoryKeys, NameSixteenEndpointsAtMost) {
  std::string text;
  std::vector<PeerAddress> endpoints;
  for (int i = 0; i < 16; ++i) text += (i == 0 ? "" : ",") + std::string("http://e") + "x";
  EXPECT_TRUE(parse_directory_endpoints(text, &endpoints));
  EXPECT_EQ(endpoints.size(), 16u);
  EXPECT_FALSE(parse_directory_endpoints(text + ",http://e", &endpoints));
}

}  // namespace
}  // namespace tentq
