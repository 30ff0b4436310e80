// Running a program to its end with its output, for tests of command lines. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace tentq::test {

struct Outcome {
  int exit_code = -1;  // or -N after signal N
  std::string output;  // standard output and error together, at most 1 MiB
};

// `prepare` (may be empty) runs in the child before the program. SIGKILL after `most`. Throws
// std::system_error when it cannot be started.
Outcome run_program(const std::vector<std::string>& words,
                    const std::function<void()>& prepare = {},
                    std::chrono::milliseconds most = std::chrono::seconds{30});

}  // namespace tentq::test
