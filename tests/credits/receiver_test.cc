// The receiving end, step by step: the pool, whose turn it is, lives that end, what outsiders send.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "daemon/core/credits/receiver.h"

namespace tentq::core {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::uint64_t kS = 64u << 10;
constexpr std::uint64_t kEpoch = 7;

CreditRules rules() {
  CreditRules rules;
  rules.chunk_bytes = kS;
  rules.boot_bytes = 8 * kS;
  return rules;
}

// A sender as the receiver sees it: it uses at once all that it is granted.
struct Asker {
  std::uint64_t life = 1;
  std::uint64_t serial = 0;
  std::uint64_t sent = 0;
  std::uint64_t freed = 0;
};

class CreditReceiverTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kSenders = 8;
  CreditReceiverTest() {
    for (std::uint32_t s = 0; s < kSenders; ++s) receiver.attach(s, 100 + s, true);
  }
  ~CreditReceiverTest() override { receiver.check_invariants(); }
  PeerDemand demand(std::uint32_t s, std::uint64_t wanted, ClassId cls = ClassId::standard) {
    Asker& asker = askers[s];
    PeerDemand demand;
    demand.sender_epoch = 100 + s;
    demand.receiver_epoch = kEpoch;
    demand.nonce = asker.life << 32 | ++asker.serial;
    demand.sent = asker.sent;
    demand.freed = asker.freed;
    demand.wanted[index_of(cls)] = wanted;
    return demand;
  }
  bool ask(std::uint32_t s, std::uint64_t wanted, ClassId cls = ClassId::standard) {
    const bool taken = receiver.take_demand(s, demand(s, wanted, cls), now_ns);
    receiver.check_invariants();
    return taken;
  }
  // Uses what it was granted, and tells that all of it is in memory.
  void use_all(std::uint32_t s) { askers[s].sent = askers[s].freed = receiver.of(s).limit; }
  std::map<std::uint32_t, PeerGrant> grants() {
    std::map<std::uint32_t, PeerGrant> all;
    std::uint32_t s = 0;
    while (const auto grant = receiver.next_grant(&s)) all[s] = *grant;
    return all;
  }
  void leave_boot() {
    now_ns = 213 * kMs;
    receiver.advance(now_ns);
    ASSERT_FALSE(receiver.is_booting());
  }
  // Until the rate is known.
  void ingest(double bytes_per_ns) {
    for (int i = 0; i < 40; ++i) {
      now_ns += static_cast<std::int64_t>(static_cast<double>(kS) / bytes_per_ns);
      receiver.ingested(kS, now_ns);
    }
  }

  std::int64_t now_ns = 0;
  CreditReceiver receiver{rules(), CreditPool::user, kSenders, kEpoch, 0};
  std::map<std::uint32_t, Asker> askers;
};

TEST_F(CreditReceiverTest, ABootGivesAChunkEachAndThenThePool) {
  now_ns = 10 * kMs;
  EXPECT_TRUE(ask(0, 100 * kS));
  EXPECT_TRUE(ask(1, 100 * kS));
  EXPECT_EQ(receiver.outstanding_of(0), kS);
  EXPECT_EQ(receiver.outstanding_of(1), kS);
  EXPECT_TRUE(receiver.exposure().booting);
  leave_boot();
  EXPECT_TRUE(ask(0, 100 * kS)) << "that life has not been silent for a ttl";
  EXPECT_EQ(receiver.outstanding(), 8 * kS);
}

TEST_F(CreditReceiverTest, EveryDemandIsAnswered) {
  ask(0, 0);
  const auto all = grants();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all.at(0).limit, 0u);
  EXPECT_EQ(all.at(0).nonce, std::uint64_t{1} << 32 | 1);
  EXPECT_EQ(all.at(0).ttl_ms, 200u);
  EXPECT_EQ(all.at(0).sender_epoch, 100u);
  EXPECT_EQ(all.at(0).receiver_epoch, kEpoch);
  EXPECT_EQ(all.at(0).window, 2 * kS) << "P / 8 is less";
  EXPECT_TRUE(grants().empty());
}

