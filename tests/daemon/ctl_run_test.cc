// tentqctl from its words to its exit code, against documents of the real queries.
#include "client/ctl/run.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "client/ctl/daemon_link.h"
#include "client/ctl/doctor.h"
#include "client/ctl/status_page_reader.h"
#include "daemon/status_page/status_page.h"
#include "proto/version.h"
#include "tests/daemon/fake_host.h"
#include "tests/daemon/fake_server.h"
#include "tests/support/temp_directory.h"

namespace tentq::ctl {
namespace {

using nlohmann::json;
using test::FakeHost;
using test::FakeServer;

struct Ran {
  int code = -1;
  std::string out;
  std::string err;
};

Ran run_ctl(const std::vector<std::string>& words, const std::string& variable = {}) {
  std::ostringstream out;
  std::ostringstream err;
  Ran ran;
  ran.code = run(words, variable, Output{out, err, false, false});
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

class Ctl : public ::testing::Test {
 protected:
  Ctl() {
    const SessionId session = host.add_client("engine", 0);
    host.submit(session, ClassId::foreground, 16 * test::kWindowBytes);
    host.submit(session, ClassId::background, 4096);
    host.dispatch();
    host.client_views.front().violations[0] = 3;
    host.client_views.front().last_error = "tail out of range";
    SegmentView segment;
    segment.name = std::string(63, 's');
    segment.client = ClientId{100};
    segment.regions.push_back({0, 1u << 20, "read", "same uid", "none", 1, true});
    host.segment_views.push_back(segment);
    host.errors.report(LogLevel::error, "shm.fault", "page is gone", "register again", host.now());
  }
  QueryAnswer answer(const Query& query) {
    return answer_query(query, host, host.errors, Caller{0, true, {}});
  }
  // A daemon at `socket` for the time of one call.
  Ran with_daemon(std::vector<std::string> words) {
    const FakeServer server(
        socket, [this](const Query& query) { return answer(query); },
        [this](const Command& command, std::string* text) {
          commands.emplace_back(command.kind, command.argument.view());
          *text = command_text;
          return command_status;
        });
    words.insert(words.end(), {"--socket", socket});
    return run_ctl(words);
  }

  FakeHost host;
  test::TempDirectory directory{"tentq-ctl"};
  std::string socket = directory.file("tentqd.sock");
  std::vector<std::pair<CommandKind, std::string>> commands;
  StatusCode command_status = StatusCode::ok;
  std::string command_text = "draining";
};

TEST_F(Ctl, EveryListingFitsAHundredColumnsAndItsJsonParses) {
  const std::string owner = std::to_string(host.core().list_owners({}, 1).at(0).id.number());
  const std::vector<std::vector<std::string>> all = {
      {"status"},
      {"queue"},
      {"queue", "--by", "client"},
      {"queue", "--by", "lane"},
      {"queue", "--by", "peer"},
      {"clients"},
      {"lanes"},
      {"segments"},
      {"segments", "--hosts"},
      {"owners"},
      {"errors"},
      {"explain", owner},
      {"owners", "--client", "engine", "--state", "submitted"}};
  for (std::vector<std::string> words : all) {
    Ran ran = with_daemon(words);
    EXPECT_EQ(ran.code, 0) << words[0] << ": " << ran.err;
    EXPECT_FALSE(ran.out.empty()) << words[0];
    EXPECT_EQ(ran.out.find('\x1b'), std::string::npos) << words[0];
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(width_of(line), kMostColumns) << line;
    }
    words.emplace_back("--json");
    ran = with_daemon(words);
    EXPECT_EQ(ran.code, 0) << words[0];
    EXPECT_TRUE(json::parse(ran.out).is_object()) << words[0];
  }
}

TEST_F(Ctl, TablesTellWhatTheDocumentsSay) {
  EXPECT_NE(with_daemon({"status"}).out.find("running"), std::string::npos);
  EXPECT_NE(with_daemon({"queue"}).out.find("foreground"), std::string::npos);
  const std::string clients = with_daemon({"clients"}).out;
  EXPECT_NE(clients.find("engine"), std::string::npos);
  EXPECT_NE(clients.find("tail out of range; tail_out_of_range 3"), std::string::npos) << clients;
  EXPECT_NE(with_daemon({"errors"}).out.find("register again"), std::string::npos);
}

TEST_F(Ctl, StatusShowsTheLatenciesOfClassesThatHaveAny) {
  EXPECT_EQ(with_daemon({"status"}).out.find("wait p50"), std::string::npos);
  EXPECT_NE(with_daemon({"status"}).out.find("not served"), std::string::npos);
  host.daemon_view.metrics = "127.0.0.1:9464";
  host.latencies.ended(ClassId::prefetch, time_from_ns(0), time_from_ns(3'000'000),
                       time_from_ns(8'000'000));
  const std::string out = with_daemon({"status"}).out;
  EXPECT_NE(out.find("http://127.0.0.1:9464/metrics"), std::string::npos) << out;
  EXPECT_NE(out.find("wait p50"), std::string::npos) << out;
  const std::size_t row = out.find("\nprefetch ");
  ASSERT_NE(row, std::string::npos) << out;
  EXPECT_NE(out.find("3.1ms", row), std::string::npos) << out;
  EXPECT_NE(out.find("5.2ms", row), std::string::npos) << out;
  EXPECT_EQ(out.find("\nforeground "), std::string::npos) << out;
}

TEST_F(Ctl, RefusalsGoToStandardErrorAndExitWithOne) {
  const Ran ran = with_daemon({"explain", "123456"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find("123456"), std::string::npos);
  const Ran as_json = with_daemon({"explain", "123456", "--json"});
  EXPECT_EQ(as_json.code, 1);
  EXPECT_EQ(json::parse(as_json.out).at("error").at("status"), "not_found");
}

TEST_F(Ctl, WrongCommandLinesExitWithTwoAndTouchNoDaemon) {
  const std::vector<std::vector<std::string>> wrong = {{},
                                                       {"nope"},
                                                       {"status", "queue"},
                                                       {"status", "extra"},
                                                       {"queue", "--by", "colour"},
                                                       {"queue", "--by"},
                                                       {"owners", "--state", "happy"},
                                                       {"owners", "--client", "a b"},
                                                       {"explain"},
                                                       {"explain", "abc"},
                                                       {"explain", "-1"},
                                                       {"explain", "1", "2"},
                                                       {"set"},
                                                       {"set", "policy"},
                                                       {"set", "=x"},
                                                       {"top", "--interval", "0"},
                                                       {"--nonsense", "status"}};
  for (const auto& words : wrong) {
    const Ran ran = run_ctl(words);
    EXPECT_EQ(ran.code, 2) << (words.empty() ? "" : words[0]);
    EXPECT_FALSE(ran.err.empty());
  }
}

TEST_F(Ctl, HelpAndVersionExitWithZero) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--help"}, {"queue", "--help"}, {"--version"}, {"version"}}) {
    EXPECT_EQ(run_ctl(words).code, 0);
  }
  EXPECT_EQ(json::parse(run_ctl({"version", "--json"}).out).at("version"), kProductVersion);
}

TEST_F(Ctl, CommandsReachTheDaemonAsTheyAre) {
  EXPECT_EQ(with_daemon({"drain"}).out, "draining\n");
  EXPECT_EQ(with_daemon({"resume"}).code, 0);
  EXPECT_EQ(with_daemon({"set", "policy=strict"}).code, 0);
  ASSERT_EQ(commands.size(), 3u);
  EXPECT_EQ(commands[0].first, CommandKind::drain);
  EXPECT_EQ(commands[1].first, CommandKind::resume);
  EXPECT_EQ(commands[2].first, CommandKind::set);
  EXPECT_EQ(commands[2].second, "policy=strict");
}

TEST_F(Ctl, ARefusedSettingTellsWhyAndExitsWithTwo) {
  command_status = StatusCode::invalid_argument;
  command_text = "`polcy`: unknown key; the nearest known key is `policy`";
  const Ran ran = with_daemon({"set", "polcy=strict"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("`policy`"), std::string::npos);
  command_status = StatusCode::not_permitted;
  EXPECT_EQ(with_daemon({"drain"}).code, 1);
}

TEST_F(Ctl, ArgumentsThatDoNotFitAPacketAreRefused) {
  const Ran ran = with_daemon({"set", "log_file=/" + std::string(300, 'x')});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(commands.empty());
}

TEST_F(Ctl, NoDaemonIsAFailureWithARemedy) {
  const Ran ran = run_ctl({"status", "--socket", socket});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("is tentqd running"), std::string::npos) << ran.err;
  const Ran by_variable = run_ctl({"status"}, socket);
  EXPECT_NE(by_variable.err.find(socket), std::string::npos) << by_variable.err;
}

TEST_F(Ctl, AnAnswerOfAnotherFormIsALineNotACrash) {
  for (const char* text : {"{}", "[]", "not json", "{\"queue\": 5}"}) {
    const FakeServer server(socket, [&](const Query&) {
      return QueryAnswer{StatusCode::ok, text, {}};
    });
    const Ran ran = run_ctl({"status", "--socket", socket});
    EXPECT_EQ(ran.code, 1) << text;
    EXPECT_NE(ran.err.find("update"), std::string::npos) << ran.err;
  }
}

TEST_F(Ctl, TopReadsThePageOfADaemonThatDoesNotAnswer) {
  std::string why;
  const std::string page = directory.file("status.shm");
  const auto writer = StatusPageWriter::create(page, {"a", "b", host.now()}, &why);
  ASSERT_NE(writer, nullptr) << why;
  writer->update(host, host.errors);
  const Ran ran = run_ctl({"top", "--once", "--page", page});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("foreground"), std::string::npos);
  // The page lies beside the socket unless said otherwise.
  const Ran beside = run_ctl({"top", "--json", "--socket", socket});
  EXPECT_EQ(beside.code, 0) << beside.err;
  EXPECT_EQ(json::parse(beside.out).at("version"), "0.1.0");
  EXPECT_EQ(run_ctl({"top", "--page", directory.file("none")}).code, 1);
}

