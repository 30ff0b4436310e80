// Threads of the TCP transport sleep while the conductor does the work by itself.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/transports/raw_peer.h"
#include "tests/transports/rig.h"

namespace tentq::test {
namespace {

std::string first_line(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// How often threads of the transport went to sleep; each time something had woken them.
std::uint64_t sleeps_of_threads() {
  std::uint64_t sleeps = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (first_line(task.path() / "comm") != "tentq-tcp") continue;
    std::ifstream status(task.path() / "status");
    for (std::string word; status >> word;) {
      std::uint64_t count = 0;
      if (word == "voluntary_ctxt_switches:" && status >> count) sleeps += count;
    }
  }
  return sleeps;
}

TEST(TcpSleep, SmallMessagesWakeNoThread) {
  constexpr std::uint64_t kMessages = 1000;
  Region local{4096};
  std::byte* const remote = reinterpret_cast<std::byte*>(0x1000'0000);  // nobody touches it here
  Conductor conductor;
  RawPeer peer = conductor.connect(TcpSide::dialer);
  conductor.settle_down();
  const std::uint64_t before = sleeps_of_threads();
  EXPECT_GT(before, 0u) << "there is such a thread";
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    const Chunk chunk = conductor.chunk(Op::write, local.data(), remote, 64);
    conductor.post(chunk);
    const auto head = peer.receive<PeerWrite>();
    std::byte payload[64];
    peer.receive_bytes(payload);
    peer.done(head.header.request);
    ASSERT_TRUE(conductor.run_until_ended(chunk));
  }
  // It looks at its connections now and then.
  EXPECT_LT(sleeps_of_threads() - before, kMessages / 4);
}

}  // namespace
}  // namespace tentq::test
