// The daemon under a supervisor: READY, WATCHDOG, RELOADING and STOPPING at a notify socket, and
// listening sockets that it inherits. The test is the supervisor.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <vector>

#include "shm/packet_socket.h"
#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/support/role.h"
#include "tests/support/temp_directory.h"

namespace tentq::test {
namespace {

using Clock = std::chrono::steady_clock;

shm::Fd bound_socket(int type, const std::string& path) {
  shm::Fd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (!fd.valid() ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("cannot bind " + path);
  }
  return fd;
}

// Starts tentqd with an environment and inherited sockets, as systemd does.
class Supervised : public ::testing::Test {
 protected:
  void TearDown() override {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      await_end();
    }
  }
  void write_config(const nlohmann::json& more = nlohmann::json::object()) {
    nlohmann::json config = {{"socket", path("tentqd.sock")},
                             {"admin_socket", path("admin.sock")},
                             {"status_path", path("status.shm")},
                             {"lock_path", path("lock")},
                             {"state_directory", directory_.path()},
                             {"log_file", path("log")},
                             {"metrics_listen", ""}};
    config.merge_patch(more);
    std::ofstream(path("tentqd.json"), std::ios::trunc) << config.dump();
  }
  // `sockets` become fds 3, 4 … named `names` ("a:b").
  void start(const std::vector<std::string>& variables, const std::vector<int>& sockets = {},
             const std::string& names = "") {
    const std::string binary = find_daemon_binary("");
    const std::string config = path("tentqd.json");
    pid_ = ::fork();
    ASSERT_GE(pid_, 0);
    if (pid_ == 0) run_child(binary, config, variables, sockets, names);
  }
  [[noreturn]] void run_child(const std::string& binary, const std::string& config,
                              const std::vector<std::string>& variables,
                              const std::vector<int>& sockets, const std::string& names) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Out of the way first, then into place.
    std::vector<int> high;
    for (const int fd : sockets) high.push_back(::fcntl(fd, F_DUPFD, 100));
    for (std::size_t i = 0; i < high.size(); ++i) ::dup2(high[i], static_cast<int>(3 + i));
    for (const int fd : high) ::close(fd);
    std::vector<std::string> all = variables;
    if (!sockets.empty()) {
      all.push_back("LISTEN_PID=" + std::to_string(::getpid()));
      all.push_back("LISTEN_FDS=" + std::to_string(sockets.size()));
      if (!names.empty()) all.push_back("LISTEN_FDNAMES=" + names);
    }
    std::vector<char*> environment;
    for (std::string& variable : all) environment.push_back(variable.data());
    environment.push_back(nullptr);
    const char* arguments[] = {binary.c_str(), "--config", config.c_str(), nullptr};
    ::execve(binary.c_str(), const_cast<char**>(arguments), environment.data());
    ::_exit(127);
  }
  int await_end() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  // The next message at the notify socket that has this line; empty when none came in time.
  static std::string message_with(int fd, const std::string& line, std::chrono::seconds most) {
    const auto until = Clock::now() + most;
    while (Clock::now() < until) {
      pollfd entry{fd, POLLIN, 0};
      if (::poll(&entry, 1, 100) <= 0) continue;
      char text[4096];
      const ssize_t got = ::recv(fd, text, sizeof text, 0);
      if (got <= 0) continue;
      const std::string message(text, static_cast<std::size_t>(got));
      if (("\n" + message + "\n").find("\n" + line) != std::string::npos) return message;
    }
    return {};
  }
  bool attaches(const std::string& socket) {
    return Client::connect(connection(socket, "engine")).ok();
  }
  std::string path(const std::string& name) const { return directory_.file(name); }

  TempDirectory directory_{"tentq-systemd"};
  pid_t pid_ = -1;
};

TEST_F(Supervised, TellsReadyReloadingAndStopping) {
  write_config();
  const shm::Fd notify = bound_socket(SOCK_DGRAM, path("notify"));
  start({"NOTIFY_SOCKET=" + path("notify")});
  const std::string ready = message_with(notify.get(), "READY=1", kLong);
  ASSERT_FALSE(ready.empty());
  EXPECT_NE(ready.find("STATUS="), std::string::npos);
  EXPECT_TRUE(attaches(path("tentqd.sock")));
  ::kill(pid_, SIGHUP);
  const std::string reloading = message_with(notify.get(), "RELOADING=1", kLong);
  EXPECT_NE(reloading.find("MONOTONIC_USEC="), std::string::npos) << reloading;
  EXPECT_FALSE(message_with(notify.get(), "READY=1", kLong).empty());
  ::kill(pid_, SIGTERM);
  EXPECT_FALSE(message_with(notify.get(), "STOPPING=1", kLong).empty());
  EXPECT_EQ(await_end(), 0);
}

