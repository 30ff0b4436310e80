// What a client's process and its children hold: nothing of tentq survives exec, a forked child is
// no second client, and no client can write or keep what is the daemon's.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/pattern.h"
#include "tests/processes/raw_session.h"
#include "tests/support/proc.h"
#include "tests/support/program.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals

class Descriptors : public DaemonFixture {
 protected:
  // Names of those fds of a process that are not closed by exec, standard streams apart. One that
  // is closed between its listing and its reading is none of them.
  static std::vector<std::string> inheritable(pid_t pid) {
    std::vector<std::string> names;
    const Outcome listed =
        run_program({"/bin/sh", "-c",
                     "for f in /proc/" + std::to_string(pid) +
                         "/fdinfo/*; do n=${f##*/}; [ $n -gt 2 ] && "
                         "awk -v n=$n '/^flags:/ {print n, $2}' $f 2>/dev/null; done"});
    std::istringstream lines(listed.output);
    for (std::string fd, flags; lines >> fd >> flags;) {
      if ((std::stoul(flags, nullptr, 8) & O_CLOEXEC) == 0) names.push_back(fd);
    }
    return names;
  }
};

TEST_F(Descriptors, OfTheDaemonAreClosedByExec) {
  start({{"metrics_listen", "127.0.0.1:0"}});
  Exporter store(socket());
  // It inherits what this process was started with.
  const std::vector<std::string> ours = inheritable(::getpid());
  for (const std::string& fd : inheritable(daemon().pid())) {
    if (std::find(ours.begin(), ours.end(), fd) != ours.end()) continue;
    const std::string link = "/proc/" + std::to_string(daemon().pid()) + "/fd/" + fd;
    ADD_FAILURE() << fd << " is " << std::filesystem::read_symlink(link);
  }
  EXPECT_EQ(store.stop(), 0);
}

// A client's child after exec holds none of its memory and no socket of it.
TEST_F(Descriptors, OfAClientAreClosedByExec) {
  start();
  const auto fds_of_a_child = [] {
    const Outcome listed = run_program({"/bin/sh", "-c", "ls /proc/self/fd | wc -l"});
    EXPECT_EQ(listed.exit_code, 0);
    return std::stoul(listed.output);
  };
  const std::size_t before = fds_of_a_child();
  Client client = attach(socket(), "parent");
  Memory memory = allocate_at(client, 1_MiB);
  need(client.completion_fd().status(), "completion_fd");
  EXPECT_EQ(fds_of_a_child(), before);
}

// A child that lives on must not keep the session or its memory alive.
TEST_F(Descriptors, AChildThatOutlivesItsClientKeepsNothing) {
  start();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);  // inherited: the child lives until it is closed
  const shm::Fd reading(ends[0]);
  shm::Fd writing(ends[1]);
  Role parent("parent", std::chrono::seconds{60}, [&](RoleChannel& channel) {
    Client client = attach(socket(), "parent");
    Memory memory = allocate_at(client, 16_MiB);
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(reading.get(), STDIN_FILENO);
      writing.reset();
      ::execl("/bin/cat", "cat", nullptr);
      ::_exit(127);
    }
    channel.send(std::uint64_t{static_cast<std::uint64_t>(child)});
    (void)channel.receive<std::uint64_t>(kLong);
    return 0;
  });
  const auto child = parent.channel().receive<std::uint64_t>(kLong);
  ASSERT_TRUE(child);
  parent.kill();
  parent.join(kLong);
  EXPECT_TRUE(eventually(kLong, [&] {
    const nlohmann::json status = ask(QueryKind::status);
    return status.at("sessions") == 0 && status.at("regions") == 0;
  }));
  EXPECT_TRUE(eventually(kLong, [&] { return facts_of(static_cast<pid_t>(*child)).memfds == 0; }));
  writing.reset();
}

TEST_F(Descriptors, AForkedChildIsNoSecondClient) {
  start();
  Client client = attach(socket(), "parent");
  Memory memory = allocate_at(client, 64_KiB);
  const Segment own = need(client.open_segment("parent"), "open_segment");
  Batch batch = need(client.allocate_batch(1), "allocate_batch");
  for (int i = 0; i < 5; ++i) {
    Role child("child", std::chrono::seconds{60}, [&](RoleChannel&) {
      const Request request = write_to(own, 32_KiB, memory.bytes().first(64));
      if (client.submit(batch, std::span(&request, 1)).code() != Code::daemon_gone) return 2;
      if (client.allocate(4'096).status().code() != Code::daemon_gone) return 3;
      if (client.open_segment("parent").status().code() != Code::daemon_gone) return 4;
      if (client.attached()) return 5;
      // It can be a client of its own.
      Client fresh = attach(socket(), "child");
      return fresh.attached() ? 0 : 6;
    });
    EXPECT_EQ(child.join(kLong), 0);
    must_complete(client, write_to(own, 32_KiB, memory.bytes().first(64)));
    EXPECT_EQ(client.reattaches(), 0u);
  }
}

TEST_F(Descriptors, StatusMemoryCannotBeWrittenByItsClient) {
  start();
  RawSession session(socket(), proper_hello("raw"));
  const std::size_t bytes = session.view().layout().sta_bytes();
  const auto writable = [&](int fd) {
    void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED) ::munmap(mapped, bytes);
    return mapped != MAP_FAILED;
  };
  EXPECT_FALSE(writable(session.sta_fd()));
  const std::uint64_t word = 1;
  EXPECT_LT(::pwrite(session.sta_fd(), &word, sizeof word, 0), 0);
  EXPECT_NE(::ftruncate(session.sta_fd(), 0), 0);
  EXPECT_NE(::fallocate(session.sta_fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4'096), 0);
  // Opened anew by its path in /proc, as its own user may.
  const std::string path = "/proc/self/fd/" + std::to_string(session.sta_fd());
  const shm::Fd again(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_FALSE(again.valid() && writable(again.get()));
  EXPECT_FALSE(again.valid() && ::pwrite(again.get(), &word, sizeof word, 0) > 0);
  void* reading = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, session.sta_fd(), 0);
  ASSERT_NE(reading, MAP_FAILED);
  EXPECT_NE(::mprotect(reading, bytes, PROT_READ | PROT_WRITE), 0);
  ::munmap(reading, bytes);
}

TEST_F(Descriptors, RequestMemoryIsSealedOnceItIsMapped) {
  start();
  RawSession session(socket(), proper_hello("raw"));
  const std::size_t bytes = session.view().layout().req_bytes();
  EXPECT_TRUE(eventually(kLong, [&] {
    void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, session.req_fd(), 0);
    if (mapped == MAP_FAILED) return true;
    ::munmap(mapped, bytes);
    return false;
  }));
  const int seals = ::fcntl(session.req_fd(), F_GET_SEALS);
  EXPECT_NE(seals & F_SEAL_FUTURE_WRITE, 0);
  EXPECT_NE(seals & F_SEAL_SHRINK, 0);
  EXPECT_NE(seals & F_SEAL_GROW, 0);
  EXPECT_NE(::ftruncate(session.req_fd(), 0), 0);
}

}  // namespace
}  // namespace tentq::test
