// Runs the C program against a fake daemon.
#include <spawn.h>
#include <sys/wait.h>

#include "tests/client/fixture.h"

extern char** environ;

namespace tentq::testing {
namespace {

class CInterface : public ClientTest {};

TEST_F(CInterface, AProgramInC) {
  start();
  std::string program = TENTQ_C_PROGRAM;
  std::string path = socket();
  char* const arguments[] = {program.data(), path.data(), nullptr};
  pid_t child = 0;
  ASSERT_EQ(::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(daemon().snapshot().violations, 0u);
}

}  // namespace
}  // namespace tentq::testing