TEST_F(CreditReceiverTest, OneSenderGetsThePoolAndTheOthersTheHalfBeyondIt) {
  leave_boot();
  ask(0, 100 * kS);
  EXPECT_EQ(receiver.outstanding_of(0), 8 * kS);
  for (std::uint32_t s = 1; s < kSenders; ++s) ask(s, 100 * kS);
  for (std::uint32_t s = 1; s <= 4; ++s) EXPECT_EQ(receiver.outstanding_of(s), kS);
  for (std::uint32_t s = 5; s < kSenders; ++s) EXPECT_EQ(receiver.outstanding_of(s), 0u);
  EXPECT_EQ(receiver.outstanding(), receiver.cap_bytes());
  grants();
  // What one frees goes to those who have nothing, in rotation, and to them before itself.
  askers[0].sent = receiver.of(0).limit;
  askers[0].freed = 2 * kS;
  ask(0, 100 * kS);
  EXPECT_EQ(receiver.outstanding_of(5), kS);
  EXPECT_EQ(receiver.outstanding_of(6), kS);
  EXPECT_EQ(receiver.outstanding_of(7), 0u);
  EXPECT_EQ(grants().count(5), 1u) << "unasked: its last demand is answered again";
}

TEST_F(CreditReceiverTest, ClassesShareByWeight) {
  leave_boot();
  std::map<std::uint32_t, std::uint64_t> given;
  for (int round = 0; round < 400; ++round) {
    for (std::uint32_t s = 0; s < 3; ++s) {
      const ClassId cls = s == 0   ? ClassId::standard
                          : s == 1 ? ClassId::prefetch
                                   : ClassId::background;
      const std::uint64_t before = receiver.of(s).limit;
      // Always something in flight: nobody is given a chunk for having nothing.
      if (before > kS) askers[s].freed = before - kS;
      askers[s].sent = before;
      ask(s, 100 * kS, cls);
      now_ns += kMs / 10;
    }
    if (round == 100) {
      for (std::uint32_t s = 0; s < 3; ++s) given[s] = receiver.of(s).limit;
    }
  }
  std::array<double, 3> share{};
  for (std::uint32_t s = 0; s < 3; ++s)
    share[s] = static_cast<double>(receiver.of(s).limit - given[s]);
  EXPECT_NEAR(share[0] / share[2], 4, 0.3);
  EXPECT_NEAR(share[1] / share[2], 2, 0.2);
}

TEST_F(CreditReceiverTest, ABusyUplinkGetsNoMoreThanAChunk) {
  leave_boot();
  PeerDemand busy = demand(0, 100 * kS);
  busy.uplink_busy = 1;
  EXPECT_TRUE(receiver.take_demand(0, busy, now_ns));
  EXPECT_EQ(receiver.outstanding_of(0), kS);
}

TEST_F(CreditReceiverTest, ThePoolFollowsTheRate) {
  receiver.set_round_trip(kMs / 2);
  EXPECT_EQ(receiver.pool_bytes(), 8 * kS);
  ingest(0.5);
  // rate × (round trip 0.5 ms + gap 1 ms + target queue 0.5 ms) + 2S
  EXPECT_NEAR(static_cast<double>(receiver.pool_bytes()), 0.5 * 2e6 + 2 * kS, 2e4);
  EXPECT_NEAR(static_cast<double>(receiver.stale_window()),
              std::max(2.0 * kS, static_cast<double>(receiver.pool_bytes()) / kSenders), 1.0);
}

TEST_F(CreditReceiverTest, WhereDemandIsTheLimitThePoolIsNoLessThanAtTheStart) {
  leave_boot();
  ingest(0.05);
  EXPECT_EQ(receiver.pool_bytes(), 8 * kS) << "nobody wanted more";
  ask(0, 100 * kS);
  ingest(0.05);
  EXPECT_LT(receiver.pool_bytes(), 4 * kS);
  // Nobody wants more any longer; for a second the memory may still be what it was.
  use_all(0);
  ask(0, 0);
  ingest(0.05);
  EXPECT_LT(receiver.pool_bytes(), 4 * kS);
  now_ns += 1000 * kMs;
  ingest(0.05);
  EXPECT_EQ(receiver.pool_bytes(), 8 * kS);
}