TEST(CtlPlaces, PreferTheAdminSocketUnlessToldWhere) {
  Places places = find_places("", "", false);
  EXPECT_EQ(places.sockets,
            (std::vector<std::string>{kDefaultAdminSocketPath, kDefaultSocketPath}));
  EXPECT_EQ(places.status_page, kDefaultStatusPath);
  places = find_places("/x/tentqd.sock", "/y/tentqd.sock", false);
  EXPECT_EQ(places.sockets, (std::vector<std::string>{"/x/tentqd.sock"}));
  EXPECT_EQ(places.status_page, "/x/status.shm");
  places = find_places("/x/tentqd.sock", "", true);
  EXPECT_EQ(places.sockets, (std::vector<std::string>{"/x/admin.sock", "/x/tentqd.sock"}));
  places = find_places("/x/admin.sock", "", true);
  EXPECT_EQ(places.sockets, (std::vector<std::string>{"/x/admin.sock"}));
  places = find_places("", "/y/tentqd.sock", false);
  EXPECT_EQ(places.sockets, (std::vector<std::string>{"/y/admin.sock", "/y/tentqd.sock"}));
}

TEST(CtlConnect, EveryFailureHasItsOwnRemedy) {
  EXPECT_NE(connect_failure("/x", EACCES).find("group"), std::string::npos);
  EXPECT_NE(connect_failure("/x", ENOENT).find("is tentqd running"), std::string::npos);
  EXPECT_NE(connect_failure("/x", ECONNREFUSED).find("left over"), std::string::npos);
  EXPECT_NE(connect_failure("/x", EAGAIN).find("tentqctl top"), std::string::npos);
}

