// tentqctl: the operator's tool.
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "client/ctl/run.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const char* socket = std::getenv("TENTQ_SOCKET");
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  tentq::ctl::Output output{std::cout, std::cerr, terminal, false};
  const int code = tentq::ctl::run(std::vector<std::string>(argv + 1, argv + argc),
                                   socket == nullptr ? "" : socket, output);
  std::cout.flush();
  // Output that nobody got is a failure, as with a full disk.
  return std::cout.good() ? code : tentq::ctl::kExitFailed;
}
