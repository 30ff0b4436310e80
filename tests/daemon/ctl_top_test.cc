// The live `top` on a pseudo-terminal: it draws, leaves at q, and gives the terminal back.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <iostream>

#include "client/ctl/run.h"
#include "daemon/status_page/status_page.h"
#include "shm/fd.h"
#include "tests/daemon/fake_host.h"
#include "tests/support/temp_directory.h"

namespace tentq::ctl {
namespace {

class LiveTop : public ::testing::Test {
 protected:
  // Starts `top` in a child whose terminal is the other end of `terminal`.
  void start() {
    int fd = -1;
    child = ::forkpty(&fd, nullptr, nullptr, nullptr);
    ASSERT_GE(child, 0);
    if (child == 0) {
      const int code = run({"top", "--interval", "0.1", "--page", page}, "",
                           {std::cout, std::cerr, true, false});
      std::cout.flush();
      ::_exit(code);
    }
    terminal = shm::Fd(fd);
  }
  // Reads until `text` has been seen; false at the end of the output or after 20 s.
  bool await(const std::string& text) {
    while (seen.find(text) == std::string::npos) {
      pollfd wanted{terminal.get(), POLLIN, 0};
      char block[4096];
      if (::poll(&wanted, 1, 20'000) != 1) return false;
      const ssize_t got = ::read(terminal.get(), block, sizeof(block));
      if (got <= 0) return false;
      seen.append(block, static_cast<std::size_t>(got));
    }
    return true;
  }
  int exit_code() {
    await("never printed");  // drains the terminal, so that the child is not held up
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  bool echoes() {
    termios state{};
    EXPECT_EQ(::tcgetattr(terminal.get(), &state), 0);
    return (state.c_lflag & (ICANON | ECHO)) == (ICANON | ECHO);
  }

  test::TempDirectory directory{"tentq-top"};
  std::string page = directory.file("status.shm");
  test::FakeHost host;
  pid_t child = -1;
  shm::Fd terminal;
  std::string seen;
};

TEST_F(LiveTop, DrawsAnewLeavesAtQAndGivesTheTerminalBack) {
  std::string why;
  const auto writer = StatusPageWriter::create(page, {"a", "b", host.now()}, &why);
  ASSERT_NE(writer, nullptr) << why;
  writer->update(host, host.errors);
  start();
  ASSERT_TRUE(await("foreground")) << seen;
  EXPECT_FALSE(echoes());
  host.daemon_view.version = "9.9.9";
  writer->update(host, host.errors);
  ASSERT_TRUE(await("9.9.9")) << seen;  // a later frame
  ASSERT_EQ(::write(terminal.get(), "q", 1), 1);
  ASSERT_TRUE(await("\x1b[?1049l")) << seen;
  EXPECT_EQ(exit_code(), 0);
}

TEST_F(LiveTop, ASignalLeavesTheTerminalInOrderToo) {
  std::string why;
  const auto writer = StatusPageWriter::create(page, {"a", "b", host.now()}, &why);
  ASSERT_NE(writer, nullptr) << why;
  start();
  ASSERT_TRUE(await("tentqd")) << seen;
  ASSERT_EQ(::kill(child, SIGTERM), 0);
  ASSERT_TRUE(await("\x1b[?1049l")) << seen;
  EXPECT_EQ(exit_code(), 0);
}

TEST_F(LiveTop, WaitsForADaemonThatIsNotThereYet) {
  start();
  ASSERT_TRUE(await("no status page")) << seen;
  std::string why;
  const auto writer = StatusPageWriter::create(page, {"a", "b", host.now()}, &why);
  ASSERT_NE(writer, nullptr) << why;
  writer->update(host, host.errors);
  ASSERT_TRUE(await("foreground")) << seen;
  ASSERT_EQ(::write(terminal.get(), "q", 1), 1);
  EXPECT_EQ(exit_code(), 0);
}

}  // namespace
}  // namespace tentq::ctl
