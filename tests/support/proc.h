// What /proc says about a process: for tests that look for what is left behind.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tentq::test {

struct ProcessFacts {
  std::size_t fds = 0;
  std::size_t memfds = 0;      // of them: memfds
  std::size_t memfd_maps = 0;  // mappings of memfds
  std::size_t threads = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t cpu_ns = 0;  // used so far, in steps of a clock tick
  std::string to_string() const;
};

// Zeros when there is no such process.
ProcessFacts facts_of(pid_t pid);
// What its fds point to, as readlink shows it.
std::vector<std::string> fds_of(pid_t pid);
// "S", "T", "Z" …, of a process or of one thread; '?' when there is none of that id.
char state_of(pid_t pid);
// Ids of the threads of a process.
std::vector<pid_t> threads_of(pid_t pid);

}  // namespace tentq::test