const Check* find(const std::vector<Check>& checks, const std::string& name) {
  const auto found = std::find_if(checks.begin(), checks.end(),
                                  [&](const Check& check) { return check.name == name; });
  return found == checks.end() ? nullptr : &*found;
}

TEST_F(Ctl, DoctorFindsNoDaemonAndSaysWhatToDo) {
  const Ran ran = run_ctl({"doctor", "--json", "--socket", socket});
  EXPECT_EQ(ran.code, 1);
  const json report = json::parse(ran.out);
  EXPECT_EQ(report.at("healthy"), false);
  for (const json& check : report.at("checks")) {
    if (check.at("result") != "failure" && check.at("result") != "warning") continue;
    EXPECT_NE(check.at("remedy"), "") << check;
  }
}

TEST_F(Ctl, DoctorIsContentWithADaemonThatBeats) {
  std::string why;
  host.daemon_view.pid = static_cast<std::uint32_t>(::getpid());
  const auto writer =
      StatusPageWriter::create(directory.file("status.shm"), {"a", "b", host.now()}, &why);
  ASSERT_NE(writer, nullptr) << why;
  writer->update(host, host.errors);
  writer->beat(monotonic_now());
  const FakeServer client_socket(socket, {});
  const FakeServer admin_socket(directory.file("admin.sock"), {});
  HostPaths paths;
  paths.places = find_places(socket, "", false);
  std::vector<Check> checks;
  check_access(paths, &checks);
  check_daemon(paths, &checks);
  for (const char* name : {"client socket", "admin socket", "daemon", "group"}) {
    ASSERT_NE(find(checks, name), nullptr) << name;
    EXPECT_EQ(find(checks, name)->result, Check::Result::ok) << find(checks, name)->detail;
  }
}

