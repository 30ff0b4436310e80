// What is asked of etcd for the names of this host, and when.
#include "daemon/directory/presence.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tentq::directory {
namespace {

using namespace std::chrono_literals;

const Holder kSelf{"10.0.0.1:7471", std::string(32, 'a'), 5, 50};
const Holder kOther{"10.0.0.2:7471", std::string(32, 'b'), 9, 90};
constexpr std::int64_t kLease = 77;
const Failed kAway{Fault::unreachable, "etcd:2379", "refused"};

class DirectoryPresence : public ::testing::Test {
 protected:
  template <class T>
  T asked() {
    const std::optional<Call> call = presence.next(now);
    if (!call || !std::holds_alternative<T>(*call)) throw std::runtime_error("another call");
    return std::get<T>(*call);
  }
  bool asks_nothing() { return !presence.next(now).has_value(); }
  void answer(const Answer& answer) { presence.answered(answer, now); }
  // Has it published that name alone.
  void publish(const std::string& name) {
    presence.want(name);
    if (!presence.has_lease()) {
      EXPECT_EQ(asked<GrantLease>().seconds, 10);
      answer(Leased{kLease, 10});
    }
    EXPECT_EQ(asked<PublishName>().name, name);
    answer(Published{Claim::done, {}});
  }
  NameState state(const std::string& name) const { return presence.names().at(name).state; }

