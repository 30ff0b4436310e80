// Several hosts with one etcd, in virtual time.
#include "daemon/directory/directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/daemon/directory/scripted_etcd.h"

namespace tentq::test {
namespace {

using namespace directory;  // NOLINT: all of it is tested
using namespace std::chrono_literals;

struct Host {
  Host(ScriptedEtcd& etcd, char id, std::uint64_t epoch, std::uint64_t seed)
      : way(etcd),
        errors([this](LogLevel, std::string_view line) { lines.emplace_back(line); }),
        names(terms(id, epoch, seed), way, errors, [this](Time at) { wakes = at; }) {}

  static DirectoryTerms terms(char id, std::uint64_t epoch, std::uint64_t seed) {
    DirectoryTerms terms;
    terms.self = {std::string("10.0.0.") + id + ":7471", std::string(32, id), epoch, 1};
    terms.timeout = 2s;
    terms.endpoints = "http://scripted:2379";
    terms.seed = seed;
    return terms;
  }
  std::size_t lines_with(const std::string& text) const {
    return static_cast<std::size_t>(std::count_if(
        lines.begin(), lines.end(),
        [&](const std::string& line) { return line.find(text) != std::string::npos; }));
  }

  ScriptedEtcd::Way way;
  std::vector<std::string> lines;
  ErrorBook errors;
  Time wakes = kNever;
  Directory names;
};

class DirectoryOfHosts : public ::testing::Test {
 protected:
  Host& add(char id, std::uint64_t epoch = 1) {
    hosts.push_back(std::make_unique<Host>(etcd, id, epoch, hosts.size()));
    hosts.back()->names.begin(now);
    settle();
    return *hosts.back();
  }
  void settle() {
    for (bool any = true; any;) {
      any = false;
      for (const auto& host : hosts) any = host->way.deliver(now) || any;
    }
  }
  void pass(Duration time) {
    const Time until = now + time;
    while (now < until) {
      Time next = until;
      for (const auto& host : hosts) next = std::min(next, std::max(host->wakes, now + 1ms));
      now = std::min(next, now + 500ms);
      etcd.pass(now);
      for (const auto& host : hosts) {
        if (host->wakes <= now) {
          host->wakes = kNever;
          host->names.tick(now);
        }
      }
      settle();
    }
  }
  // Where a name leads: an address, "here", or the status.
  std::string opened(Host& host, const std::string& name) {
    std::string where = "no answer";
    host.names.resolve(name, now, [&](const Resolved& found) {
      where = found.status != StatusCode::ok ? std::string(to_string(found.status))
              : found.here                   ? "here"
                                             : found.address;
    });
    settle();
    if (where == "no answer") pass(3s);
    return where;
  }
  void die(Host& host) {
    std::erase_if(hosts, [&](const auto& each) { return each.get() == &host; });
  }

