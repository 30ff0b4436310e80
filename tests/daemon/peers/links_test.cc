// Links that are made: with a key and without, over IPv4, IPv6 and names, many at once; messages on
// them.
#include "daemon/peers/links.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/daemon/peers/peer_node.h"
#include "tests/daemon/peers/raw_peer.h"

namespace tentq::test {
namespace {

class PeerLinksWith : public testing::TestWithParam<std::string> {};

TEST_P(PeerLinksWith, ComeUpOnBothSidesWithTheirDataConnections) {
  Loop loop;
  Node a(loop, {.host = 1, .epoch = 7, .key = GetParam()});
  Node b(loop, {.host = 2, .epoch = 9, .key = GetParam()});
  a.want(b.address());
  ASSERT_TRUE(loop.until([&] { return Node::connected(a, b); }));
  const LinkKey key = a.up_on(LinkSide::dialed)[0];
  EXPECT_EQ(a.links->link_to(b.address()), key);
  const PeerLink& there = a.up.at(key);
  EXPECT_EQ(there.host, host_id(2));
  EXPECT_EQ(there.epoch_counter, 9u);
  EXPECT_EQ(there.epoch_random, 9002u);
  EXPECT_EQ(there.address, b.address());
  EXPECT_EQ(there.advertised, b.address());
  EXPECT_EQ(there.ready.data_connections, 2u);
  EXPECT_EQ(there.ready.highest_class, index_of(ClassId::foreground));
  EXPECT_EQ(there.ready.most_length, 16u << 20);
  const PeerLink& back = b.up.at(b.up_on(LinkSide::accepted)[0]);
  EXPECT_EQ(back.host, host_id(1));
  EXPECT_EQ(back.epoch_counter, 7u);
  EXPECT_EQ(back.link, there.link);
  EXPECT_EQ(back.advertised, a.address());
  EXPECT_TRUE(a.troubles.empty());
  EXPECT_TRUE(b.troubles.empty());
}

TEST_P(PeerLinksWith, GoBothWaysBetweenTwoHosts) {
  Loop loop;
  Node a(loop, {.host = 1, .key = GetParam()}), b(loop, {.host = 2, .key = GetParam()});
  a.want(b.address());
  b.want(a.address());
  ASSERT_TRUE(loop.until([&] { return a.data.size() == 4 && b.data.size() == 4; }));
  EXPECT_EQ(a.up.size(), 2u);
  EXPECT_EQ(b.up.size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Auth, PeerLinksWith, testing::Values(kSecret, ""),
                         [](const auto& at) { return at.param.empty() ? "none" : "psk"; });

TEST(PeerLinks, GoOverIpv6AndNames) {
  Loop loop;
  Node a(loop, {.host = 1});
  Node six(loop, {.host = 2, .listen = "[::1]:0"}), four(loop, {.host = 3});
  a.want(six.address());
  a.want("localhost:" + four.address().substr(four.address().rfind(':') + 1));
  ASSERT_TRUE(loop.until([&] { return a.data.size() == 4; }));
  EXPECT_EQ(six.up.size(), 1u);
  EXPECT_EQ(four.up.size(), 1u);
  EXPECT_TRUE(a.address().starts_with("127.0.0.1:")) << a.address();
  EXPECT_TRUE(six.address().starts_with("[::1]:")) << six.address();
}

TEST(PeerLinks, ListenAtEveryAddressAndAdvertiseTheOneThatWasReached) {
  Loop loop;
  Node a(loop, {.host = 1}), b(loop, {.host = 2, .listen = "[::]:0"});
  const std::string port = b.address().substr(b.address().rfind(':'));
  a.want("127.0.0.1" + port);
  ASSERT_TRUE(loop.until([&] { return Node::connected(a, b); }));
  EXPECT_EQ(a.up.begin()->second.advertised, "127.0.0.1" + port);
  EXPECT_TRUE(b.up.begin()->second.address.starts_with("127.0.0.1:"));
}

TEST(PeerLinks, AdvertiseWhatIsConfigured) {
  Loop loop;
  Node a(loop, {.host = 1}), b(loop, {.host = 2, .advertise = "node-7"});
  Node c(loop, {.host = 3, .advertise = "node-8:99"}), silent(loop, {.host = 4, .listen = ""});
  a.want(b.address());
  a.want(c.address());
  silent.want(a.address());
  ASSERT_TRUE(loop.until([&] { return a.up.size() == 3; }));
  std::map<HostId, std::string> advertised;
  for (const auto& [key, peer] : a.up) advertised[peer.host] = peer.advertised;
  EXPECT_EQ(advertised[host_id(2)], "node-7" + b.address().substr(b.address().rfind(':')));
  EXPECT_EQ(advertised[host_id(3)], "node-8:99");
  EXPECT_EQ(advertised[host_id(4)], "");
}

TEST(PeerLinks, CarryMessagesBothWays) {
  Loop loop;
  Node a(loop, {.host = 1}), b(loop, {.host = 2});
  a.want(b.address());
  ASSERT_TRUE(loop.until([&] { return Node::connected(a, b); }));
  const LinkKey there = a.up_on(LinkSide::dialed)[0], back = b.up_on(LinkSide::accepted)[0];
  PeerOpenSegment open;
  open.header.request = 17;
  open.name.assign("store-1");
  ASSERT_TRUE(a.links->send(there, open));
  ASSERT_TRUE(loop.until([&] { return b.messages.size() == 1; }));
  EXPECT_EQ(b.messages[0].first, back);
  const auto& got = std::get<PeerOpenSegment>(b.messages[0].second);
  EXPECT_EQ(got.header.request, 17u);
  EXPECT_EQ(got.name.view(), "store-1");
  PeerSegment segment;
  segment.header.request = 17;
  segment.segment = 5;
  PeerGrant grant;
  grant.limit = 99;
  ASSERT_TRUE(b.links->send(back, segment));
  ASSERT_TRUE(b.links->send(back, grant));
  ASSERT_TRUE(loop.until([&] { return a.messages.size() == 2; }));
  EXPECT_EQ(std::get<PeerSegment>(a.messages[0].second).segment, 5u);
  EXPECT_EQ(std::get<PeerGrant>(a.messages[1].second).limit, 99u);
  EXPECT_FALSE(a.links->send(LinkKey{999}, open));
}

TEST(PeerLinks, KeepTheOrderOfMoreMessagesThanOneReadTakes) {
  Loop loop;
  Node a(loop, {.host = 1}), b(loop, {.host = 2});
  a.want(b.address());
  ASSERT_TRUE(loop.until([&] { return Node::connected(a, b); }));
  const LinkKey there = a.up_on(LinkSide::dialed)[0];
  constexpr std::uint64_t kCount = 200;  // of 4 KiB, below the bound of what may wait
  for (std::uint64_t i = 1; i <= kCount; ++i) {
    PeerNotify notify;
    notify.segment = 1;
    notify.serial = i;
    notify.message_bytes = kMaxNotifyMessageBytes;
    ASSERT_TRUE(a.links->send(there, notify)) << i;
  }
  ASSERT_TRUE(loop.until([&] { return b.messages.size() == kCount; }));
  for (std::uint64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(std::get<PeerNotify>(b.messages[i].second).serial, i + 1);
  }
}

TEST(PeerLinks, ComeUpManyAtOnce) {
  Loop loop;
  constexpr std::uint8_t kHosts = 40;
  Node hub(loop, {.host = 200});
  std::vector<std::unique_ptr<Node>> nodes;
  for (std::uint8_t i = 1; i <= kHosts; ++i) {
    nodes.push_back(std::make_unique<Node>(loop, Node::Options{.host = i}));
    nodes.back()->want(hub.address());
    hub.want(nodes.back()->address());
  }
  ASSERT_TRUE(loop.until([&] {
    return hub.up.size() == 2u * kHosts && hub.data.size() == 4u * kHosts &&
           std::all_of(nodes.begin(), nodes.end(), [](const auto& node) {
             return node->up.size() == 2 && node->data.size() == 4;
           });
  }));
  EXPECT_TRUE(hub.troubles.empty());
  EXPECT_TRUE(hub.downs.empty());
}

TEST(PeerLinks, AreNotWantedOfWhatIsNoAddressOrWithoutAKey) {
  Loop loop;
  Node a(loop, {.host = 1});
  std::string why;
  for (const char* bad : {"", "a b", "host:0", "host:70000", "[::1", "tentq://a", "-x"}) {
    EXPECT_FALSE(a.links->want(bad, &why)) << bad;
    EXPECT_NE(why.find("7471"), std::string::npos) << why;
  }
  PeerTerms terms;
  terms.self = {host_id(9), 1, 1};
  PeerLinks keyless(loop.io, std::move(terms), a);
  EXPECT_TRUE(keyless.listen(&why));  // nowhere: the default
  EXPECT_EQ(keyless.listens_at(), "");
  EXPECT_FALSE(keyless.want("127.0.0.1:1", &why));
  EXPECT_NE(why.find("peers.key_file"), std::string::npos) << why;
}

TEST(PeerLinks, SayWhyTheyCannotListen) {
  Loop loop;
  Node a(loop, {.host = 1});
  PeerTerms terms;
  terms.settings.listen = a.address();
  terms.self = {host_id(9), 1, 1};
  terms.key = key_of(kSecret);
  PeerLinks second(loop.io, std::move(terms), a);
  std::string why;
  EXPECT_FALSE(second.listen(&why));
  EXPECT_NE(why.find("peers.listen"), std::string::npos) << why;
  EXPECT_NE(why.find("in use"), std::string::npos) << why;
}

}  // namespace
}  // namespace tentq::test