TEST_F(Ctl, DoctorReadsTheHostsSettings) {
  std::filesystem::create_directories(directory.file("sys/vm"));
  std::filesystem::create_directories(directory.file("sys/kernel/yama"));
  std::filesystem::create_directories(directory.file("ib/mlx5_0"));
  std::ofstream(directory.file("sys/vm/max_map_count")) << "1000\n";
  std::ofstream(directory.file("sys/kernel/yama/ptrace_scope")) << "3\n";
  std::ofstream(directory.file("clock")) << "hpet\n";
  HostPaths paths;
  paths.sysctl = directory.file("sys");
  paths.infiniband = directory.file("ib");
  paths.clocksource = directory.file("clock");
  std::vector<Check> checks;
  check_kernel(paths, &checks);
  check_devices(paths, &checks);
  EXPECT_EQ(find(checks, "max_map_count")->result, Check::Result::warning);
  EXPECT_EQ(find(checks, "ptrace scope")->result, Check::Result::ok);
  EXPECT_EQ(find(checks, "clock")->result, Check::Result::warning);
  EXPECT_NE(find(checks, "RDMA")->detail.find("mlx5_0 is not used"), std::string::npos);
}

TEST_F(Ctl, DoctorTellsTheDaemonsMemlockLimit) {
  std::string why;
  host.daemon_view.pid = 77;
  const auto writer =
      StatusPageWriter::create(directory.file("status.shm"), {"a", "b", host.now()}, &why);
  ASSERT_NE(writer, nullptr) << why;
  writer->update(host, host.errors);
  std::filesystem::create_directories(directory.file("proc/77"));
  HostPaths paths;
  paths.places = find_places(socket, "", false);
  paths.proc = directory.file("proc");
  for (const auto& [limit, result] :
       {std::pair{"8388608", Check::Result::warning}, std::pair{"unlimited", Check::Result::ok}}) {
    std::ofstream(directory.file("proc/77/limits"))
        << "Limit                     Soft Limit           Hard Limit           Units\n"
        << "Max locked memory         " << limit << "              " << limit << "  bytes\n";
    std::vector<Check> checks;
    check_daemon(paths, &checks);
    EXPECT_EQ(find(checks, "memlock")->result, result) << find(checks, "memlock")->detail;
  }
}

}  // namespace
}  // namespace tentq::ctl
