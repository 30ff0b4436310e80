// The sending end, step by step: states, ttl, returns, what is void.
#include <gtest/gtest.h>

#include "daemon/core/credits/sender.h"

namespace tentq::core {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::uint64_t kS = 64u << 10;
constexpr std::uint64_t kOwn = 11;
constexpr std::uint64_t kPeer = 22;

CreditRules rules() {
  CreditRules rules;
  rules.chunk_bytes = kS;
  return rules;
}

class CreditSenderTest : public testing::Test {
 protected:
  CreditSenderTest() { sender.connect(kPeer, true, 0); }
  ~CreditSenderTest() override { sender.check_invariants(); }
  PeerDemand ask(std::uint64_t wanted, std::int64_t now_ns, bool busy = false) {
    CreditWant want;
    want.wanted[index_of(ClassId::standard)] = wanted;
    want.uplink_busy = busy;
    return sender.take_demand(want, now_ns);
  }
  static PeerGrant answer(const PeerDemand& demand, std::uint64_t limit, std::uint64_t window = 0) {
    PeerGrant grant;
    grant.sender_epoch = demand.sender_epoch;
    grant.receiver_epoch = demand.receiver_epoch;
    grant.nonce = demand.nonce;
    grant.pool = demand.pool;
    grant.ttl_ms = 200;
    grant.limit = limit;
    grant.window = window;
    return grant;
  }
  // Active at 0, with that much credit.
  void activate(std::uint64_t limit) {
    sender.set_waiting(true, 0);
    ASSERT_TRUE(sender.take_grant(answer(ask(limit, 0), limit, 5 * kS), 0));
  }