TEST_F(CreditReceiverTest, WhatWasOutWhenThePoolBecameLessIsStated) {
  leave_boot();
  ask(0, 100 * kS);
  EXPECT_EQ(receiver.outstanding(), 8 * kS);
  ingest(0.05);
  EXPECT_LT(receiver.cap_bytes(), 8 * kS);
  EXPECT_EQ(receiver.exposure().bound, 8 * kS);
  askers[0].sent = 8 * kS;
  askers[0].freed = 3 * kS;
  ask(0, 100 * kS);
  EXPECT_EQ(receiver.outstanding(), 5 * kS) << "nothing is granted above the cap";
  EXPECT_EQ(receiver.exposure().bound, 5 * kS);
  use_all(0);
  ask(0, 0);
  EXPECT_EQ(receiver.exposure().bound, receiver.cap_bytes());
}

TEST_F(CreditReceiverTest, WhoIsSilentGivesItsCreditBackLaterThanItsOwnTtl) {
  leave_boot();
  ask(0, 4 * kS);
  grants();
  const std::int64_t heard_ns = now_ns;
  EXPECT_EQ(receiver.next_deadline_ns(), heard_ns + rules().receiver_ttl_ns());
  receiver.advance(heard_ns + rules().ttl_ns);
  EXPECT_EQ(receiver.outstanding(), 4 * kS);
  now_ns = heard_ns + rules().receiver_ttl_ns();
  receiver.advance(now_ns);
  EXPECT_EQ(receiver.outstanding(), 0u);
  EXPECT_EQ(receiver.most_in_flight_of(0), 4 * kS) << "it may still be on its way";
  EXPECT_EQ(receiver.exposure().stale, 4 * kS + 7 * 2 * kS);
  EXPECT_FALSE(ask(0, kS)) << "a demand of the life that has ended";
  askers[0] = {2, 0, 0, 0};
  EXPECT_TRUE(ask(0, kS));
  EXPECT_EQ(receiver.outstanding(), kS);
}

TEST_F(CreditReceiverTest, WhatIsInFlightWithoutCreditLessensThePoolButNotTheFirstChunk) {
  leave_boot();
  PeerDemand beside = demand(0, 100 * kS);
  beside.uncredited = 20 * kS;
  EXPECT_TRUE(receiver.take_demand(0, beside, now_ns));
  EXPECT_EQ(receiver.outstanding_of(0), 0u);
  EXPECT_EQ(receiver.exposure().uncredited, 20 * kS);
  ask(1, 100 * kS);
  EXPECT_EQ(receiver.outstanding_of(1), kS);
}

TEST_F(CreditReceiverTest, ASenderCannotClaimMoreBesideItsCreditThanAWindow) {
  PeerDemand beside = demand(0, 0);
  beside.uncredited = UINT64_MAX;
  EXPECT_TRUE(receiver.take_demand(0, beside, now_ns));
  EXPECT_EQ(receiver.exposure().uncredited, rules().legacy_bytes);
}

TEST_F(CreditReceiverTest, WantsWithoutBoundDoNotWrap) {
  leave_boot();
  PeerDemand greedy = demand(0, UINT64_MAX);
  for (std::uint64_t& wanted : greedy.wanted) wanted = UINT64_MAX;
  EXPECT_TRUE(receiver.take_demand(0, greedy, now_ns));
  EXPECT_EQ(receiver.outstanding(), 8 * kS);
  receiver.check_invariants();
}

TEST_F(CreditReceiverTest, ContradictionsAndOldNewsAreDropped) {
  leave_boot();
  askers[0].serial = 10;
  ask(0, 4 * kS);
  const PeerDemand good = demand(0, 4 * kS);
  for (int field = 0; field < 8; ++field) {
    PeerDemand bad = good;
    if (field == 0) bad.sender_epoch += 1;
    if (field == 1) bad.receiver_epoch += 1;
    if (field == 2) bad.pool = CreditPool::internal;
    if (field == 3) bad.nonce -= 1;     // heard already
    if (field == 4) bad.sent = 5 * kS;  // more than it was granted
    if (field == 5) bad.freed = 1;      // more than it sent
    if (field == 6) bad.nonce = std::uint64_t{2} << 32 | 1, bad.sent = 1;  // a life has no past
    if (field == 7) bad.nonce = 5;  // a life before the first
    EXPECT_FALSE(receiver.take_demand(0, bad, now_ns)) << field;
  }
  EXPECT_FALSE(receiver.take_demand(kSenders, good, now_ns)) << "nobody is called so";
  EXPECT_EQ(receiver.dropped_demands(), 9u);
  EXPECT_TRUE(receiver.take_demand(0, good, now_ns));
}

