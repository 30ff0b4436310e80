// A Store process: attaches, exports one block of memory at offset 0 of its segment and then makes
// no call of its own; it writes and checks patterns in it when asked. Forked, so make it before
// this process has threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "tests/processes/clients.h"
#include "tests/support/role.h"

namespace tentq::test {

struct ExporterOptions {
  std::string name = "store";
  std::size_t bytes = 1u << 20;
  Rights rights{};
  uid_t uid = 0;  // 0: as this process
  gid_t gid = 0;
  std::chrono::nanoseconds reattach_timeout = std::chrono::seconds{30};
  std::chrono::seconds limit{300};
};

class Exporter {
 public:
  // Returns once its memory is registered; throws std::runtime_error when that fails.
  Exporter(const std::string& socket, ExporterOptions options = {});

  const std::string& name() const { return role_.name(); }
  pid_t pid() const { return role_.pid(); }
  // Writes the pattern's bytes [offset, offset + length) at that offset.
  void fill(std::uint64_t seed, std::uint64_t offset, std::uint64_t length);
  // How many bytes of the range differ from the pattern.
  std::uint64_t differences(std::uint64_t seed, std::uint64_t offset, std::uint64_t length);
  // How often it has attached again.
  std::uint64_t reattaches();
  // Unregisters its memory (busy while in use); the code of the answer.
  Code unregister();
  void kill() { role_.kill(); }
  // Detaches and ends; its exit code.
  int stop();
  // Waits for its end after a kill.
  int join() { return role_.join(kLong); }

 private:
  enum class Deed : std::uint32_t { fill, differences, reattaches, unregister, stop };
  struct Order {
    Deed deed{};
    std::uint64_t seed = 0;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };

  static int run(RoleChannel& channel, const std::string& socket, const ExporterOptions& options);
  static std::uint64_t carry_out(const Order& order, Client& client, Memory& memory);
  std::uint64_t order(const Order& order);

  Role role_;
};

}  // namespace tentq::test