  CreditSender sender{rules(), CreditPool::user, kOwn};
};

TEST_F(CreditSenderTest, HasNoRoomBeforeAHello) {
  CreditSender unknown(rules(), CreditPool::user, kOwn);
  unknown.set_waiting(true, 0);
  EXPECT_EQ(unknown.room(0), 0u);
  EXPECT_EQ(unknown.demand_due_ns(), kNever_ns);
}

TEST_F(CreditSenderTest, LegacyPeersHaveAFixedWindowAndAreAskedEveryThirtySeconds) {
  sender.connect(33, false, 0);
  sender.set_waiting(true, 0);
  EXPECT_EQ(sender.state(), CreditState::legacy);
  EXPECT_EQ(sender.room(0), 4u << 20);
  const CreditMark mark = sender.consume(kS, 0);
  EXPECT_EQ(sender.room(0), (4u << 20) - kS);
  EXPECT_LE(sender.demand_due_ns(), 0);
  const PeerDemand demand = ask(kS, 0);
  EXPECT_EQ(demand.uncredited, kS);
  EXPECT_EQ(sender.demand_due_ns(), 30'000 * kMs);
  sender.advance(1'000 * kMs);
  EXPECT_EQ(sender.state(), CreditState::legacy);
  sender.freed(mark, kS);
  const PeerDemand later = ask(kS, 30'000 * kMs);
  EXPECT_TRUE(sender.take_grant(answer(later, kS), 30'000 * kMs));
  EXPECT_EQ(sender.state(), CreditState::active);
  EXPECT_EQ(sender.room(30'000 * kMs), kS);
}

TEST_F(CreditSenderTest, ConsumesWhatIsGrantedAndNoMore) {
  activate(2 * kS);
  EXPECT_EQ(sender.room(1), 2 * kS);
  const CreditMark mark = sender.consume(kS, 1);
  sender.consume(kS, 1);
  EXPECT_EQ(sender.room(1), 0u);
  sender.freed(mark, kS);
  EXPECT_EQ(sender.room(1), 0u) << "freed bytes are the receiver's to grant again";
  EXPECT_EQ(sender.in_flight(), kS);
}

TEST_F(CreditSenderTest, LateAndDoubledGrantsNeverLowerTheLimit) {
  sender.set_waiting(true, 0);
  const PeerDemand first = ask(9 * kS, 0);
  const PeerDemand second = ask(9 * kS, 20 * kMs);
  EXPECT_TRUE(sender.take_grant(answer(second, 5 * kS), 21 * kMs));
  EXPECT_TRUE(sender.take_grant(answer(second, 5 * kS), 22 * kMs));
  EXPECT_TRUE(sender.take_grant(answer(first, 3 * kS), 23 * kMs));
  EXPECT_EQ(sender.limit(), 5 * kS);
}

TEST_F(CreditSenderTest, TheWindowForSilenceIsThatOfTheNewestDemand) {
  sender.set_waiting(true, 0);
  const PeerDemand first = ask(9 * kS, 0);
  const PeerDemand second = ask(9 * kS, 20 * kMs);
  sender.take_grant(answer(second, kS, 7 * kS), 21 * kMs);
  sender.take_grant(answer(first, kS, 9 * kS), 21 * kMs);
  EXPECT_EQ(sender.stale_window(), 7 * kS);
  sender.take_grant(answer(second, kS, 1), 21 * kMs);
  EXPECT_EQ(sender.stale_window(), 2 * kS) << "never below two chunks";
}

TEST_F(CreditSenderTest, TheTtlRunsFromTheDemandsSending) {
  sender.set_waiting(true, 0);
  const PeerDemand demand = ask(kS, 0);
  EXPECT_TRUE(sender.take_grant(answer(demand, kS), 199 * kMs));
  EXPECT_EQ(sender.life_ends_ns(), 200 * kMs);
  EXPECT_EQ(sender.room(200 * kMs - 1), kS);
  sender.advance(200 * kMs);
  EXPECT_EQ(sender.limit(), 0u);
  EXPECT_FALSE(sender.take_grant(answer(demand, kS), 200 * kMs));
}

TEST_F(CreditSenderTest, AGrantThatIsTooLateIsNone) {
  sender.set_waiting(true, 0);
  const PeerDemand demand = ask(kS, 0);
  EXPECT_FALSE(sender.take_grant(answer(demand, kS), 200 * kMs));
  EXPECT_EQ(sender.dropped_grants(), 1u);
}

TEST_F(CreditSenderTest, AManyTimesLongerTtlIsNotBelieved) {
  sender.set_waiting(true, 0);
  PeerGrant grant = answer(ask(kS, 0), kS);
  grant.ttl_ms = UINT32_MAX;
  EXPECT_TRUE(sender.take_grant(grant, 0));
  EXPECT_EQ(sender.life_ends_ns(), 200 * kMs);
  grant.ttl_ms = 0;
  EXPECT_FALSE(sender.take_grant(grant, 0));
}

TEST_F(CreditSenderTest, SilenceLeadsToTheWindowThatWasToldBefore) {
  activate(2 * kS);
  const CreditMark mark = sender.consume(kS, 0);
  EXPECT_EQ(sender.room(200 * kMs), 0u) << "the credit is void, the silence not yet a ttl";
  EXPECT_EQ(sender.state(), CreditState::active);
  ask(9 * kS, 200 * kMs);
  EXPECT_EQ(sender.room(400 * kMs), 4 * kS) << "five chunks but for that in flight";
  EXPECT_EQ(sender.state(), CreditState::stale);
  sender.freed(mark, kS);
  EXPECT_EQ(sender.room(400 * kMs), 5 * kS);
  EXPECT_TRUE(sender.take_grant(answer(ask(kS, 401 * kMs), kS), 402 * kMs));
  EXPECT_EQ(sender.state(), CreditState::active);
}

TEST_F(CreditSenderTest, WhoAsksEveryTwentyMillisecondsIsStaleATtlAfterTheLastWord) {
  activate(2 * kS);
  for (std::int64_t ms = 20; ms <= 200; ms += 20) ask(9 * kS, ms * kMs);
  EXPECT_EQ(sender.room(219 * kMs), 0u);
  EXPECT_EQ(sender.room(220 * kMs), 5 * kS);
}

TEST_F(CreditSenderTest, WhoHadNoWorkWasNotAskingInVain) {
  activate(0);
  sender.set_waiting(false, kMs);
  sender.advance(10'000 * kMs);
  sender.set_waiting(true, 10'000 * kMs);
  EXPECT_EQ(sender.state(), CreditState::active);
  EXPECT_EQ(sender.room(10'000 * kMs), 0u) << "it asks first";
  EXPECT_LE(sender.demand_due_ns(), 10'000 * kMs);
  ask(kS, 10'000 * kMs);
  EXPECT_EQ(sender.room(10'200 * kMs), 5 * kS);
}

TEST_F(CreditSenderTest, WhatIsInFlightBesideItLessensTheCredit) {
  activate(3 * kS);
  const CreditMark old = sender.consume(2 * kS, 0);
  sender.advance(200 * kMs);
  const PeerDemand demand = ask(9 * kS, 200 * kMs);
  EXPECT_EQ(demand.sent, 0u);
  EXPECT_EQ(demand.uncredited, 2 * kS);
  sender.take_grant(answer(demand, 3 * kS), 201 * kMs);
  EXPECT_EQ(sender.room(201 * kMs), kS);
  sender.freed(old, 2 * kS);
  EXPECT_EQ(sender.room(201 * kMs), 3 * kS);
  EXPECT_EQ(sender.freed(), 0u) << "of an earlier life";
}

TEST_F(CreditSenderTest, ANewEpochVoidsEverything) {
  activate(3 * kS);
  const PeerDemand old = ask(kS, kMs);
  sender.consume(kS, kMs);
  sender.connect(kPeer, true, 2 * kMs);
  EXPECT_EQ(sender.limit(), 3 * kS) << "the same epoch changes nothing";
  sender.connect(44, true, 2 * kMs);
  EXPECT_EQ(sender.limit(), 0u);
  EXPECT_EQ(sender.uncredited(), kS);
  EXPECT_EQ(sender.stale_window(), 2 * kS);
  EXPECT_FALSE(sender.take_grant(answer(old, 9 * kS), 3 * kMs));
  EXPECT_LE(sender.demand_due_ns(), 2 * kMs);
}

TEST_F(CreditSenderTest, GrantsOfOthersAreDropped) {
  sender.set_waiting(true, 0);
  const PeerDemand demand = ask(kS, 0);
  const PeerGrant good = answer(demand, kS);
  for (int field = 0; field < 5; ++field) {
    PeerGrant grant = good;
    if (field == 0) grant.sender_epoch += 1;
    if (field == 1) grant.receiver_epoch += 1;
    if (field == 2) grant.pool = CreditPool::internal;
    if (field == 3) grant.nonce += 1;  // not asked yet
    if (field == 4) grant.nonce -= std::uint64_t{1} << 32;
    EXPECT_FALSE(sender.take_grant(grant, kMs)) << field;
  }
  EXPECT_EQ(sender.dropped_grants(), 5u);
  EXPECT_TRUE(sender.take_grant(good, kMs));
}

TEST_F(CreditSenderTest, ALimitWithoutBoundDoesNotWrap) {
  activate(UINT64_MAX);
  sender.consume(kS, 0);
  const PeerDemand demand = ask(kS, 20 * kMs);
  EXPECT_EQ(demand.sent - demand.freed, kS);
  EXPECT_EQ(sender.room(20 * kMs), kS);
}

TEST_F(CreditSenderTest, ReturnsWhatItCannotUse) {
  activate(8 * kS);
  sender.consume(kS, 0);
  PeerDemand demand = ask(5 * kS, 20 * kMs);
  EXPECT_EQ(demand.sent, 3 * kS) << "one in flight, two returned, five wait";
  EXPECT_EQ(demand.freed, 2 * kS);
  demand = ask(5 * kS, 40 * kMs, true);
  EXPECT_EQ(demand.uplink_busy, 1u);
  EXPECT_EQ(sender.room(40 * kMs), kS) << "a busy uplink keeps one chunk";
  sender.set_waiting(false, 41 * kMs);
  demand = ask(0, 60 * kMs);
  EXPECT_EQ(demand.sent, 8 * kS);
  EXPECT_EQ(demand.freed, 7 * kS);
}

TEST_F(CreditSenderTest, RollsBackBeforeADemandAndReturnsAfterIt) {
  activate(2 * kS);
  CreditMark mark = sender.consume(kS, 0);
  sender.roll_back(mark, kS);
  EXPECT_EQ(sender.sent(), 0u);
  EXPECT_EQ(sender.room(0), 2 * kS);
  mark = sender.consume(kS, 0);
  ask(2 * kS, 20 * kMs);
  sender.roll_back(mark, kS);
  EXPECT_EQ(sender.sent(), kS) << "it was told";
  EXPECT_EQ(sender.freed(), kS);
}

TEST_F(CreditSenderTest, AsksAtOnceForNewWorkAndThenAtItsPace) {
  EXPECT_EQ(sender.demand_due_ns(), kNever_ns);
  sender.set_waiting(true, 0);
  EXPECT_LE(sender.demand_due_ns(), 0);
  sender.take_grant(answer(ask(kS, 0), kS), 0);
  EXPECT_EQ(sender.demand_due_ns(), 20 * kMs);
  sender.set_waiting(false, kMs / 2);
  sender.set_waiting(true, kMs / 2);
  EXPECT_EQ(sender.demand_due_ns(), kMs) << "never within a millisecond of the last";
  ask(kS, kMs);
  EXPECT_EQ(sender.demand_due_ns(), 21 * kMs);
  sender.freed(sender.consume(kS, 2 * kMs), kS);
  EXPECT_EQ(sender.demand_due_ns(), 2 * kMs) << "it has run dry, and something was freed";
  sender.set_waiting(false, 2 * kMs);
  ask(0, 2 * kMs);
  EXPECT_EQ(sender.demand_due_ns(), kNever_ns) << "everything was told, nothing is out";
}

// Its credit is free, and the receiver counts it as handed out until it is told.
TEST_F(CreditSenderTest, WhoHasDoneAllItsWorkSaysSoAtOnce) {
  activate(4 * kS);
  const CreditMark mark = sender.consume(kS, 0);
  sender.set_waiting(false, 0);
  sender.freed(mark, kS / 8);
  EXPECT_EQ(sender.demand_due_ns(), 20 * kMs);  // more is in flight
  sender.freed(mark, kS - kS / 8);
  EXPECT_EQ(sender.demand_due_ns(), kMs);
  const PeerDemand demand = ask(0, kMs);
  EXPECT_EQ(demand.sent, 4 * kS);
  EXPECT_EQ(demand.freed, 4 * kS);
}

TEST_F(CreditSenderTest, ALittleThatIsFreeIsToldInTime) {
  activate(4 * kS);
  const CreditMark mark = sender.consume(kS / 8, 0);
  sender.set_waiting(false, 0);
  sender.freed(mark, kS / 8);
  EXPECT_EQ(sender.demand_due_ns(), 20 * kMs);
}

TEST_F(CreditSenderTest, AsksForWhatCameSinceItAsked) {
  activate(4 * kS);
  EXPECT_EQ(sender.demand_due_ns(), 20 * kMs);
  sender.ask();
  EXPECT_EQ(sender.demand_due_ns(), kMs);
  // Who has nothing to ask for does not.
  ask(0, kMs);
  sender.set_waiting(false, kMs);
  sender.ask();
  EXPECT_EQ(sender.demand_due_ns(), kNever_ns);
}

TEST_F(CreditSenderTest, ManyDemandsInOneTtlStillHaveTheirTimes) {
  sender.set_waiting(true, 0);
  PeerDemand demand;
  for (std::int64_t ms = 0; ms < 190; ++ms) demand = ask(kS, ms * kMs);
  PeerGrant early = answer(demand, kS);
  early.nonce -= 180;
  EXPECT_TRUE(sender.take_grant(early, 199 * kMs));
  EXPECT_EQ(sender.life_ends_ns(), 200 * kMs);
  EXPECT_TRUE(sender.take_grant(answer(demand, kS), 199 * kMs));
  EXPECT_GE(sender.life_ends_ns(), (189 - 25) * kMs + 200 * kMs) << "an eighth of a ttl, at most";
  EXPECT_LE(sender.life_ends_ns(), (189 + 200) * kMs);
}

}  // namespace
}  // namespace tentq::core
