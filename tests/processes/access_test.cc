// Who may do what: other users at the socket, names that belong to a user, rights of regions, and
// the daemon's memory that no client can write. Needs root, to become somebody else.
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>
#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/identity.h"
#include "tests/processes/pattern.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals

class Access : public DaemonFixture {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs root, to become another user";
  }
  // Everybody may reach the sockets' directory; the sockets' modes decide.
  void start_reachable(const nlohmann::json& config = nlohmann::json::object()) {
    start(config);
    ASSERT_EQ(::chmod(daemon().directory().c_str(), 0755), 0);
  }
  // Runs `body` in a process of another user; 0 is success.
  int as(uid_t uid, gid_t gid, const std::vector<gid_t>& groups, const std::function<int()>& body) {
    Role role("stranger", std::chrono::seconds{60}, [&](RoleChannel&) {
      become(uid, gid, groups);
      return body();
    });
    return role.join(kLong);
  }
  int as_stranger(const std::function<int()>& body) {
    return as(kStranger, kStrangerGroup, {}, body);
  }
};

const nlohmann::json kOpenToAll = {{"socket_mode", "0666"}};

TEST_F(Access, TheSocketIsForItsGroupAndTheErrorSaysSo) {
  start_reachable();
  struct stat facts {};
  ASSERT_EQ(::stat(socket().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0660u);
  EXPECT_EQ(as_stranger([&] {
              const Status refused = Client::connect(connection(socket(), "stranger")).status();
              if (refused.code() != Code::not_permitted) return 2;
              if (refused.text().find("group") == std::string::npos) return 3;
              if (refused.may_retry()) return 4;
              ConnectOptions nowhere =
                  connection(daemon().directory() + "/nothing.sock", "stranger");
              nowhere.attach_timeout = std::chrono::milliseconds{50};
              return Client::connect(nowhere).status().code() == Code::daemon_gone ? 0 : 5;
            }),
            0);
}

TEST_F(Access, MembersOfTheSocketsGroupAttach) {
  start_reachable({{"socket_gid", 4'242}});
  const auto attaches = [&] {
    return Client::connect(connection(socket(), "member")).ok() ? 0 : 2;
  };
  EXPECT_EQ(as(kStranger, kStrangerGroup, {4'242}, attaches), 0);
  EXPECT_EQ(as(kStranger, 4'242, {}, attaches), 0);
  EXPECT_EQ(as_stranger(attaches), 2);
}

TEST_F(Access, MembersOfTheAdminGroupReachTheAdminSocket) {
  start_reachable({{"admin_group", "games"}});
  const group* games = ::getgrnam("games");
  ASSERT_NE(games, nullptr);
  const auto resume = [this] {
    try {
      return command(daemon().admin_socket(), CommandKind::resume).empty() ? 1 : 0;
    } catch (const std::runtime_error&) {
      return 2;
    }
  };
  EXPECT_EQ(as(kStranger, kStrangerGroup, {games->gr_gid}, resume), 0);
  EXPECT_EQ(as_stranger(resume), 2);
}

TEST_F(Access, ListsOfUsersAndGroupsDecideBehindAnOpenSocket) {
  start_reachable({{"socket_mode", "0666"},
                   {"sessions", {{"allowed_uids", {0, kOther}}, {"allowed_gids", {4'242}}}}});
  const auto code = [&] {
    const Status status = Client::connect(connection(socket(), "")).status();
    return static_cast<int>(status.code());
  };
  EXPECT_EQ(as(kOther, kStrangerGroup, {}, code), 0);
  EXPECT_EQ(as(kStranger, kStrangerGroup, {4'242}, code), 0);
  EXPECT_EQ(as_stranger(code), static_cast<int>(Code::not_permitted));
  EXPECT_GE(ask(QueryKind::status).at("refused_attaches"), 1);
}

TEST_F(Access, ANameStaysWithItsUser) {
  start_reachable(kOpenToAll);
  const auto try_name = [&] {
    const Status status = Client::connect(connection(socket(), "store")).status();
    return static_cast<int>(status.code());
  };
  {
    Exporter store(socket());
    EXPECT_EQ(as_stranger(try_name), static_cast<int>(Code::name_in_use));
    store.fill(1, 0, 64);
    store.kill();
    store.join();
  }
  ASSERT_TRUE(eventually(kLong, [&] { return client_row("store").is_null(); }));
  // Reserved for a while after a death too; its own user may have it at once.
  EXPECT_EQ(as_stranger(try_name), static_cast<int>(Code::name_in_use));
  Client client = attach(socket(), "store");
  EXPECT_TRUE(client.attached());
}

TEST_F(Access, AReservedNameIsFreeAfterItsTime) {
  start_reachable({{"socket_mode", "0666"}, {"sessions", {{"name_hold", "50ms"}}}});
  { Client client = attach(socket(), "store"); }
  EXPECT_EQ(as_stranger([&] {
              return eventually(std::chrono::seconds{10},
                                [&] { return Client::connect(connection(socket(), "store")).ok(); })
                         ? 0
                         : 2;
            }),
            0);
}

// A region's rights, from the sight of one other process.
struct Seen {
  bool opened = false;
  Code open_code = Code::ok;
  TaskReason read = TaskReason::none;
  TaskReason write = TaskReason::none;
};

class RegionRights : public Access {
 protected:
  Seen seen_by(uid_t uid, gid_t gid, const std::vector<gid_t>& groups, const std::string& name) {
    Seen result;
    Role role(name, std::chrono::seconds{60}, [&](RoleChannel& channel) {
      become(uid, gid, groups);
      Client client = attach(socket(), name);
      Seen seen;
      Result<Segment> segment = client.open_segment("store");
      seen.opened = segment.ok();
      seen.open_code = segment.status().code();
      if (segment.ok()) {
        Memory memory = allocate_at(client, 4_KiB);
        seen.read = transfer(client, read_from(*segment, 0, memory.bytes())).reason;
        seen.write = transfer(client, write_to(*segment, 0, memory.bytes())).reason;
      }
      channel.send(seen);
      return 0;
    });
    if (const auto seen = role.channel().receive<Seen>(kLong)) result = *seen;
    EXPECT_EQ(role.join(kLong), 0);
    return result;
  }
  static void expect_nothing(const Seen& seen) {
    EXPECT_FALSE(seen.opened);
    EXPECT_EQ(seen.open_code, Code::not_permitted);
  }
  static void expect_both(const Seen& seen) {
    EXPECT_TRUE(seen.opened) << to_string(seen.open_code);
    EXPECT_EQ(seen.read, TaskReason::none);
    EXPECT_EQ(seen.write, TaskReason::none);
  }
};

Rights rights(tentq::Access access, Scope scope, std::uint32_t id = 0, std::string name = {}) {
  Rights rights(access);
  rights.scope = scope;
  rights.scope_id = id;
  rights.scope_name = std::move(name);
  return rights;
}
constexpr auto kBoth = tentq::Access::remote_read_write;

TEST_F(RegionRights, AreForTheSameUserByDefault) {
  start_reachable(kOpenToAll);
  Exporter store(socket());
  expect_both(seen_by(0, 0, {}, "mine"));
  expect_nothing(seen_by(kStranger, kStrangerGroup, {}, "stranger"));
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(RegionRights, CanBeGivenToAUser) {
  start_reachable(kOpenToAll);
  Exporter store(socket(), {.rights = rights(kBoth, Scope::uid, kOther)});
  expect_both(seen_by(kOther, kStrangerGroup, {}, "other"));
  expect_nothing(seen_by(kStranger, kStrangerGroup, {}, "stranger"));
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(RegionRights, CanBeGivenToAGroup) {
  start_reachable(kOpenToAll);
  Exporter store(socket(), {.rights = rights(kBoth, Scope::gid, 4'242)});
  expect_both(seen_by(kStranger, 4'242, {}, "primary"));
  expect_both(seen_by(kStranger, kStrangerGroup, {7, 4'242}, "member"));
  expect_nothing(seen_by(kStranger, kStrangerGroup, {7}, "stranger"));
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(RegionRights, CanBeGivenToAName) {
  start_reachable(kOpenToAll);
  Exporter store(socket(), {.rights = rights(kBoth, Scope::name, 0, "friend")});
  expect_both(seen_by(kStranger, kStrangerGroup, {}, "friend"));
  expect_nothing(seen_by(kStranger, kStrangerGroup, {}, "friendly"));
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(RegionRights, CanBeGivenToEverybodyForReadingAlone) {
  start_reachable(kOpenToAll);
  Exporter store(socket(), {.rights = rights(tentq::Access::remote_read, Scope::everyone)});
  store.fill(5, 0, 1_MiB);
  const Seen seen = seen_by(kStranger, kStrangerGroup, {}, "reader");
  EXPECT_TRUE(seen.opened);
  EXPECT_EQ(seen.read, TaskReason::none);
  EXPECT_EQ(seen.write, TaskReason::not_permitted);
  EXPECT_FALSE(may_retry(seen.write));
  EXPECT_EQ(store.differences(5, 0, 1_MiB), 0u);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(RegionRights, NoneMeansNone) {
  start_reachable(kOpenToAll);
  Exporter store(socket(), {.rights = rights(tentq::Access::none, Scope::everyone)});
  expect_nothing(seen_by(kStranger, kStrangerGroup, {}, "stranger"));
  const Seen mine = seen_by(0, 0, {}, "mine");
  EXPECT_EQ(mine.read, TaskReason::not_permitted);
  EXPECT_EQ(mine.write, TaskReason::not_permitted);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(RegionRights, TwoUsersExchangeBytesThroughOneDaemon) {
  start_reachable(kOpenToAll);
  Exporter store(
      socket(),
      {.rights = rights(kBoth, Scope::everyone), .uid = kStranger, .gid = kStrangerGroup});
  store.fill(6, 0, 64_KiB);
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_KiB);
  must_complete(client, read_from(segment, 0, memory.bytes()));
  EXPECT_EQ(pattern_differences(memory.bytes(), 6), 0u);
  EXPECT_EQ(store.stop(), 0);
}

// What a user sees of others over the client socket.
TEST_F(Access, QueriesOfTheClientSocketShowOnesOwnAlone) {
  start_reachable(kOpenToAll);
  Exporter store(socket());
  Exporter strangers(socket(), {.name = "strangers", .uid = kStranger, .gid = kStrangerGroup});
  EXPECT_EQ(as_stranger([&] {
              const nlohmann::json clients = query(socket(), QueryKind::clients).at("clients");
              if (clients.size() != 1 || clients[0].at("name") != "strangers") return 2;
              const nlohmann::json segments = query(socket(), QueryKind::segments).at("segments");
              if (segments.size() != 1 || segments[0].at("segment") != "strangers") return 3;
              try {
                (void)query(socket(), QueryKind::owners, "client=store");
                return 4;
              } catch (const std::runtime_error& refused) {
                if (std::string(refused.what()).find("not_permitted") == std::string::npos)
                  return 5;
              }
              try {
                (void)command(socket(), CommandKind::drain);
                return 6;
              } catch (const std::runtime_error&) {
              }
              try {
                (void)query(daemon().admin_socket(), QueryKind::status);
                return 7;
              } catch (const std::runtime_error&) {
                return 0;
              }
            }),
            0);
  EXPECT_EQ(ask(QueryKind::clients).at("clients").size(), 2u);
  EXPECT_EQ(store.stop(), 0);
  EXPECT_EQ(strangers.stop(), 0);
}

}  // namespace
}  // namespace tentq::test
