// What every type of message must fulfil: each rule broken alone.
#include <gtest/gtest.h>

#include <limits>

#include "tests/daemon/peers/sample_messages.h"

namespace tentq::test {
namespace {

template <class Message>
Message sample() {
  for (const PeerMessage& message : sample_messages()) {
    if (const auto* found = std::get_if<Message>(&message)) return *found;
  }
  return {};
}

// Whether the sample, changed so, is still accepted.
template <class Message>
bool takes(void (*change)(Message&)) {
  Message message = sample<Message>();
  EXPECT_EQ(fault_of(message), "");
  change(message);
  return fault_of(message).empty();
}

TEST(PeerMessages, AreOneOfEachTypeAndCorrect) {
  ASSERT_EQ(sample_messages().size(), std::variant_size_v<PeerMessage>);
  for (const PeerMessage& message : sample_messages()) EXPECT_EQ(fault_of(message), "");
}

TEST(PeerMessages, CheckHellos) {
  using M = PeerHello;
  EXPECT_FALSE(takes<M>([](M& m) { m.magic ^= 1; }));
  EXPECT_FALSE(takes<M>([](M& m) { m.role = static_cast<PeerRole>(2); }));
  EXPECT_FALSE(takes<M>([](M& m) { m.reserved0 = 1; }));
  EXPECT_FALSE(takes<M>([](M& m) { m.reserved1 = 1; }));
  EXPECT_TRUE(takes<M>([](M& m) { m.reserved1 = 1, m.minor = kPeerMinor + 1; }));
  EXPECT_FALSE(takes<M>([](M& m) { m.host.fill(0); }));
  EXPECT_FALSE(takes<M>([](M& m) { m.epoch_counter = 0; }));
  EXPECT_FALSE(takes<M>([](M& m) { m.link = 0; }));
  EXPECT_FALSE(takes<M>([](M& m) { m.connection = 1; }));
  EXPECT_FALSE(takes<M>([](M& m) { m.role = PeerRole::data; }));
  EXPECT_TRUE(takes<M>([](M& m) { m.role = PeerRole::data, m.connection = 1; }));
  EXPECT_FALSE(takes<M>([](M& m) { m.advertised.bytes.fill('a'); }));
  EXPECT_FALSE(takes<M>([](M& m) { m.advertised.assign("a b\n"); }));
  EXPECT_TRUE(takes<M>([](M& m) { m.advertised.assign(""); }));
  EXPECT_TRUE(takes<M>([](M& m) { m.major = 2, m.role = static_cast<PeerRole>(9); }));
  EXPECT_TRUE(takes<M>([](M& m) { m.features = ~std::uint64_t{0}, m.transports = ~0u; }));
}

TEST(PeerMessages, CheckReadyAndRefused) {
  using R = PeerReady;
  EXPECT_FALSE(takes<R>([](R& m) { m.highest_class = 0; }));
  EXPECT_FALSE(takes<R>([](R& m) { m.highest_class = kClassCount; }));
  EXPECT_FALSE(takes<R>([](R& m) { m.data_connections = 0; }));
  EXPECT_FALSE(takes<R>([](R& m) { m.data_connections = 1025; }));
  EXPECT_FALSE(takes<R>([](R& m) { m.most_length = 0; }));
  using F = PeerRefused;
  EXPECT_FALSE(takes<F>([](F& m) { m.status = StatusCode::ok; }));
  EXPECT_FALSE(takes<F>([](F& m) { m.status = static_cast<StatusCode>(kStatusCodeCount); }));
  EXPECT_FALSE(takes<F>([](F& m) { m.reserved[2] = 1; }));
  EXPECT_FALSE(takes<F>([](F& m) { m.text.bytes.fill('x'); }));
}

TEST(PeerMessages, CheckSegments) {
  using O = PeerOpenSegment;
  EXPECT_FALSE(takes<O>([](O& m) { m.name.assign(""); }));
  EXPECT_FALSE(takes<O>([](O& m) { m.name.assign("../x"); }));
  EXPECT_FALSE(takes<O>([](O& m) { m.name.bytes.fill('a'); }));
  using S = PeerSegment;
  EXPECT_FALSE(takes<S>([](S& m) { m.segment = 0; }));
  EXPECT_TRUE(takes<S>([](S& m) { m.segment = 0, m.status = StatusCode::not_found; }));
  EXPECT_FALSE(takes<S>([](S& m) { m.status = static_cast<StatusCode>(999); }));
  EXPECT_FALSE(takes<S>([](S& m) { m.reserved[0] = 1; }));
  EXPECT_FALSE(takes<S>([](S& m) { m.text.bytes.fill('x'); }));
  EXPECT_FALSE(takes<PeerCloseSegment>([](PeerCloseSegment& m) { m.segment = 0; }));
  EXPECT_FALSE(takes<PeerListRegions>([](PeerListRegions& m) { m.segment = 0; }));
  EXPECT_FALSE(takes<PeerListRegions>([](PeerListRegions& m) { m.reserved = 1; }));
}

TEST(PeerMessages, CheckRegions) {
  using M = PeerRegions;
  EXPECT_FALSE(takes<M>([](M& m) { m.status = static_cast<StatusCode>(999); }));
  EXPECT_FALSE(takes<M>([](M& m) { m.reserved = 1; }));
  EXPECT_FALSE(takes<M>([](M& m) { m.count = kRegionRows + 1, m.total = 1000; }));
  EXPECT_FALSE(takes<M>([](M& m) { m.count = ~0u, m.total = ~0u; }));
  EXPECT_FALSE(takes<M>([](M& m) { m.total = m.first + m.count - 1; }));
  EXPECT_FALSE(takes<M>([](M& m) { m.first = ~0u - 1; }));  // first + count wraps in 32 bits
  EXPECT_FALSE(takes<M>([](M& m) { m.rows[63].access = 3; }));
  EXPECT_FALSE(takes<M>([](M& m) { m.rows[63].reserved = 1; }));
  EXPECT_FALSE(takes<M>([](M& m) { m.rows[0].size = 0; }));
  EXPECT_FALSE(takes<M>([](M& m) { m.rows[63].size = ~std::uint64_t{0}; }));
  EXPECT_FALSE(takes<M>([](M& m) { m.rows[5].base = 0; }));
  // A page behind the last row.
  EXPECT_TRUE(takes<M>([](M& m) {
    const PeerHeader header = m.header;
    m = M{};
    m.header = header;
    m.first = 1000;
    m.total = 3;
  }));
  EXPECT_TRUE(takes<M>([](M& m) { m.rows[63].size = 0 - m.rows[63].base; }));  // to the end
  EXPECT_FALSE(takes<M>([](M& m) { m.count = 63; }));
  EXPECT_TRUE(takes<M>([](M& m) { m.count = 63, m.rows[63] = {}; }));
}

TEST(PeerMessages, CheckNotificationsAndFences) {
  using M = PeerNotify;
  EXPECT_FALSE(takes<M>([](M& m) { m.segment = 0; }));
  EXPECT_FALSE(takes<M>([](M& m) { m.sender.bytes.fill('a'); }));
  EXPECT_FALSE(takes<M>([](M& m) { m.sender.assign("a/b"); }));
  EXPECT_TRUE(takes<M>([](M& m) { m.sender.assign(""); }));
  EXPECT_FALSE(takes<M>([](M& m) { m.name_bytes = kMaxNotifyNameBytes + 1; }));
  EXPECT_FALSE(takes<M>([](M& m) { m.message_bytes = kMaxNotifyMessageBytes + 1; }));
  EXPECT_FALSE(takes<M>([](M& m) { m.reserved = 1; }));
  EXPECT_TRUE(takes<M>([](M& m) { m.payload.back() = 'x'; }));
  EXPECT_FALSE(takes<M>([](M& m) { m.payload.back() = 'x', m.message_bytes -= 1; }));
  using N = PeerNotified;
  EXPECT_FALSE(takes<N>([](N& m) { m.state = TaskState::pending; }));
  EXPECT_TRUE(takes<N>([](N& m) { m.state = TaskState::failed; }));
  EXPECT_FALSE(takes<N>([](N& m) { m.state = TaskState::canceled; }));
  EXPECT_FALSE(takes<N>([](N& m) { m.state = static_cast<TaskState>(5); }));
  EXPECT_FALSE(takes<N>([](N& m) { m.reason = static_cast<Reason>(kReasonCount); }));
  EXPECT_FALSE(takes<N>([](N& m) { m.reserved0 = 1; }));
  EXPECT_FALSE(takes<N>([](N& m) { m.reserved1 = 1; }));
  EXPECT_FALSE(takes<PeerFence>([](PeerFence& m) { m.connection = 0; }));
  EXPECT_FALSE(takes<PeerFenced>([](PeerFenced& m) { m.connection = 0; }));
}

TEST(PeerMessages, CheckCredits) {
  using D = PeerDemand;
  EXPECT_FALSE(takes<D>([](D& m) { m.pool = static_cast<CreditPool>(2); }));
  EXPECT_FALSE(takes<D>([](D& m) { m.uplink_busy = 2; }));
  EXPECT_FALSE(takes<D>([](D& m) { m.freed = m.sent + 1; }));
  EXPECT_FALSE(takes<PeerGrant>([](PeerGrant& m) { m.pool = static_cast<CreditPool>(9); }));
}

}  // namespace
}  // namespace tentq::test
