// Who is not let in: wrong keys, changed, reflected and replayed messages, garbage, and those that
// say nothing, or too little at a time. Each is told why where it can be told.
#include "daemon/peers/gate.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/steady_timer.hpp>
#include <random>

#include "tests/daemon/peers/peer_node.h"
#include "tests/daemon/peers/raw_peer.h"

namespace tentq::test {
namespace {

bool says(const std::optional<PeerRefused>& refused, std::string_view part) {
  return refused && refused->text.view().find(part) != std::string_view::npos;
}

TEST(Gate, RefusesAnotherKeyAndSaysSo) {
  Loop loop;
  Node a(loop, {.host = 1, .key = std::string(32, 'x')}), b(loop, {.host = 2});
  a.want(b.address());
  ASSERT_TRUE(loop.until([&] { return !a.troubles.empty() && !b.troubles.empty(); }));
  EXPECT_EQ(b.troubles[0].reason, PeerReason::wrong_key);
  EXPECT_FALSE(b.troubles[0].dialed);
  EXPECT_EQ(a.troubles[0].reason, PeerReason::refused);
  EXPECT_TRUE(a.troubles[0].dialed);
  EXPECT_EQ(a.troubles[0].address, b.address());
  EXPECT_NE(a.troubles[0].text.find("peers.key_file"), std::string::npos) << a.troubles[0].text;
  EXPECT_TRUE(a.up.empty() && b.up.empty());
  EXPECT_EQ(b.links->counts()[static_cast<std::size_t>(PeerReason::wrong_key)], 1u);
}

TEST(Gate, RefusesWhoHasNoKeyWhereOneIsAskedForAndTheOtherWayRound) {
  Loop loop;
  Node keyed(loop, {.host = 1}), open(loop, {.host = 2, .key = ""});
  keyed.want(open.address());
  open.want(keyed.address());
  ASSERT_TRUE(loop.until([&] { return keyed.troubles.size() >= 2 && open.troubles.size() >= 2; }));
  EXPECT_TRUE(keyed.has_trouble(PeerReason::auth_mismatch));
  EXPECT_TRUE(open.has_trouble(PeerReason::auth_mismatch));
  EXPECT_TRUE(keyed.up.empty() && open.up.empty());
}

// The acceptor claims to ask for a key, then lets the dialer in without a proof of its own.
TEST(Gate, ADialerWithAKeyDoesNotTakeAReadyWithoutAProof) {
  Loop loop;
  std::string address;
  const shm::Fd listener = listen_anywhere(&address);
  Node a(loop, {.host = 1});
  a.want(address);
  RawPeer fake(loop, listener);
  const auto hello = fake.next<PeerHello>();
  ASSERT_TRUE(hello);
  PeerHello own = RawPeer::hello(2, 1, hello->link);
  fake.send(own);
  ASSERT_TRUE(fake.next<PeerProof>());
  PeerReady ready;
  ready.highest_class = 1;
  ready.data_connections = 1;
  ready.most_length = 1;
  fake.send(ready);
  ASSERT_TRUE(loop.until([&] { return !a.troubles.empty(); }));
  EXPECT_EQ(a.troubles[0].reason, PeerReason::protocol_error);
  EXPECT_TRUE(a.up.empty());
}

// It sends back what it was sent, which is all that somebody without the key has.
TEST(Gate, ADialerDoesNotTakeItsOwnProofBack) {
  Loop loop;
  std::string address;
  const shm::Fd listener = listen_anywhere(&address);
  Node a(loop, {.host = 1});
  a.want(address);
  RawPeer fake(loop, listener);
  const auto hello = fake.next<PeerHello>();
  ASSERT_TRUE(hello);
  fake.send(RawPeer::hello(2, 1, hello->link));
  const auto proof = fake.next<PeerProof>();
  ASSERT_TRUE(proof);
  fake.send(*proof);
  ASSERT_TRUE(loop.until([&] { return !a.troubles.empty(); }));
  EXPECT_EQ(a.troubles[0].reason, PeerReason::wrong_key);
  EXPECT_TRUE(a.up.empty());
}

TEST(Gate, ADialersHelloSentBackIsItself) {
  Loop loop;
  std::string address;
  const shm::Fd listener = listen_anywhere(&address);
  Node a(loop, {.host = 1});
  a.want(address);
  RawPeer fake(loop, listener);
  const auto hello = fake.next<PeerHello>();
  ASSERT_TRUE(hello);
  fake.send(*hello);
  ASSERT_TRUE(loop.until([&] { return !a.troubles.empty(); }));
  EXPECT_EQ(a.troubles[0].reason, PeerReason::itself);
}

TEST(Gate, AProofDoesNotServeASecondTime) {
  Loop loop;
  Node b(loop, {.host = 2});
  const PeerKey key = key_of(kSecret);
  const PeerHello own = RawPeer::hello(1, 1, 1);
  PeerProof proof;
  {
    RawPeer first(loop, b.address());
    first.send(own);
    const auto peer = first.next<PeerHello>();
    ASSERT_TRUE(peer);
    proof.proof = make_proof(key, PeerSide::dialer, own, *peer);
    first.send(proof);
    ASSERT_TRUE(first.next<PeerProof>());
    ASSERT_TRUE(first.next<PeerReady>());
  }
  RawPeer second(loop, b.address());
  second.send(own);  // recorded, byte by byte
  ASSERT_TRUE(second.next<PeerHello>());
  second.send(proof);
  EXPECT_TRUE(says(second.next<PeerRefused>(), "another key"));
  EXPECT_TRUE(second.ended());
}

// One byte of the dialer's HELLO differs from what it proves: every field is covered.
TEST(Gate, AChangedHelloDoesNotFitItsProof) {
  Loop loop;
  Node b(loop, {.host = 2, .connect_timeout = std::chrono::milliseconds{500}});
  const PeerKey key = key_of(kSecret);
  for (std::size_t at = 16; at < sizeof(PeerHello); at += 3) {
    const PeerHello own = RawPeer::hello(1, 1, at);
    PeerHello changed = own;
    reinterpret_cast<std::uint8_t*>(&changed)[at] ^= 0x10;
    RawPeer raw(loop, b.address());
    raw.send(changed);
    const auto answer = raw.next();
    ASSERT_TRUE(answer) << at;
    const auto* peer = std::get_if<PeerHello>(&*answer);
    if (peer == nullptr) {  // refused as malformed
      EXPECT_TRUE(std::holds_alternative<PeerRefused>(*answer)) << at;
      continue;
    }
    PeerProof proof;
    proof.proof = make_proof(key, PeerSide::dialer, own, *peer);
    raw.send(proof);
    const auto refused = raw.next();
    EXPECT_TRUE(refused && std::holds_alternative<PeerRefused>(*refused)) << at;
  }
  EXPECT_TRUE(b.up.empty());
}

TEST(Gate, RefusesOtherVersionsByTheirNumber) {
  Loop loop;
  Node b(loop, {.host = 2});
  PeerHello hello = RawPeer::hello(1, 1, 1);
  hello.major = 9;
  RawPeer raw(loop, b.address());
  raw.send(hello);
  ASSERT_TRUE(raw.next<PeerHello>());  // so that it learns what is spoken here
  const auto refused = raw.next<PeerRefused>();
  EXPECT_TRUE(says(refused, "version 9"));
  EXPECT_EQ(refused->status, StatusCode::incompatible);
}

TEST(Gate, RefusesGarbageBeforeTheHandshake) {
  Loop loop;
  Node b(loop, {.host = 2});
  const std::uint64_t seed = std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 50; ++round) {
    std::string bytes(1 + random() % 2000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    if (round == 0) bytes = "GET / HTTP/1.1\r\nHost: tentq\r\n\r\n";
    RawPeer raw(loop, b.address());
    raw.send_bytes(bytes.data(), bytes.size());
    if (bytes.size() < sizeof(PeerHeader)) {
      raw.close();
      continue;
    }
    EXPECT_TRUE(raw.next<PeerRefused>()) << round;
    EXPECT_TRUE(raw.ended());
  }
  EXPECT_TRUE(b.up.empty());
  EXPECT_TRUE(b.has_trouble(PeerReason::protocol_error));
}

TEST(Gate, RefusesWhatIsOutOfOrder) {
  Loop loop;
  Node b(loop, {.host = 2});
  RawPeer ping(loop, b.address());
  ping.send(PeerPing{});
  EXPECT_TRUE(says(ping.next<PeerRefused>(), "cannot come"));
  RawPeer twice(loop, b.address());
  const PeerHello hello = RawPeer::hello(1, 1, 1);
  twice.send(hello);
  twice.send(hello);
  ASSERT_TRUE(twice.next<PeerHello>());
  EXPECT_TRUE(says(twice.next<PeerRefused>(), "cannot come"));
}

TEST(Gate, RefusesWhoDoesNotWaitForReady) {
  Loop loop;
  Node b(loop, {.host = 2, .key = ""});
  RawPeer raw(loop, b.address());
  struct {
    PeerHello hello = RawPeer::hello(1, 1, 1, 0, false);
    PeerPing ping{{PeerMessageType::ping, sizeof(PeerPing), 0}};
  } both;
  ASSERT_TRUE(raw.send_bytes(&both, sizeof(both)));
  ASSERT_TRUE(raw.next<PeerHello>());
  EXPECT_TRUE(says(raw.next<PeerRefused>(), "READY"));
  EXPECT_TRUE(b.up.empty());
}

TEST(Gate, EndsWhoSaysNothing) {
  Loop loop;
  Node b(loop, {.host = 2, .connect_timeout = std::chrono::milliseconds{100}});
  RawPeer silent(loop, b.address()), half(loop, b.address());
  half.send(RawPeer::hello(1, 1, 1));
  ASSERT_TRUE(half.next<PeerHello>());
  EXPECT_TRUE(says(half.next<PeerRefused>(), "too long"));
  EXPECT_TRUE(silent.ended());
  EXPECT_EQ(b.links->counts()[static_cast<std::size_t>(PeerReason::handshake_timeout)], 2u);
}

TEST(Gate, EndsWhoDribbles) {
  Loop loop;
  Node b(loop, {.host = 2, .connect_timeout = std::chrono::milliseconds{100}});
  RawPeer raw(loop, b.address());
  const PeerHello hello = RawPeer::hello(1, 1, 1);
  std::size_t sent = 0;
  boost::asio::steady_timer pace(loop.io);
  std::function<void()> dribble = [&] {
    pace.expires_after(std::chrono::milliseconds{5});
    pace.async_wait([&](boost::system::error_code error) {
      if (error || sent >= sizeof(hello)) return;
      raw.send_bytes(reinterpret_cast<const std::byte*>(&hello) + sent++, 1);
      dribble();
    });
  };
  dribble();
  EXPECT_TRUE(raw.ended());
  EXPECT_LT(sent, sizeof(hello));
  EXPECT_TRUE(b.has_trouble(PeerReason::handshake_timeout));
}

TEST(Gate, TakesOnlySoManyOfOneAddressAtATime) {
  Loop loop;
  Node b(loop, {.host = 2, .connect_timeout = std::chrono::milliseconds{300}});
  std::vector<std::unique_ptr<RawPeer>> crowd;
  for (std::size_t i = 0; i < Gate::kMostOfAddress + 3; ++i) {
    crowd.push_back(std::make_unique<RawPeer>(loop, b.address()));
  }
  EXPECT_TRUE(says(crowd.back()->next<PeerRefused>(), "too many"));
  EXPECT_EQ(b.links->counts()[static_cast<std::size_t>(PeerReason::too_many)], 3u);
  // Their time limit makes room again.
  ASSERT_TRUE(loop.until([&] {
    return b.links->counts()[static_cast<std::size_t>(PeerReason::handshake_timeout)] ==
           Gate::kMostOfAddress;
  }));
  crowd.clear();
  Node a(loop, {.host = 1});
  a.want(b.address());
  EXPECT_TRUE(loop.until([&] { return Node::connected(a, b); }));
}

TEST(Gate, TakesLinksOfSoManyHosts) {
  Loop loop;
  Node b(loop, {.host = 9, .most = 2});
  std::vector<std::unique_ptr<Node>> nodes;
  for (std::uint8_t i = 1; i <= 2; ++i) {
    nodes.push_back(std::make_unique<Node>(loop, Node::Options{.host = i}));
    nodes.back()->want(b.address());
  }
  ASSERT_TRUE(loop.until([&] { return b.data.size() == 4; }));
  Node third(loop, {.host = 3});
  third.want(b.address());
  ASSERT_TRUE(loop.until([&] { return !third.troubles.empty(); }));
  EXPECT_NE(third.troubles[0].text.find("peers.most"), std::string::npos);
  EXPECT_EQ(b.up.size(), 2u);
  // A place that is left is taken.
  nodes.pop_back();
  EXPECT_TRUE(loop.until([&] { return !third.up.empty(); }));
}

}  // namespace
}  // namespace tentq::test
