// Client processes that go on with verified work beside whatever a test does to others: each writes
// a new pattern into its own area of a store, reads it back and compares, round after round.
// Forked, so make it before this process has threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/role.h"

namespace tentq::test {

class Load {
 public:
  struct Options {
    std::string store = "store";  // its memory begins at 0 and holds clients × area bytes
    std::size_t clients = 8;
    std::size_t area = 64u << 10;  // bytes of one client
    std::string prefix = "worker";
  };

  Load(const std::string& socket, Options options);
  ~Load();

  // Rounds that all clients together, or the slowest one, have verified.
  std::uint64_t rounds() const;
  std::uint64_t fewest_rounds() const;
  // Bytes that came back wrong, and transfers that did not complete.
  std::uint64_t mismatches() const;
  std::uint64_t failures() const;
  // Waits until each client has made `more` rounds beyond those that it has now; false after
  // `most`.
  bool proceeds(std::uint64_t more, std::chrono::milliseconds most) const;
  // Ends them; true if all ended well.
  bool stop();

 private:
  struct Counters {
    std::atomic<std::uint64_t> rounds{0};
    std::atomic<std::uint64_t> mismatches{0};
    std::atomic<std::uint64_t> failures{0};
    std::atomic<bool> stop{false};
  };

  static int run(const std::string& socket, const Options& options, std::size_t index,
                 Counters& counters);
  std::uint64_t sum(std::atomic<std::uint64_t> Counters::*counter) const;

  Options options_;
  SharedArray<Counters> counters_;
  std::vector<Role> roles_;
};

}  // namespace tentq::test
