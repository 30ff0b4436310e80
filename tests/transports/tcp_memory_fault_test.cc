// Memory that a client takes away under the TCP transport: its chunk fails, and the connection goes
// on where the stream allows it.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/transports/raw_peer.h"
#include "tests/transports/rig.h"
#include "tests/transports/vanishing_memory.h"
#include "transports/shm/guarded_copy.h"

namespace tentq::test {
namespace {

constexpr std::size_t kBytes = 8u << 20;

class TcpMemoryFault : public testing::TestWithParam<bool> {
 protected:
  TcpMemoryFault() { install_sigbus_guard(); }

  void expect_end(const Chunk& chunk, ChunkOutcome outcome) {
    ASSERT_TRUE(conductor.run_until_ended(chunk));
    EXPECT_EQ(conductor.completion(chunk).outcome, outcome);
  }

  Region memory{kBytes};
  VanishingMemory vanishing{kBytes};
  Conductor conductor{TcpOptions{.checksum = GetParam()}};
};

INSTANTIATE_TEST_SUITE_P(Checksum, TcpMemoryFault, testing::Bool());

TEST_P(TcpMemoryFault, AWriteOfMemoryThatIsGoneFailsAndTheNextGoesOn) {
  RawPeer peer = conductor.connect(TcpSide::dialer);
  vanishing.shrink_to(0);
  for (const std::uint64_t length : {100u, 1u << 20}) {
    const Chunk gone = conductor.chunk(Op::write, vanishing.data(), nullptr, length);
    conductor.post(gone);
    expect_end(gone, ChunkOutcome::memory_fault);
  }
  const Chunk good = conductor.chunk(Op::write, memory.data(), nullptr, 100);
  conductor.post(good);
  peer.done(peer.receive<PeerWrite>().header.request);
  expect_end(good, ChunkOutcome::done);
}

TEST_P(TcpMemoryFault, AReadIntoMemoryThatIsGoneFailsAndTheNextGoesOn) {
  RawPeer peer = conductor.connect(TcpSide::dialer);
  vanishing.shrink_to(kBytes / 2);
  const std::uint64_t length = 600'000;
  std::byte* const across = vanishing.data() + kBytes / 2 - length / 2;
  const Chunk gone = conductor.chunk(Op::read, across, nullptr, length);
  conductor.post(gone);
  const std::uint64_t number = peer.receive<PeerRead>().header.request;
  for (const std::uint64_t offset : {length / 2, std::uint64_t{0}}) {
    peer.data(number, offset, std::vector<std::byte>(length / 2));
  }
  expect_end(gone, ChunkOutcome::memory_fault);
  const Chunk good = conductor.chunk(Op::read, memory.data(), nullptr, 100);
  conductor.post(good);
  peer.data(peer.receive<PeerRead>().header.request, 0, std::vector<std::byte>(100));
  expect_end(good, ChunkOutcome::done);
}

TEST_P(TcpMemoryFault, AWriteFromThePeerIntoMemoryThatIsGoneIsAnsweredSo) {
  RawPeer peer = conductor.connect(TcpSide::acceptor);
  vanishing.shrink_to(kBytes / 2);
  const std::uint64_t length = 600'000;
  peer.write(1, vanishing.data() + kBytes / 2 - length / 2, length);
  peer.send_bytes(std::vector<std::byte>(length));
  const auto bad = peer.receive<PeerDone>();
  EXPECT_EQ(bad.header.request, 1u);
  EXPECT_EQ(bad.reason, Reason::memory_fault);
  EXPECT_EQ(conductor.memory.pinned(), 0);
  peer.write(2, memory.data(), 100);
  peer.send_bytes(std::vector<std::byte>(100));
  EXPECT_EQ(peer.receive<PeerDone>().reason, Reason::none);
}

TEST_P(TcpMemoryFault, AnAnswerFromMemoryThatIsGoneFailsAndTheReadCanBeRefused) {
  RawPeer peer = conductor.connect(TcpSide::acceptor);
  vanishing.shrink_to(0);
  peer.read(3, vanishing.data(), 5000);
  const TcpEvent asked = conductor.next_event();
  const Chunk answer = conductor.answer(asked.read, vanishing.data(), 0, 5000);
  conductor.post(answer);
  expect_end(answer, ChunkOutcome::memory_fault);
  conductor.transport.refuse_read(asked.read, Reason::memory_fault);
  const auto refusal = peer.receive<PeerData>();
  EXPECT_EQ(refusal.header.request, 3u);
  EXPECT_EQ(refusal.reason, Reason::memory_fault);
}

// The head promised bytes that do not exist: the stream cannot go on. A WRITE of which some went
// out is quiet after the fence.
TEST_P(TcpMemoryFault, MemoryThatGoesInTheMiddleOfItsSendingEndsTheConnection) {
  for (const bool answers : {false, true}) {
    VanishingMemory going(64u << 20);
    RawPeer peer =
        conductor.connect(answers ? TcpSide::acceptor : TcpSide::dialer, answers ? 2 : 1);
    Chunk chunk;
    const std::uint64_t length = 64u << 20;
    if (answers) {
      peer.read(1, going.data(), length);
      const TcpEvent asked = conductor.next_event();
      chunk = conductor.answer(asked.read, going.data(), 0, length);
    } else {
      chunk = conductor.chunk(Op::write, going.data(), nullptr, length);
    }
    conductor.post(chunk);
    // It has begun, and the socket cannot take all of it.
    std::array<std::byte, 100> begun;
    peer.receive_bytes(begun);
    going.shrink_to(0);
    EXPECT_TRUE(peer.sees_end());
    const TcpEvent event = conductor.next_event();
    EXPECT_EQ(event.kind, TcpEventKind::connection_lost);
    EXPECT_EQ(event.why, TcpLoss::memory_fault);
    EXPECT_EQ(event.needs_fence, !answers);
    if (!answers) {
      conductor.settle_down();
      EXPECT_FALSE(conductor.ended(chunk));
      conductor.transport.fenced(kLink, 1);
    }
    expect_end(chunk, ChunkOutcome::memory_fault);
  }
}

}  // namespace
}  // namespace tentq::test
