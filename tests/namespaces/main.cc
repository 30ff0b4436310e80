// tentq-namespaces: runs a command beside hosts of their own network, to look at or to try things
// by hand. The networks end with the command.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/namespaces/namespaces.h"

namespace {

// The command's exit code, 128 + signal when one ended it.
int run_command(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  // Of the terminal: the command decides what they mean.
  ::signal(SIGINT, SIG_IGN);
  const pid_t child = ::fork();
  if (child < 0) return 1;
  if (child == 0) {
    ::signal(SIGINT, SIG_DFL);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::execvp(arguments[0], arguments.data());
    std::fprintf(stderr, "tentq-namespaces: %s cannot be started\n", arguments[0]);
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs a command beside network namespaces that are joined to host 0 by veth"};
  std::uint32_t hosts = 2;
  std::uint64_t rate = 0;
  std::vector<std::string> command;
  app.add_option("--hosts", hosts, "Hosts, with number 0")
      ->check(CLI::Range(2, 64))
      ->capture_default_str();
  app.add_option("--rate", rate, "Bytes a second of each link, each way; 0: as fast as it goes")
      ->transform(CLI::AsSizeValue(true));
  app.add_option("command", command, "Behind `--`: what to run")->required();
  app.footer(
      "In the command, $HOST_0, $HOST_1, … are the networks and $ADDRESS_0, … where they are "
      "reached:\n"
      "  tentq-namespaces -- bash -c 'nsenter --net=$HOST_0 ping -c 1 $ADDRESS_1'\n"
      "Exit code: the command's; 1 when there are no namespaces to be had, with the remedy.");
  CLI11_PARSE(app, argc, argv);
  try {
    const tentq::test::Namespaces namespaces(hosts);
    for (std::uint32_t host = 0; host < hosts; ++host) {
      if (rate != 0 && host != 0) namespaces.limit(host, rate);
      const std::string number = std::to_string(host);
      const std::string network =
          "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(namespaces.fd(host));
      ::setenv(("HOST_" + number).c_str(), network.c_str(), 1);
      ::setenv(("ADDRESS_" + number).c_str(), namespaces.address(host).c_str(), 1);
    }
    return run_command(command);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tentq-namespaces: %s\n", error.what());
    return 1;
  }
}