  Time now = time_from_ns(1'000'000'000);
  ScriptedEtcd etcd;
  std::vector<std::unique_ptr<Host>> hosts;
};

TEST_F(DirectoryOfHosts, NamesLeadToTheirHosts) {
  Host& a = add('1');
  Host& b = add('2');
  for (const char* name : {"s", "t", "u", "v", "w"}) a.names.publish(name, now);
  settle();
  EXPECT_EQ(opened(b, "s"), "10.0.0.1:7471");
  EXPECT_EQ(opened(a, "s"), "here");
  EXPECT_EQ(opened(b, "nobody"), "not_found");
  EXPECT_EQ(b.names.state(), DirectoryState::up);
  // Who comes later lists them, page by page.
  EXPECT_EQ(add('3').names.known().table().size(), 5u);
  a.names.withdraw("s", now);
  settle();
  EXPECT_EQ(opened(b, "s"), "not_found");
}

// Known names need no call; so they are found while etcd is away, and others are refused in time.
TEST_F(DirectoryOfHosts, KnownNamesAreFoundWithoutEtcd) {
  Host& a = add('1');
  Host& b = add('2');
  a.names.publish("s", now);
  settle();
  b.way.cut();
  pass(5s);
  EXPECT_EQ(b.names.state(), DirectoryState::down);
  EXPECT_EQ(b.lines_with("the directory cannot be reached"), 1u);
  EXPECT_EQ(opened(b, "s"), "10.0.0.1:7471");
  EXPECT_EQ(opened(b, "t"), "no_route");
  a.names.publish("t", now);
  settle();
  b.way.mend();
  pass(6s);
  EXPECT_EQ(b.names.state(), DirectoryState::up);
  EXPECT_EQ(b.names.known().find("t")->holder.address, "10.0.0.1:7471");
}

TEST_F(DirectoryOfHosts, TheSecondWithANameWaitsForTheFirst) {
  Host& a = add('1');
  Host& b = add('2');
  Host& c = add('3');
  a.names.publish("s", now);
  settle();
  b.names.publish("s", now);
  settle();
  EXPECT_EQ(b.lines_with("the name 's' is in the directory already, by host 10.0.0.1:7471"), 1u);
  pass(60s);
  EXPECT_EQ(opened(c, "s"), "10.0.0.1:7471");
  EXPECT_EQ(b.lines_with("in the directory already"), 1u);
  a.names.leave(now);
  settle();
  EXPECT_TRUE(a.names.has_left());
  EXPECT_EQ(opened(c, "s"), "10.0.0.2:7471");
  EXPECT_EQ(opened(b, "s"), "here");
}

TEST_F(DirectoryOfHosts, ADeadHostLosesItsNamesWithItsLease) {
  Host& a = add('1');
  Host& b = add('2');
  a.names.publish("s", now);
  pass(60s);  // kept all the time
  EXPECT_EQ(opened(b, "s"), "10.0.0.1:7471");
  die(a);
  pass(11s);
  EXPECT_EQ(opened(b, "s"), "not_found");
  EXPECT_EQ(etcd.leases(), 0u);
}

TEST_F(DirectoryOfHosts, AHostThatIsStartedAgainHasItsNamesAtOnce) {
  Host& a = add('1', 1);
  a.names.publish("s", now);
  settle();
  die(a);
  Host& again = add('1', 2);
  again.names.publish("s", now);
  settle();
  EXPECT_EQ(etcd.keys().at("s").holder.epoch_counter, 2u);
  EXPECT_EQ(again.lines_with("in the directory already"), 0u);
  pass(30s);  // the old lease ends and takes nothing
  EXPECT_TRUE(etcd.keys().contains("s"));
}

TEST_F(DirectoryOfHosts, LostDataAreToldAgain) {
  Host& a = add('1');
  Host& b = add('2');
  a.names.publish("s", now);
  settle();
  etcd.put("foreign", Host::terms('9', 1, 1).self);
  settle();
  for (Host* host : {&a, &b}) host->way.cut();
  pass(1s);
  etcd.lose_data();
  for (Host* host : {&a, &b}) host->way.mend();
  pass(20s);
  EXPECT_EQ(opened(b, "s"), "10.0.0.1:7471");
  EXPECT_EQ(opened(b, "foreign"), "not_found");
}

TEST_F(DirectoryOfHosts, WhatWasCompactedMeanwhileIsListedAgain) {
  Host& a = add('1');
  Host& b = add('2');
  a.names.publish("s", now);
  settle();
  b.way.cut();
  pass(1s);
  a.names.withdraw("s", now);
  a.names.publish("t", now);
  settle();
  etcd.compact();
  b.way.mend();
  pass(10s);
  EXPECT_EQ(b.names.known().find("s"), nullptr);
  EXPECT_NE(b.names.known().find("t"), nullptr);
}

TEST_F(DirectoryOfHosts, ANameThatSomebodyDeletedComesBack) {
  Host& a = add('1');
  a.names.publish("s", now);
  settle();
  etcd.remove("s");
  settle();
  EXPECT_TRUE(etcd.keys().contains("s"));
}

// Publishing, withdrawing, losses and deaths in any order: in the end etcd has exactly what is
// wanted, each name by one host that wants it, and every host knows the same.
TEST_F(DirectoryOfHosts, InTheEndEtcdHasWhatIsWanted) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    etcd = ScriptedEtcd();
    hosts.clear();
    std::map<Host*, std::set<std::string>> wanted;
    for (const char id : {'1', '2', '3'}) wanted[&add(id)];
    for (int step = 0; step < 60; ++step) {
      Host& host = *hosts[random() % hosts.size()];
      const std::string name(1, static_cast<char>('a' + random() % 5));
      switch (random() % 10) {
        case 0:
        case 1:
        case 2:
          wanted[&host].insert(name);
          host.names.publish(name, now);
          break;
        case 3:
        case 4:
          wanted[&host].erase(name);
          host.names.withdraw(name, now);
          break;
        case 5: host.way.cut(); break;
        case 6: host.way.mend(); break;
        case 7: host.way.lose_an_answer(); break;
        case 8: random() % 8 == 0 ? etcd.lose_data() : etcd.compact(); break;
        default: pass(std::chrono::milliseconds{random() % 12'000}); break;
      }
      if (random() % 2 == 0) settle();
    }
    for (const auto& host : hosts) host->way.mend();
    pass(60s);
    std::set<std::string> all;
    for (const auto& [host, names] : wanted) all.insert(names.begin(), names.end());
    ASSERT_EQ(etcd.keys().size(), all.size());
    for (const auto& host : hosts) {
      ASSERT_EQ(host->names.state(), DirectoryState::up);
      ASSERT_EQ(host->names.known().table().size(), all.size());
      for (const std::string& name : wanted[host.get()]) {
        const Entry& entry = etcd.keys().at(name);
        const bool own = entry.holder.host == Host::terms(entry.holder.address[7], 1, 1).self.host;
        ASSERT_TRUE(own);
        const NameState state = host->names.presence().names().at(name).state;
        const bool here = entry.lease != 0 && opened(*host, name) == "here";
        ASSERT_EQ(state, here ? NameState::published : NameState::taken) << name;
      }
    }
  }
}

}  // namespace
}  // namespace tentq::test