TEST_F(CreditReceiverTest, CountersThatFallAreDropped) {
  leave_boot();
  ask(0, 4 * kS);
  use_all(0);
  ask(0, 4 * kS);
  askers[0].freed -= kS;
  EXPECT_FALSE(ask(0, 4 * kS));
  askers[0].sent -= kS;
  EXPECT_FALSE(ask(0, 4 * kS));
}

TEST_F(CreditReceiverTest, LegacyWindowsAreStatedUntilTheyAsk) {
  receiver.attach(7, 999, false);
  EXPECT_EQ(receiver.exposure().legacy, rules().legacy_bytes);
  PeerDemand probe = demand(7, kS);
  probe.sender_epoch = 999;
  EXPECT_TRUE(receiver.take_demand(7, probe, now_ns));
  EXPECT_EQ(receiver.exposure().legacy, 0u);
  EXPECT_EQ(receiver.outstanding_of(7), kS);
}

TEST_F(CreditReceiverTest, AHostThatIsGoneHoldsNothing) {
  leave_boot();
  ask(0, 100 * kS);
  ask(1, 100 * kS);
  EXPECT_EQ(receiver.outstanding_of(1), kS);
  receiver.detach(0);
  EXPECT_EQ(receiver.outstanding_of(0), 0u);
  EXPECT_EQ(receiver.outstanding_of(1), 8 * kS) << "what it held is handed out in the same step";
  EXPECT_EQ(receiver.most_in_flight_of(0), 0u);
  EXPECT_FALSE(ask(0, kS));
}

// I7: a pool is an object of its own; whatever users do, internal work gets its chunk.
TEST_F(CreditReceiverTest, TheInternalPoolDoesNotDependOnTheUsers) {
  CreditReceiver internal(rules(), CreditPool::internal, kSenders, kEpoch, 0);
  CreditReceiver alone = internal;
  for (CreditReceiver* each : {&internal, &alone}) each->attach(0, 100, true);
  leave_boot();
  for (std::uint32_t s = 0; s < kSenders; ++s) ask(s, UINT64_MAX);
  EXPECT_EQ(receiver.outstanding(), receiver.cap_bytes());
  PeerDemand wants;
  wants.sender_epoch = 100;
  wants.receiver_epoch = kEpoch;
  wants.nonce = std::uint64_t{1} << 32 | 1;
  wants.pool = CreditPool::internal;
  wants.wanted[index_of(ClassId::internal)] = kS;
  for (CreditReceiver* each : {&internal, &alone}) {
    EXPECT_TRUE(each->take_demand(0, wants, now_ns));
    EXPECT_EQ(each->outstanding_of(0), kS);
  }
  EXPECT_EQ(internal.hash(0, now_ns), alone.hash(0, now_ns));
}

TEST(CreditRulesTest, SaysWhatIsWrong) {
  EXPECT_EQ(contradiction(CreditRules{}), "");
  const auto wrong = [](auto change) {
    CreditRules rules;
    change(rules);
    return contradiction(rules);
  };
  EXPECT_NE(wrong([](CreditRules& r) { r.chunk_bytes = 0; }), "");
  EXPECT_NE(wrong([](CreditRules& r) { r.legacy_bytes = 2 * r.chunk_bytes - 1; }), "");
  EXPECT_NE(wrong([](CreditRules& r) { r.boot_bytes = 2 * r.chunk_bytes - 1; }), "");
  EXPECT_EQ(wrong([](CreditRules& r) { r.boot_bytes = 2 * r.chunk_bytes; }), "");
  EXPECT_NE(wrong([](CreditRules& r) { r.demand_gap_ns = 0; }), "");
  EXPECT_NE(wrong([](CreditRules& r) { r.demand_gap_ns = r.demand_ns + 1; }), "");
  EXPECT_NE(wrong([](CreditRules& r) { r.ttl_ns = 2 * r.demand_ns - 1; }), "");
  EXPECT_NE(wrong([](CreditRules& r) { r.ttl_ns += 1; }), "");
  EXPECT_NE(wrong([](CreditRules& r) { r.probe_ns = r.ttl_ns - 1; }), "");
  EXPECT_NE(wrong([](CreditRules& r) { r.target_queue_ns = -1; }), "");
}

}  // namespace
}  // namespace tentq::core