  Time now = time_from_ns(1'000'000'000);
  std::vector<std::string> taken;
  Presence presence{kSelf, 10s, 1,
                    [this](const std::string& name, const std::optional<Holder>& by) {
                      taken.push_back(name + " " + (by ? by->address : "?"));
                    }};
};

TEST_F(DirectoryPresence, NothingIsAskedForNothing) {
  EXPECT_TRUE(asks_nothing());
  EXPECT_EQ(presence.next_deadline(), kNever);
}

TEST_F(DirectoryPresence, ANameIsPublishedUnderOneLease) {
  publish("a");
  presence.want("b");
  const PublishName call = asked<PublishName>();
  EXPECT_EQ(call.name, "b");
  EXPECT_EQ(call.lease, kLease);
  EXPECT_EQ(call.holder, kSelf);
  EXPECT_TRUE(asks_nothing());  // one call at a time
  answer(Published{Claim::done, {}});
  EXPECT_EQ(presence.published(), 2u);
  EXPECT_TRUE(asks_nothing());
}

TEST_F(DirectoryPresence, TheLeaseIsKeptFromWhenItWasAskedFor) {
  publish("a");
  EXPECT_EQ(presence.next_deadline(), now + Duration{10s} / 3);
  now += Duration{10s} / 3;
  EXPECT_EQ(asked<KeepLease>().lease, kLease);
  now += 1s;  // the answer takes its time
  answer(Leased{kLease, 10});
  EXPECT_EQ(presence.next_deadline(), now - 1s + Duration{10s} / 3);
}

TEST_F(DirectoryPresence, ALostLeaseIsGrantedAgainAndEverythingPublishedAgain) {
  publish("a");
  publish("b");
  presence.unwant("b");
  now += 4s;
  asked<KeepLease>();
  answer(Leased{kLease, 0});
  EXPECT_EQ(presence.published(), 0u);
  asked<GrantLease>();
  answer(Leased{78, 10});
  const PublishName call = asked<PublishName>();
  EXPECT_EQ(call.name, "a");
  EXPECT_EQ(call.lease, 78);
  answer(Published{Claim::done, {}});
  EXPECT_TRUE(asks_nothing());
  EXPECT_FALSE(presence.names().contains("b"));
}

TEST_F(DirectoryPresence, ALeaseThatEndsWhileANameIsPublishedIsGrantedAgain) {
  publish("a");
  presence.want("b");
  asked<PublishName>();
  answer(Failed{Fault::lease_lost, "", "requested lease not found"});
  now = presence.next_deadline();
  asked<GrantLease>();
}

TEST_F(DirectoryPresence, AWithdrawnNameIsTakenBackOnce) {
  publish("a");
  presence.unwant("a");
  const WithdrawName call = asked<WithdrawName>();
  EXPECT_EQ(call.name, "a");
  EXPECT_EQ(call.lease, kLease);
  answer(Withdrawn{});
  EXPECT_TRUE(asks_nothing());
  EXPECT_EQ(presence.published(), 0u);
  EXPECT_TRUE(presence.names().empty());
}

// Its answer was lost: it may be there.
TEST_F(DirectoryPresence, ANameWhosePublishingFailedIsWithdrawnToo) {
  publish("a");
  presence.want("b");
  asked<PublishName>();
  presence.unwant("b");
  answer(kAway);
  now = presence.next_deadline();
  EXPECT_EQ(asked<WithdrawName>().name, "b");
}

TEST_F(DirectoryPresence, APublishingThatHadSucceededAfterAllIsFound) {
  publish("a");
  presence.want("b");
  asked<PublishName>();
  answer(kAway);
  now = presence.next_deadline();
  asked<PublishName>();
  answer(Published{Claim::held, Entry{"b", kSelf, kLease, 3}});
  EXPECT_EQ(state("b"), NameState::published);
  EXPECT_TRUE(taken.empty());
}

TEST_F(DirectoryPresence, ANameWantedAgainWhileItIsWithdrawnIsPublishedAgain) {
  publish("a");
  presence.unwant("a");
  asked<WithdrawName>();
  presence.want("a");
  answer(Withdrawn{});
  EXPECT_EQ(asked<PublishName>().name, "a");
  answer(Published{Claim::done, {}});
  EXPECT_EQ(state("a"), NameState::published);
}

TEST_F(DirectoryPresence, ATakenNameWaitsUntilItIsFree) {
  presence.want("a");
  asked<GrantLease>();
  answer(Leased{kLease, 10});
  asked<PublishName>();
  answer(Published{Claim::held, Entry{"a", kOther, 5, 3}});
  EXPECT_EQ(state("a"), NameState::taken);
  EXPECT_EQ(taken, std::vector<std::string>{"a 10.0.0.2:7471"});
  EXPECT_TRUE(asks_nothing());
  const Entry same{"a", kOther, 5, 3};
  presence.seen("a", &same);
  EXPECT_TRUE(asks_nothing());
  presence.seen("a", nullptr);
  EXPECT_EQ(asked<PublishName>().replaces, 0);
  answer(Published{Claim::done, {}});
  EXPECT_EQ(state("a"), NameState::published);
  EXPECT_EQ(taken.size(), 1u);
}

TEST_F(DirectoryPresence, WhatAnEarlierLifeLeftIsReplaced) {
  presence.want("a");
  asked<GrantLease>();
  answer(Leased{kLease, 10});
  asked<PublishName>();
  Holder before = kSelf;
  before.epoch_counter = 4;
  answer(Published{Claim::held, Entry{"a", before, 5, 33}});
  EXPECT_EQ(asked<PublishName>().replaces, 33);
  answer(Published{Claim::vacant, {}});  // its lease has ended meanwhile
  EXPECT_EQ(asked<PublishName>().replaces, 0);
  answer(Published{Claim::done, {}});
  EXPECT_TRUE(taken.empty());
}

// A copied state directory: neither takes the name from the other again and again.
TEST_F(DirectoryPresence, ANewerLifeOfTheSameHostKeepsTheName) {
  presence.want("a");
  asked<GrantLease>();
  answer(Leased{kLease, 10});
  asked<PublishName>();
  Holder after = kSelf;
  after.epoch_counter = 6;
  answer(Published{Claim::held, Entry{"a", after, 5, 33}});
  EXPECT_EQ(state("a"), NameState::taken);
  EXPECT_TRUE(asks_nothing());
}

TEST_F(DirectoryPresence, AnUnreadableEntryIsSomebodys) {
  presence.want("a");
  asked<GrantLease>();
  answer(Leased{kLease, 10});
  asked<PublishName>();
  answer(Published{Claim::held, {}});
  EXPECT_EQ(taken, std::vector<std::string>{"a ?"});
}

TEST_F(DirectoryPresence, ANameThatSomebodyRemovedIsPublishedAgain) {
  publish("a");
  const Entry own{"a", kSelf, kLease, 3};
  presence.seen("a", &own);
  EXPECT_TRUE(asks_nothing());
  presence.seen("a", nullptr);
  EXPECT_EQ(asked<PublishName>().name, "a");
}

TEST_F(DirectoryPresence, FailuresAreFollowedByLongerPauses) {
  presence.want("a");
  Duration before{};
  for (int i = 0; i < 12; ++i) {
    asked<GrantLease>();
    answer(kAway);
    EXPECT_TRUE(asks_nothing());
    const Duration pause = presence.next_deadline() - now;
    EXPECT_GT(pause, Duration{});
    EXPECT_LE(pause, Backoff::kMost);
    if (i == 0) before = pause;
    now = presence.next_deadline();
  }
  EXPECT_GT(Backoff::kMost / 2, before);
  EXPECT_EQ(presence.failures(), 12u);
  asked<GrantLease>();
  answer(Leased{kLease, 10});
  EXPECT_EQ(presence.failures(), 0u);
}

TEST_F(DirectoryPresence, WhatNobodyWantsAnyMoreDoesNotFail) {
  presence.want("a");
  asked<GrantLease>();
  answer(kAway);
  presence.unwant("a");
  now = presence.next_deadline();
  EXPECT_TRUE(asks_nothing());
  EXPECT_EQ(presence.failures(), 0u);
  EXPECT_EQ(presence.next_deadline(), kNever);
}

TEST_F(DirectoryPresence, LeavingGivesTheLeaseBackAndAsksNothingMore) {
  publish("a");
  presence.want("b");
  asked<PublishName>();
  presence.leave();
  EXPECT_FALSE(presence.has_left());
  answer(Published{Claim::done, {}});
  EXPECT_EQ(asked<RevokeLease>().lease, kLease);
  answer(Revoked{});
  EXPECT_TRUE(presence.has_left());
  presence.want("c");
  EXPECT_TRUE(asks_nothing());
}

TEST_F(DirectoryPresence, WhoHasNoLeaseLeavesAtOnce) {
  presence.leave();
  EXPECT_TRUE(presence.has_left());
  EXPECT_EQ(presence.next_deadline(), kNever);
}

}  // namespace
}  // namespace tentq::directory
