// Proofs, and both sides of a handshake without sockets.
#include "daemon/peers/handshake.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tentq {
namespace {

PeerKey key_of(const std::string& text) {
  return PeerKey(std::vector<std::uint8_t>(text.begin(), text.end()));
}
PeerIdentity identity(std::uint8_t number) {
  PeerIdentity self;
  self.host.fill(number);
  self.epoch_counter = number;
  self.epoch_random = number;
  return self;
}
PeerHello dialer_hello(const PeerKey& key) {
  PeerHello hello = make_hello(identity(1), key, "a:1");
  hello.link = 3;
  return hello;
}
PeerReady ready() {
  PeerReady made;
  made.highest_class = 1;
  made.data_connections = 2;
  made.most_length = 4096;
  return made;
}

// Of a fixed key, and HELLOs whose bytes count up: computed by another implementation.
TEST(PeerProof, IsHmacSha256OverTheLabelAndBothHellos) {
  PeerHello dialer, acceptor;
  for (std::size_t i = 0; i < sizeof(PeerHello); ++i) {
    reinterpret_cast<std::uint8_t*>(&dialer)[i] = static_cast<std::uint8_t>(i);
    reinterpret_cast<std::uint8_t*>(&acceptor)[i] = static_cast<std::uint8_t>(255 - i % 256);
  }
  const Proof proof =
      make_proof(key_of("0123456789abcdef0123456789abcdef"), PeerSide::dialer, dialer, acceptor);
  std::string hex;
  for (const std::uint8_t byte : proof) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    hex += digits;
  }
  EXPECT_EQ(hex, "e51f56a734867ee1ca5ba31470400add6d8d4d5ec926dd0d04c0fd921ae72df5");
}

TEST(PeerProof, DependsOnEverything) {
  const PeerKey key = key_of(std::string(32, 'k'));
  const PeerHello a = dialer_hello(key), b = make_hello(identity(2), key, "b:1");
  const Proof proof = make_proof(key, PeerSide::dialer, a, b);
  EXPECT_TRUE(same_proof(proof, make_proof(key, PeerSide::dialer, a, b)));
  EXPECT_FALSE(same_proof(proof, make_proof(key, PeerSide::acceptor, a, b)));
  EXPECT_FALSE(same_proof(proof, make_proof(key, PeerSide::dialer, b, a)));
  EXPECT_FALSE(same_proof(proof, make_proof(key_of(std::string(33, 'k')), PeerSide::dialer, a, b)));
  for (std::size_t i = 0; i < sizeof(PeerHello); ++i) {
    for (const bool first : {true, false}) {
      PeerHello x = a, y = b;
      reinterpret_cast<std::uint8_t*>(first ? &x : &y)[i] ^= 1;
      EXPECT_FALSE(same_proof(proof, make_proof(key, PeerSide::dialer, x, y))) << i;
    }
  }
  for (std::size_t i = 0; i < proof.size(); ++i) {
    Proof other = proof;
    other[i] ^= 0x80;
    EXPECT_FALSE(same_proof(proof, other)) << i;
  }
}

TEST(PeerHelloMade, HasAFreshNonceEachTime) {
  const PeerKey key = key_of(std::string(32, 'k'));
  EXPECT_NE(dialer_hello(key).nonce, dialer_hello(key).nonce);
  EXPECT_EQ(dialer_hello(key).features, kPeerKeyed);
  EXPECT_EQ(dialer_hello(PeerKey()).features, 0u);
}

class Handshake : public testing::TestWithParam<bool> {
 protected:
  const PeerKey key_ = GetParam() ? key_of(std::string(32, 'k')) : PeerKey();
};

TEST_P(Handshake, EndsWithBothSidesKnowingEachOther) {
  DialerHandshake dialer(key_, dialer_hello(key_));
  AcceptorHandshake acceptor(key_, make_hello(identity(2), key_, "b:1"));
  std::optional<PeerMessage> answer;
  std::optional<PeerProof> proof;
  ASSERT_FALSE(acceptor.received(dialer.hello(), &answer));
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<PeerHello>(*answer).link, 3u);
  EXPECT_EQ(acceptor.authenticated(), !GetParam());
  ASSERT_FALSE(dialer.received(*answer, &proof));
  EXPECT_EQ(proof.has_value(), GetParam());
  EXPECT_FALSE(dialer.done());
  if (proof) {
    answer.reset();
    ASSERT_FALSE(acceptor.received(*proof, &answer));
    ASSERT_TRUE(answer);
    proof.reset();
    ASSERT_FALSE(dialer.received(*answer, &proof));
    EXPECT_FALSE(proof);
    EXPECT_FALSE(dialer.done());
  }
  EXPECT_TRUE(acceptor.authenticated());
  ASSERT_FALSE(dialer.received(ready(), &proof));
  EXPECT_TRUE(dialer.done());
  EXPECT_EQ(dialer.peer().host, identity(2).host);
  EXPECT_EQ(acceptor.peer().host, identity(1).host);
  EXPECT_EQ(dialer.ready().most_length, 4096u);
}

TEST_P(Handshake, OfAnAnswerToAnotherConnectionFails) {
  for (int field = 0; field < 3; ++field) {
    DialerHandshake dialer(key_, dialer_hello(key_));
    PeerHello answer = make_hello(identity(2), key_, "");
    answer.link = field == 0 ? 4 : 3;
    answer.connection = field == 1 ? 1 : 0;
    answer.role = field == 2 ? PeerRole::data : PeerRole::control;
    std::optional<PeerProof> proof;
    const auto fault = dialer.received(answer, &proof);
    ASSERT_TRUE(fault) << field;
    EXPECT_EQ(fault->reason, PeerReason::protocol_error);
    EXPECT_FALSE(proof);
  }
}

TEST_P(Handshake, TakesNothingOutOfOrder) {
  const PeerMessage early[] = {ready(), PeerProof{}, PeerPing{}, PeerFence{}, PeerGrant{}};
  for (const PeerMessage& message : early) {
    DialerHandshake dialer(key_, dialer_hello(key_));
    AcceptorHandshake acceptor(key_, make_hello(identity(2), key_, ""));
    std::optional<PeerProof> proof;
    std::optional<PeerMessage> answer;
    EXPECT_TRUE(dialer.received(message, &proof));
    EXPECT_TRUE(acceptor.received(message, &answer));
    EXPECT_FALSE(acceptor.authenticated());
    EXPECT_FALSE(dialer.done());
  }
}

TEST_P(Handshake, EndsWithTheTextOfARefusal) {
  DialerHandshake dialer(key_, dialer_hello(key_));
  PeerRefused refused;
  refused.text.assign("go away");
  std::optional<PeerProof> proof;
  const auto fault = dialer.received(refused, &proof);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->reason, PeerReason::refused);
  EXPECT_EQ(fault->text, "go away");
}

INSTANTIATE_TEST_SUITE_P(Auth, Handshake, testing::Bool(),
                         [](const auto& at) { return at.param ? "psk" : "none"; });

TEST(PeerReasons, HaveTextsRemediesAndStatuses) {
  for (std::size_t i = 0; i < kPeerReasonCount; ++i) {
    const auto reason = static_cast<PeerReason>(i);
    EXPECT_NE(to_string(reason), "unknown") << i;
    EXPECT_FALSE(remedy(reason).empty()) << i;
    EXPECT_NE(status_of(reason), StatusCode::ok) << i;
    EXPECT_NE(status_of(reason), StatusCode::internal_error) << i;
  }
  EXPECT_EQ(to_string(static_cast<PeerReason>(kPeerReasonCount)), "unknown");
}

}  // namespace
}  // namespace tentq
