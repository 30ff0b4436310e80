// Addresses to listen at: their forms, and who can reach them.
#include "daemon/config/endpoint.h"

#include <gtest/gtest.h>

#include "daemon/config/config.h"

namespace tentq {
namespace {

TEST(Endpoint, IsReadAndPrinted) {
  for (const char* text : {"127.0.0.1:9464", "0.0.0.0:0", "10.1.2.3:65535", "[::1]:9464", "[::]:1",
                           "[fd00::12:3]:80"}) {
    const auto endpoint = parse_endpoint(text);
    ASSERT_TRUE(endpoint) << text;
    EXPECT_EQ(endpoint->text(), text);
  }
}

TEST(Endpoint, IsNothingElse) {
  using namespace std::string_view_literals;  // NOLINT: literals
  for (const std::string_view text :
       {""sv, "127.0.0.1"sv, "9464"sv, ":9464"sv, "127.0.0.1:"sv, "127.0.0.1:65536"sv,
        "127.0.0.1:-1"sv, "127.0.0.1:+1"sv, "127.0.0.1:94x"sv, "127.0.0.1: 9464"sv,
        "localhost:9464"sv, "127.0.0:9464"sv, "::1:9464"sv, "[::1]9464"sv, "[]:9464"sv,
        "[127.0.0.1]:9464"sv, "[fe80::1%eth0]:9464"sv, "127.0.0.1\0:9464"sv, " 127.0.0.1:1"sv}) {
    EXPECT_FALSE(parse_endpoint(text)) << text;
  }
}

TEST(Endpoint, KnowsWhatOnlyThisHostReaches) {
  for (const char* text : {"127.0.0.1:1", "127.255.0.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"}) {
    EXPECT_TRUE(parse_endpoint(text)->loopback) << text;
  }
  for (const char* text : {"0.0.0.0:1", "128.0.0.1:1", "10.0.0.127:1", "[::]:1", "[::2]:1",
                           "[::ffff:10.0.0.1]:1", "[fe80::1]:1"}) {
    EXPECT_FALSE(parse_endpoint(text)->loopback) << text;
  }
}

TEST(MetricsKeys, TakeAnAddressOfThisHostOrNone) {
  for (const char* value : {"", "127.0.0.1:0", "127.0.0.1:9464", "[::1]:9464"}) {
    const auto outcome =
        parse_settings(std::string(R"({"metrics_listen": ")") + value + "\"}", "test.json");
    ASSERT_TRUE(outcome.ok()) << value;
    EXPECT_EQ(outcome.settings->metrics.listen, value);
  }
  const auto wrong = parse_settings(R"({"metrics_listen": "localhost"})", "test.json");
  ASSERT_EQ(wrong.errors.size(), 1u);
  EXPECT_EQ(wrong.errors[0].key, "metrics_listen");
  EXPECT_NE(wrong.errors[0].expected.find("127.0.0.1:9464"), std::string::npos);
}

TEST(MetricsKeys, APublicAddressNeedsTheOtherKey) {
  for (const char* value : {"0.0.0.0:9464", "10.0.0.1:9464", "[::]:9464"}) {
    const std::string listen = std::string(R"({"metrics_listen": ")") + value + '"';
    const auto refused = parse_settings(listen + "}", "test.json");
    ASSERT_EQ(refused.errors.size(), 1u) << value;
    EXPECT_EQ(refused.errors[0].key, "metrics_listen");
    EXPECT_NE(refused.errors[0].text().find("`metrics_listen_public`: true"), std::string::npos)
        << refused.errors[0].text();
    EXPECT_TRUE(parse_settings(listen + R"(, "metrics_listen_public": true})", "test.json").ok());
  }
}

}  // namespace
}  // namespace tentq
