// Administration of a running daemon: drain, resume and set at the admin socket alone, and what the
// queries tell.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/load.h"
#include "tests/processes/pattern.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals

class AdminSocket : public DaemonFixture {
 protected:
  std::string command_error(const std::string& path, CommandKind kind,
                            const std::string& argument) {
    try {
      (void)command(path, kind, argument);
      return {};
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }
  std::string set_error(const std::string& assignment) {
    return command_error(daemon().admin_socket(), CommandKind::set, assignment);
  }
  std::string query_error(QueryKind kind, const std::string& argument) {
    try {
      (void)ask(kind, argument);
      return {};
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }
};

TEST_F(AdminSocket, DrainRefusesNewWorkAndResumeTakesItAgain) {
  start();
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_KiB);
  must_complete(client, write_to(segment, 0, memory.bytes()));
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(command(daemon().admin_socket(), CommandKind::drain).empty());
    EXPECT_EQ(ask(QueryKind::status).at("state"), "draining");
    Batch batch = need(client.allocate_batch(1), "allocate_batch");
    const Request request = write_to(segment, 0, memory.bytes());
    const Status refused = client.submit(batch, std::span(&request, 1));
    EXPECT_EQ(refused.code(), Code::draining) << refused.to_string();
    EXPECT_TRUE(refused.may_retry());
    EXPECT_EQ(batch.tasks(), 0u);
    EXPECT_EQ(Client::connect(connection(socket(), "newcomer")).status().code(), Code::draining);
    EXPECT_FALSE(command(daemon().admin_socket(), CommandKind::resume).empty());
    EXPECT_EQ(ask(QueryKind::status).at("state"), "running");
    ASSERT_TRUE(
        eventually(kLong, [&] { return client.submit(batch, std::span(&request, 1)).ok(); }));
    EXPECT_TRUE(batch.wait(kLong).ok());
  }
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(AdminSocket, CommandsAtTheClientSocketAreRefused) {
  start();
  for (const CommandKind kind : {CommandKind::drain, CommandKind::resume, CommandKind::set}) {
    const std::string error = command_error(socket(), kind, "policy=fifo");
    EXPECT_NE(error.find("not_permitted"), std::string::npos) << error;
  }
  EXPECT_EQ(ask(QueryKind::status).at("state"), "running");
  EXPECT_EQ(ask(QueryKind::status).at("policy"), "wdrr");
}

TEST_F(AdminSocket, SetChangesPolicyLimitsAndWindowsUnderLoad) {
  start();
  Exporter store(socket(), {.bytes = 4 * 64_KiB});
  Load load(socket(), {.clients = 4});
  for (const char* policy : {"direct", "fifo", "strict", "wdrr"}) {
    command(daemon().admin_socket(), CommandKind::set, std::string("policy=") + policy);
    EXPECT_EQ(ask(QueryKind::status).at("policy"), policy);
    EXPECT_TRUE(load.proceeds(5, kLong)) << policy;
  }
  for (const char* window : {"64KiB", "16MiB", "256KiB"}) {
    command(daemon().admin_socket(), CommandKind::set, "shm.chunk_bytes=64KiB");
    command(daemon().admin_socket(), CommandKind::set, std::string("shm.window_bytes=") + window);
    EXPECT_TRUE(load.proceeds(5, kLong)) << window;
  }
  for (const char* owners : {"8", "1000", "16"}) {
    command(daemon().admin_socket(), CommandKind::set,
            std::string("limits.client.owners=") + owners);
    EXPECT_TRUE(load.proceeds(5, kLong)) << owners;
  }
  EXPECT_TRUE(load.stop());
  EXPECT_EQ(load.mismatches(), 0u);
  EXPECT_EQ(load.failures(), 0u);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(AdminSocket, SetRefusesWhatCannotBeAndSaysWhy) {
  start();
  const nlohmann::json before = ask(QueryKind::status).at("limits");
  EXPECT_NE(set_error("policy=fast").find("invalid_argument"), std::string::npos);
  EXPECT_NE(set_error("polcy=fifo").find("policy"), std::string::npos) << "the nearest key";
  EXPECT_NE(set_error("policy").find("invalid_argument"), std::string::npos);
  EXPECT_NE(set_error("").find("invalid_argument"), std::string::npos);
  EXPECT_NE(set_error("sessions.most=5").find("unsupported"), std::string::npos);
  EXPECT_NE(set_error("limits.host.owners=99999999999").find("invalid_argument"),
            std::string::npos);
  EXPECT_FALSE(set_error("shm.chunk_bytes=8MiB").empty());
  EXPECT_EQ(ask(QueryKind::status).at("limits"), before);
  EXPECT_EQ(ask(QueryKind::status).at("policy"), "wdrr");
}

TEST_F(AdminSocket, QueriesTellWhatIsThere) {
  start(narrow_lanes());
  Exporter store(socket(), {.bytes = 16_MiB});
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 16_MiB);
  Batch batch = need(client.allocate_batch(64), "allocate_batch");
  const Request request = write_to(segment, 0, memory.bytes());
  for (int i = 0; i < 64; ++i) {
    need(client.submit_wait(batch, std::span(&request, 1), {.cookie = 4'711}, kLong), "submit");
  }
  const nlohmann::json owners = ask(QueryKind::owners, "client=engine").at("owners");
  ASSERT_FALSE(owners.empty());
  const nlohmann::json& last = owners.back();
  EXPECT_EQ(last.at("client_name"), "engine");
  EXPECT_EQ(last.at("op"), "write");
  EXPECT_EQ(last.at("cookie"), 4'711);
  EXPECT_EQ(last.at("length_bytes"), 16_MiB);
  const std::string number = std::to_string(last.at("owner").get<std::uint64_t>());
  const nlohmann::json why = ask(QueryKind::explain, "owner=" + number);
  EXPECT_TRUE(why.at("waits_for") == "order" || why.at("waits_for") == "window") << why.dump();
  EXPECT_FALSE(why.at("text").get<std::string>().empty());
  EXPECT_GT(ask(QueryKind::queue).at("total").at("depth"), 0);
  EXPECT_GT(ask(QueryKind::queue).at("classes").at("default").at("depth"), 0);
  EXPECT_FALSE(ask(QueryKind::queue, "by=client").at("clients").empty());
  EXPECT_FALSE(ask(QueryKind::queue, "by=lane").at("lanes").empty());
  EXPECT_EQ(ask(QueryKind::owners, "most=3").at("owners").size(), 3u);
  EXPECT_EQ(ask(QueryKind::clients).at("clients").size(), 2u);
  const nlohmann::json segments = ask(QueryKind::segments).at("segments");
  EXPECT_EQ(segments.size(), 2u);
  const auto exported = std::find_if(segments.begin(), segments.end(),
                                     [](const auto& row) { return row.at("segment") == "store"; });
  ASSERT_NE(exported, segments.end());
  EXPECT_EQ(exported->at("registered_bytes"), 16_MiB);
  EXPECT_EQ(exported->at("handles"), 1);
  EXPECT_EQ(ask(QueryKind::lanes).at("lanes").size(), 2u);
  // The same through the library.
  EXPECT_TRUE(client.query("queue").ok());
  EXPECT_TRUE(client.query("queue", "by=client").ok());
  EXPECT_EQ(client.query("nonsense").status().code(), Code::invalid_argument);
  EXPECT_TRUE(batch.wait(kLong).ok());
  EXPECT_EQ(batch.overall().completed, 64u);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(AdminSocket, WrongQueriesAreRefusedWithWhatIsRight) {
  start();
  EXPECT_NE(query_error(QueryKind::queue, "by=colour").find("lane"), std::string::npos);
  EXPECT_NE(query_error(QueryKind::queue, "nonsense").find("by"), std::string::npos);
  EXPECT_NE(query_error(QueryKind::owners, "client=nobody").find("not_found"), std::string::npos);
  EXPECT_NE(query_error(QueryKind::owners, "state=lazy").find("queued"), std::string::npos);
  EXPECT_NE(query_error(QueryKind::explain, "owner=1").find("not_found"), std::string::npos);
  EXPECT_NE(query_error(QueryKind::explain, "").find("owner"), std::string::npos);
  EXPECT_NE(query_error(QueryKind{99}, "").find("invalid_argument"), std::string::npos);
}

}  // namespace
}  // namespace tentq::test