TEST_F(Supervised, FeedsTheWatchdogWhileIdleAndWhileAtWork) {
  write_config();
  const shm::Fd notify = bound_socket(SOCK_DGRAM, path("notify"));
  start({"NOTIFY_SOCKET=" + path("notify"), "WATCHDOG_USEC=1000000"});
  ASSERT_FALSE(message_with(notify.get(), "READY=1", kLong).empty());
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(message_with(notify.get(), "WATCHDOG=1", std::chrono::seconds{5}).empty()) << i;
  }
  Client client = attach(path("tentqd.sock"), "self");
  Memory memory = allocate_at(client, 8'192);
  const Segment own = need(client.open_segment("self"), "open_segment");
  const auto until = Clock::now() + std::chrono::seconds{2};
  while (Clock::now() < until)
    must_complete(client, write_to(own, 4'096, memory.bytes().first(64)));
  EXPECT_FALSE(message_with(notify.get(), "WATCHDOG=1", std::chrono::seconds{1}).empty());
  // A daemon that hangs is silent, so that its supervisor can tell.
  ::kill(pid_, SIGSTOP);
  while (!message_with(notify.get(), "WATCHDOG=1", std::chrono::seconds{1}).empty()) {
  }
  ::kill(pid_, SIGCONT);
  EXPECT_FALSE(message_with(notify.get(), "WATCHDOG=1", std::chrono::seconds{5}).empty());
  EXPECT_TRUE(client.attached());
}

TEST_F(Supervised, ServesTheSocketsThatItInheritsByTheirNames) {
  write_config();
  int error = 0;
  const shm::Fd admin = shm::listen_at(path("inherited-admin.sock"), 0660, -1, &error);
  const shm::Fd client = shm::listen_at(path("inherited.sock"), 0660, -1, &error);
  ASSERT_TRUE(admin.valid() && client.valid());
  const shm::Fd notify = bound_socket(SOCK_DGRAM, path("notify"));
  start({"NOTIFY_SOCKET=" + path("notify")}, {admin.get(), client.get()}, "admin:client");
  ASSERT_FALSE(message_with(notify.get(), "READY=1", kLong).empty());
  EXPECT_TRUE(attaches(path("inherited.sock")));
  EXPECT_EQ(query(path("inherited-admin.sock"), QueryKind::status).at("state"), "running");
  EXPECT_FALSE(command(path("inherited-admin.sock"), CommandKind::drain).empty());
  EXPECT_FALSE(command(path("inherited-admin.sock"), CommandKind::resume).empty());
  EXPECT_THROW(command(path("inherited.sock"), CommandKind::drain), std::runtime_error);
  // It made none of its own beside them.
  EXPECT_NE(::access(path("tentqd.sock").c_str(), F_OK), 0);
  ::kill(pid_, SIGTERM);
  EXPECT_EQ(await_end(), 0);
}

// The supervisor holds the socket: connections wait in it while there is no daemon.
TEST_F(Supervised, ConnectionsQueueOverARestart) {
  write_config();
  int error = 0;
  const shm::Fd listening = shm::listen_at(path("inherited.sock"), 0660, -1, &error);
  ASSERT_TRUE(listening.valid());
  for (int life = 0; life < 3; ++life) {
    Role early("early", std::chrono::seconds{60}, [&](RoleChannel& channel) {
      channel.send(std::uint64_t{0});
      ConnectOptions options = connection(path("inherited.sock"), "early");
      options.attach_timeout = std::chrono::seconds{30};
      Client client = attach(options);
      return client.attached() ? 0 : 2;
    });
    ASSERT_TRUE(early.channel().receive<std::uint64_t>(kLong));
    start({}, {listening.get()}, "client");
    EXPECT_EQ(early.join(kLong), 0) << life;
    ::kill(pid_, life % 2 == 0 ? SIGKILL : SIGTERM);
    EXPECT_EQ(await_end(), life % 2 == 0 ? -SIGKILL : 0);
  }
}

}  // namespace
}  // namespace tentq::test
