// The daemon's command line and configuration: refused with the place and the remedy, reloaded at
// SIGHUP, and a bad file changes nothing.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/support/program.h"
#include "tests/support/temp_directory.h"

namespace tentq::test {
namespace {

class Configuration : public ::testing::Test {
 protected:
  Outcome check(const std::string& text) {
    std::ofstream(directory_.file("tentqd.json"), std::ios::trunc) << text;
    return run_program(
        {find_daemon_binary(""), "--config", directory_.file("tentqd.json"), "--check-config"});
  }
  static bool says(const Outcome& outcome, const std::string& words) {
    return outcome.output.find(words) != std::string::npos;
  }

  TempDirectory directory_{"tentq-config"};
};

TEST_F(Configuration, AGoodOneIsOk) {
  for (const char* text :
       {"", "{}", "// nothing\n{}", "{\"policy\": \"strict\"}",
        "{ /* sizes */ \"shm\": {\"window_bytes\": \"8MiB\", \"chunk_bytes\": 262144}}",
        "{\"loop\": {\"spin\": \"20us\"}}"}) {
    const Outcome outcome = check(text);
    EXPECT_EQ(outcome.exit_code, 0) << text << "\n" << outcome.output;
  }
}

TEST_F(Configuration, ABadOneExitsWithTwoAndNamesThePlace) {
  struct Case {
    const char* text;
    const char* words;  // that help
  };
  const Case cases[] = {
      {"{\"polcy\": \"fifo\"}", "policy"},
      {"{\"limits\": {\"host\": {\"owner\": 5}}}", "owners"},
      {"{\"policy\": \"quick\"}", "wdrr"},
      {"{\"policy\": 7}", "policy"},
      {"{\"shm\": {\"window_bytes\": \"8MB\"}}", "window_bytes"},
      {"{\"loop\": {\"spin\": 20}}", "spin"},
      {"{\"sessions\": 5}", "sessions"},
      {"{\"policy\": {\"fifo\": true}}", "policy"},
      {"{\"policy\": \"fifo\",}", ":1:"},
      {"{\n\n\"policy\": \"fifo\"\n\"log_level\": \"info\"}", ":4:"},
      {"{\"policy\": \"fifo\", \"policy\": \"wdrr\"}", "policy"},
      {"{\"shm\": {\"chunk_bytes\": \"1MiB\", \"window_bytes\": \"64KiB\"}}", "window_bytes"},
      {"{\"sessions\": {\"ring_cells\": 1000}}", "ring_cells"},
      {"{\"metrics_listen\": \"0.0.0.0:9464\"}", "metrics_listen_public"},
      {"{\"metrics_listen\": \"localhost:9464\"}", "127.0.0.1:9464"},
      {"[]", ""},
      {"{", ":1:"},
  };
  for (const Case& test : cases) {
    const Outcome outcome = check(test.text);
    EXPECT_EQ(outcome.exit_code, 2) << test.text << "\n" << outcome.output;
    EXPECT_TRUE(says(outcome, test.words)) << test.text << "\n" << outcome.output;
    EXPECT_TRUE(says(outcome, "tentqd.json")) << outcome.output;
  }
}

TEST_F(Configuration, ABadOneStartsNothing) {
  std::ofstream(directory_.file("tentqd.json")) << "{\"queue_limt\": 5}";
  const Outcome outcome =
      run_program({find_daemon_binary(""), "--config", directory_.file("tentqd.json")});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
  const Outcome missing =
      run_program({find_daemon_binary(""), "--config", directory_.file("nothing.json")});
  EXPECT_EQ(missing.exit_code, 2) << missing.output;
  EXPECT_TRUE(says(missing, "nothing.json")) << missing.output;
}

TEST_F(Configuration, WhatItPrintsIsWhatItReads) {
  const Outcome printed = run_program({find_daemon_binary(""), "--print-config"});
  ASSERT_EQ(printed.exit_code, 0) << printed.output;
  const Outcome again = check(printed.output);
  EXPECT_EQ(again.exit_code, 0) << again.output;
}

TEST_F(Configuration, TheCommandLineAnswersForItself) {
  const std::string binary = find_daemon_binary("");
  const Outcome version = run_program({binary, "--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_TRUE(says(version, "tentqd ")) << version.output;
  EXPECT_EQ(run_program({binary, "--help"}).exit_code, 0);
  EXPECT_EQ(run_program({binary, "--no-such-option"}).exit_code, 2);
}

TEST_F(Configuration, PlacesThatCannotBeUsedAreNamed) {
  const auto start = [&](const std::string& key, const std::string& path) {
    nlohmann::json config = {
        {"socket", directory_.file("a.sock")},          {"admin_socket", directory_.file("b.sock")},
        {"status_path", directory_.file("status.shm")}, {"lock_path", directory_.file("lock")},
        {"state_directory", directory_.path()},         {"metrics_listen", ""}};
    config[key] = path;
    std::ofstream(directory_.file("tentqd.json"), std::ios::trunc) << config.dump();
    return run_program({find_daemon_binary(""), "--config", directory_.file("tentqd.json")});
  };
  const std::string nowhere = directory_.file("missing/file");
  for (const char* key : {"socket", "admin_socket", "lock_path"}) {
    const Outcome outcome = start(key, nowhere);
    EXPECT_EQ(outcome.exit_code, 1) << key << "\n" << outcome.output;
    EXPECT_TRUE(says(outcome, nowhere)) << outcome.output;
  }
  std::ofstream(directory_.file("plain")) << "a file";
  EXPECT_EQ(start("state_directory", directory_.file("plain")).exit_code, 1);
  const Outcome foreign = start("socket", directory_.file("plain"));
  EXPECT_EQ(foreign.exit_code, 1) << foreign.output;
  std::ifstream kept(directory_.file("plain"));
  const std::string text{std::istreambuf_iterator<char>(kept), {}};
  EXPECT_EQ(text, "a file");
}

class Reload : public DaemonFixture {
 protected:
  // SIGHUP, and waits until the log has the words.
  bool reload_says(const std::string& words) {
    daemon().signal(SIGHUP);
    return eventually(kLong, [&] { return daemon().log().find(words) != std::string::npos; });
  }
};

TEST_F(Reload, TakesWhatCanChangeAndKeepsTheRest) {
  start({{"policy", "wdrr"}});
  Client client = attach(socket(), "engine");
  daemon().configure({{"policy", "strict"},
                      {"limits", {{"client", {{"owners", 77}}}}},
                      {"sessions", {{"most", 55}}}});
  EXPECT_TRUE(reload_says("sessions.most")) << daemon().log();
  EXPECT_EQ(ask(QueryKind::status).at("policy"), "strict");
  EXPECT_EQ(ask(QueryKind::status).at("limits").at("client").at("owners"), 77);
  EXPECT_TRUE(client.attached());
}

TEST_F(Reload, OfABadFileChangesNothing) {
  start({{"policy", "fifo"}});
  const nlohmann::json before = ask(QueryKind::status).at("limits");
  for (const char* text : {"{\"policy\": \"strict\", \"polcy\": 1}", "{", "{\"policy\": \"quick\"}",
                           "{\"shm\": {\"chunk_bytes\": \"1MiB\", \"window_bytes\": \"64KiB\"}}"}) {
    std::ofstream(daemon().config_path(), std::ios::trunc) << text;
    const std::size_t lines = daemon().log().size();
    daemon().signal(SIGHUP);
    EXPECT_TRUE(eventually(
        kLong, [&] { return daemon().log().find("refused", lines) != std::string::npos; }))
        << text << daemon().log();
    EXPECT_EQ(ask(QueryKind::status).at("policy"), "fifo") << text;
    EXPECT_EQ(ask(QueryKind::status).at("limits"), before) << text;
  }
}

TEST_F(Reload, HundredTimesUnderWayHurtsNobody) {
  start();
  Client client = attach(socket(), "self");
  Memory memory = allocate_at(client, 8'192);
  const Segment own = need(client.open_segment("self"), "open_segment");
  for (int i = 0; i < 100; ++i) {
    daemon().configure({{"policy", i % 2 == 0 ? "fifo" : "wdrr"}});
    daemon().signal(SIGHUP);
    must_complete(client, write_to(own, 4'096, memory.bytes().first(64)));
  }
}

}  // namespace
}  // namespace tentq::test
