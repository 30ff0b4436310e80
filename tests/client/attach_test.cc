// Attaching, and why it fails.
#include <fcntl.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "proto/version.h"
#include "tests/client/fixture.h"

namespace tentq::testing {
namespace {

class Attach : public ClientTest {};

TEST_F(Attach, HelloCarriesWhatTheDaemonNeeds) {
  start();
  const Result<Client> client = connect("store-0", {.classes = {Class::foreground}});
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  const Hello hello = daemon().snapshot().last_hello;
  EXPECT_EQ(hello.magic, kHelloMagic);
  EXPECT_EQ(hello.major, kProtocolMajor);
  EXPECT_EQ(hello.layout_hash, kLayoutHash);
  EXPECT_EQ(hello.class_mask, bit_of(ClassId::foreground));
  EXPECT_EQ(hello.name.view(), "store-0");
  EXPECT_NE(hello.incarnation, 0u);
  EXPECT_EQ(hello.reattach, 0u);
  EXPECT_EQ(client->id(), 1u);
  EXPECT_EQ(client->daemon_version(), "fake");
  EXPECT_EQ(client->limits().largest_call, 128u);
  EXPECT_TRUE(client->attached());
}

TEST_F(Attach, LargestCallIsNeverMoreThanTheRingTakes) {
  FakeDaemonOptions options;
  options.limits.largest_call = 1000;
  start(options);
  EXPECT_EQ(connect("a")->limits().largest_call, 256u - 64u);
}

TEST_F(Attach, NoSocketSaysThatTheDaemonDoesNotRun) {
  const Result<Client> client = connect("a");
  EXPECT_EQ(client.status().code(), Code::daemon_gone);
  EXPECT_NE(client.status().text().find("no socket at " + socket()), std::string::npos);
  EXPECT_TRUE(client.status().may_retry());
}

TEST_F(Attach, NobodyListeningIsNotTheSameAsNoSocket) {
  start();
  kill();
  const Result<Client> client = connect("a");
  EXPECT_EQ(client.status().code(), Code::daemon_gone);
  EXPECT_NE(client.status().text().find("nobody listens"), std::string::npos);
}

TEST_F(Attach, NoPermissionNamesTheGroup) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may open every socket";
  start();
  ASSERT_EQ(::chmod(socket().c_str(), 0000), 0);
  const Result<Client> client = connect("a");
  EXPECT_EQ(client.status().code(), Code::not_permitted);
  EXPECT_NE(client.status().text().find("group"), std::string::npos);
  EXPECT_FALSE(client.status().may_retry());
}

TEST_F(Attach, AnotherProtocolIsRefusedWithBothVersions) {
  FakeDaemonOptions options;
  options.major = 9;
  start(options);
  const Result<Client> client = connect("a");
  EXPECT_EQ(client.status().code(), Code::incompatible);
  EXPECT_NE(client.status().text().find("protocol 1.1"), std::string::npos);
  EXPECT_NE(client.status().text().find("protocol 9.0"), std::string::npos);
  EXPECT_FALSE(client.status().may_retry());
}

TEST_F(Attach, ARefusalKeepsItsCodeAndText) {
  FakeDaemonOptions options;
  options.refuse = StatusCode::exhausted;
  options.refusal = "all 128 sessions are taken";
  start(options);
  const Result<Client> client = connect("a");
  EXPECT_EQ(client.status().code(), Code::exhausted);
  EXPECT_EQ(client.status().text(), "all 128 sessions are taken");
}

TEST_F(Attach, ANameHasOneHolder) {
  start();
  const Result<Client> first = connect("store-0");
  ASSERT_TRUE(first.ok());
  const Result<Client> second = connect("store-0");
  EXPECT_EQ(second.status().code(), Code::name_in_use);
  EXPECT_FALSE(second.status().may_retry());
}

TEST_F(Attach, ADaemonThatHangsIsNotWaitedForForEver) {
  // A listening socket that nobody serves: what a stopped daemon looks like.
  int error = 0;
  const shm::Fd listener = shm::listen_at(socket(), 0666, -1, &error);
  ASSERT_TRUE(listener.valid());
  const Result<Client> client = connect("a", {.attach_timeout = 50ms});
  EXPECT_EQ(client.status().code(), Code::daemon_gone);
  EXPECT_NE(client.status().text().find("does not answer"), std::string::npos);
}

TEST_F(Attach, BadNamesAndClassesNeverReachTheDaemon) {
  start();
  EXPECT_EQ(connect("-x").status().code(), Code::invalid_argument);
  EXPECT_EQ(connect("a/b").status().code(), Code::invalid_argument);
  EXPECT_EQ(connect("a", {.classes = {Class{7}}}).status().code(), Code::invalid_argument);
  EXPECT_EQ(daemon().snapshot().hellos, 0u);
}

TEST_F(Attach, EveryFdIsCloseOnExec) {
  start();
  std::set<int> before;  // what the test's own parent has left open
  for (int fd = 0; fd < 1024; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) before.insert(fd);
  }
  Result<Client> client = connect("a");
  ASSERT_TRUE(client->completion_fd().ok());
  const Result<Memory> memory = client->allocate(4096);
  int opened = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags < 0 || before.contains(fd)) continue;
    ++opened;
    EXPECT_NE(flags & FD_CLOEXEC, 0) << "fd " << fd;
  }
  EXPECT_GT(opened, 5);
}

TEST_F(Attach, TheLibrarysThreadHasANameAndTakesNoSignal) {
  start();
  const auto library_threads = [] {
    std::vector<std::string> blocked;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name, word;
      std::getline(std::ifstream(task.path() / "comm"), name);
      if (name != "tentq-lib") continue;
      std::ifstream status(task.path() / "status");
      while (status >> word && word != "SigBlk:") {
      }
      status >> word;
      blocked.push_back(word);
    }
    return blocked;
  };
  const Result<Client> without = connect("a", {.background_thread = false});
  EXPECT_TRUE(library_threads().empty());
  const Result<Client> with = connect("b");
  // The thread names itself first thing.
  const auto end = std::chrono::steady_clock::now() + kLong;
  while (library_threads().empty() && std::chrono::steady_clock::now() < end) ::sched_yield();
  ASSERT_EQ(library_threads().size(), 1u);
  EXPECT_EQ(std::stoull(library_threads()[0], nullptr, 16) & 0x7fffffff,
            0x7fffffff & ~((1ull << (SIGKILL - 1)) | (1ull << (SIGSTOP - 1))));
}

TEST_F(Attach, DestroyingTheClientSaysGoodbye) {
  start();
  connect("a").value();
  EXPECT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().goodbyes == 1; }));
}

TEST_F(Attach, QueriesAreAnsweredWithTheDocument) {
  start();
  Result<Client> client = connect("a");
  EXPECT_EQ(*client->query("queue", "by=client"), "{\"argument\":\"by=client\"}");
  EXPECT_EQ(client->query("nonsense").status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace tentq::testing
