// Hosts of their own network on one machine: network namespaces without names, each joined to
// host 0 by a pair of veth devices. They are held by descriptors of this process and of the
// processes that were forked or placed there: with the last of them the kernel removes everything,
// after a crash as well. Nothing outside of them is touched. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shm/fd.h"

namespace tentq::test {

class Namespaces {
 public:
  // 2 to 64 hosts. Throws std::runtime_error with the reason and the remedy.
  explicit Namespaces(std::uint32_t hosts);
  Namespaces(const Namespaces&) = delete;
  Namespaces& operator=(const Namespaces&) = delete;

  // Why this process cannot have any, with the remedy; empty: it can.
  static std::string missing();

  std::uint32_t hosts() const { return static_cast<std::uint32_t>(held_.size()); }
  // A descriptor of the host's network, for enter().
  int fd(std::uint32_t host) const { return held_[host].get(); }
  // Where the others reach it. Host 0 has an address on each of its links: this one is on the link
  // to `from`.
  std::string address(std::uint32_t host, std::uint32_t from = 1) const;

  // All below: the link between host 0 and `host`, both ways; `host` is not 0.
  // What each end sends, at most; 0: as fast as it goes.
  void limit(std::uint32_t host, std::uint64_t bytes_per_second) const;
  // Unplugged, and both ends know. What was on its way is lost.
  void cut(std::uint32_t host) const;
  void join(std::uint32_t host) const;
  // A black hole: both ends believe that it is well, and what they send goes nowhere.
  void swallow(std::uint32_t host) const;
  void pass(std::uint32_t host) const;

 private:
  void join_to_first(std::uint32_t host) const;
  // One call of `ip` or `tc` in the host's network.
  void run(std::uint32_t host, std::vector<std::string> words) const;

  std::vector<shm::Fd> held_;
};

// The calling thread, and what it forks or starts from now on, is in that network. Unix sockets
// that have paths stay as they are. Throws std::system_error.
void enter(int network);

}  // namespace tentq::test
