// The end of a connection of the TCP transport: what its chunks become, when, and that nothing is
// touched afterwards.
#include <gtest/gtest.h>

#include <vector>

#include "tests/transports/raw_peer.h"
#include "tests/transports/rig.h"

namespace tentq::test {
namespace {

using namespace std::chrono_literals;

class TcpLossTest : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = 8u << 20;
  Region local{kBytes};
  std::byte* const remote = reinterpret_cast<std::byte*>(0x1000'0000);
  Conductor conductor;

  void expect_end(const Chunk& chunk, ChunkOutcome outcome, Reason reason = Reason::none) {
    ASSERT_TRUE(conductor.run_until_ended(chunk));
    EXPECT_EQ(conductor.completion(chunk).outcome, outcome);
    EXPECT_EQ(conductor.completion(chunk).reason, reason);
    EXPECT_EQ(conductor.completion(chunk).bytes, 0u);
  }
};

TEST_F(TcpLossTest, AReadIsLostAtOnceAndItsMemoryIsLeftAlone) {
  RawPeer peer = conductor.connect(TcpSide::dialer);
  const Chunk half = conductor.chunk(Op::read, local.data(), remote, 1u << 20);
  const Chunk unanswered = conductor.chunk(Op::read, local.data() + (2u << 20), remote, 4096);
  conductor.post(half);
  conductor.post(unanswered);
  auto head = new_head<PeerData>(peer.receive<PeerRead>().header.request);
  head.length = half.length;
  peer.send(head);
  peer.send_bytes(std::vector<std::byte>(half.length / 2));
  peer.hang_up();
  expect_end(half, ChunkOutcome::lost);
  fill_pattern(local.at(0, kBytes), 9);
  expect_end(unanswered, ChunkOutcome::lost);
  const TcpEvent event = conductor.next_event();
  EXPECT_EQ(event.kind, TcpEventKind::connection_lost);
  EXPECT_EQ(event.link, kLink);
  EXPECT_EQ(event.connection, 1u);
  EXPECT_FALSE(event.needs_fence);
  conductor.settle_down();
  EXPECT_TRUE(has_pattern(local.at(0, kBytes), 9));
  EXPECT_EQ(conductor.transport.connections(), 0u);
}

TEST_F(TcpLossTest, AWriteThatWasSentWaitsForItsFence) {
  for (const bool fenced : {true, false}) {
    const std::uint64_t connection = fenced ? 1 : 2;
    RawPeer peer = conductor.connect(TcpSide::dialer, connection);
    const Chunk sent = conductor.chunk(Op::write, local.data(), remote, 4096);
    conductor.post(sent);
    peer.receive<PeerWrite>();
    peer.hang_up();
    const TcpEvent event = conductor.next_event();
    EXPECT_EQ(event.kind, TcpEventKind::connection_lost);
    EXPECT_TRUE(event.needs_fence);
    // Fences of others are not its own.
    conductor.transport.fenced(kLink, connection + 10);
    conductor.transport.unfenced(LinkKey(77), connection);
    conductor.settle_down();
    EXPECT_FALSE(conductor.ended(sent));
    EXPECT_EQ(conductor.transport.connections(), 1u);
    if (fenced) {
      conductor.transport.fenced(kLink, connection);
      expect_end(sent, ChunkOutcome::lost);
    } else {
      conductor.transport.unfenced(kLink, connection);
      expect_end(sent, ChunkOutcome::refused, Reason::peer_lost);
    }
    EXPECT_EQ(conductor.transport.connections(), 0u);
  }
}

TEST_F(TcpLossTest, OnlyWritesThatBeganWaitForTheFence) {
  RawPeer peer = conductor.connect(TcpSide::dialer);
  const Chunk sending = conductor.chunk(Op::write, local.data(), remote, kBytes);
  const Chunk waiting = conductor.chunk(Op::write, local.data(), remote, 4096);
  const Chunk large = conductor.chunk(Op::write, local.data(), remote, 200'000);
  conductor.post(sending);
  peer.receive<PeerWrite>();
  conductor.post(waiting);
  conductor.post(large);
  conductor.settle_down();
  peer.hang_up();
  expect_end(waiting, ChunkOutcome::lost);
  expect_end(large, ChunkOutcome::lost);
  EXPECT_TRUE(conductor.next_event().needs_fence);
  conductor.settle_down();
  EXPECT_FALSE(conductor.ended(sending));
  conductor.transport.fenced(kLink, 1);
  expect_end(sending, ChunkOutcome::lost);
}

TEST_F(TcpLossTest, ADroppedLinkKeepsItsFences) {
  RawPeer first = conductor.connect(TcpSide::dialer, 1);
  RawPeer second = conductor.connect(TcpSide::dialer, 2);
  const Chunk sent = conductor.chunk(Op::write, local.data(), remote, 4096);
  conductor.post(sent);
  first.receive<PeerWrite>();
  conductor.transport.drop_link(kLink);
  conductor.transport.drop_link(kLink);
  int fences = 0;
  for (int i = 0; i < 2; ++i) {
    const TcpEvent event = conductor.next_event();
    EXPECT_EQ(event.kind, TcpEventKind::connection_closed);
    EXPECT_EQ(event.why, TcpLoss::closed_here);
    fences += event.needs_fence;
  }
  EXPECT_EQ(fences, 1);
  EXPECT_TRUE(second.sees_end());
  EXPECT_FALSE(conductor.ended(sent));
  conductor.transport.fenced(kLink, 1);
  expect_end(sent, ChunkOutcome::lost);
}

TEST_F(TcpLossTest, AFenceOfALivingConnectionEndsNothing) {
  RawPeer peer = conductor.connect(TcpSide::dialer);
  const Chunk chunk = conductor.chunk(Op::write, local.data(), remote, 4096);
  conductor.post(chunk);
  const auto head = peer.receive<PeerWrite>();
  conductor.transport.fenced(kLink, 1);
  conductor.settle_down();
  EXPECT_FALSE(conductor.ended(chunk));
  peer.done(head.header.request);
  ASSERT_TRUE(conductor.run_until_ended(chunk));
  EXPECT_EQ(conductor.completion(chunk).outcome, ChunkOutcome::done);
}

TEST_F(TcpLossTest, NothingIsAppliedAfterAConnectionWasClosed) {
  RawPeer peer = conductor.connect(TcpSide::acceptor);
  peer.write(1, local.data(), 1u << 20);
  peer.send_bytes(std::vector<std::byte>(1u << 19));
  ASSERT_TRUE(conductor.run_until([&] {
    conductor.settle_down();
    return conductor.memory.pinned() == 1;
  }));
  conductor.transport.close_connection(kLink, 1);
  const TcpEvent event = conductor.next_event();
  EXPECT_EQ(event.kind, TcpEventKind::connection_closed);
  EXPECT_EQ(event.link, kLink);
  EXPECT_EQ(event.connection, 1u);
  EXPECT_FALSE(event.needs_fence);
  EXPECT_EQ(conductor.memory.pinned(), 0);
  fill_pattern(local.at(0, kBytes), 3);
  peer.send_what_fits(std::vector<std::byte>(1u << 19));
  EXPECT_TRUE(peer.sees_end());
  conductor.settle_down();
  EXPECT_TRUE(has_pattern(local.at(0, kBytes), 3));
  // Asked again, of one that is forgotten, and of one that never was.
  for (const std::uint64_t connection : {1u, 9u}) {
    conductor.transport.close_connection(kLink, connection);
    const TcpEvent again = conductor.next_event();
    EXPECT_EQ(again.kind, TcpEventKind::connection_closed);
    EXPECT_EQ(again.connection, connection);
  }
}

TEST_F(TcpLossTest, CloseOfALostConnectionIsAnsweredToo) {
  RawPeer peer = conductor.connect(TcpSide::dialer);
  const Chunk sent = conductor.chunk(Op::write, local.data(), remote, 4096);
  conductor.post(sent);
  peer.receive<PeerWrite>();
  peer.hang_up();
  EXPECT_EQ(conductor.next_event().kind, TcpEventKind::connection_lost);
  conductor.transport.close_connection(kLink, 1);
  const TcpEvent event = conductor.next_event();
  EXPECT_EQ(event.kind, TcpEventKind::connection_closed);
  EXPECT_TRUE(event.needs_fence);
  conductor.transport.unfenced(kLink, 1);
  expect_end(sent, ChunkOutcome::refused, Reason::peer_lost);
}

TEST_F(TcpLossTest, AnswersAreLostWithTheirConnectionAndAfterIt) {
  RawPeer peer = conductor.connect(TcpSide::acceptor);
  peer.read(1, local.data(), kBytes);
  const TcpEvent asked = conductor.next_event();
  const Chunk sending = conductor.answer(asked.read, local.data(), 0, kBytes - 10);
  conductor.post(sending);
  peer.receive<PeerData>();
  peer.hang_up();
  expect_end(sending, ChunkOutcome::lost);
  const Chunk before_the_event = conductor.answer(asked.read, local.data(), kBytes - 10, 5);
  conductor.post(before_the_event);
  expect_end(before_the_event, ChunkOutcome::lost);
  EXPECT_FALSE(conductor.next_event().needs_fence);
  const Chunk after_it = conductor.answer(asked.read, local.data(), kBytes - 5, 5);
  conductor.post(after_it);
  expect_end(after_it, ChunkOutcome::lost);
  conductor.transport.refuse_read(asked.read, Reason::draining);
  EXPECT_EQ(conductor.transport.connections(), 0u);
}

class TcpStall : public testing::Test {
 protected:
  Region local{16u << 20};
  Conductor conductor{TcpOptions{.stall_limit = 40ms}};

  void expect_stall() {
    const TcpEvent event = conductor.next_event();
    EXPECT_EQ(event.kind, TcpEventKind::connection_lost);
    EXPECT_EQ(event.why, TcpLoss::stalled);
  }
};

TEST_F(TcpStall, AWriteWithoutAnAnswerIsGivenUp) {
  RawPeer peer = conductor.connect(TcpSide::dialer);
  conductor.post(conductor.chunk(Op::write, local.data(), nullptr, 4096));
  expect_stall();
  EXPECT_TRUE(peer.sees_end());
}

// A peer may answer pings, other READs and a part of this one.
TEST(TcpReadLimit, AReadWithoutItsRestIsGivenUp) {
  Region local{1u << 20};
  Conductor conductor{TcpOptions{.stall_limit = 40ms, .read_limit = 200ms}};
  RawPeer peer = conductor.connect(TcpSide::dialer);
  const Chunk chunk = conductor.chunk(Op::read, local.data(), nullptr, 64);
  conductor.post(chunk);
  auto head = new_head<PeerData>(peer.receive<PeerRead>().header.request);
  head.length = 8;
  const Time begin = tcp_now();
  peer.send(head);
  peer.send_bytes(std::vector<std::byte>(8));
  ASSERT_TRUE(conductor.run_until_ended(chunk));
  EXPECT_EQ(conductor.completion(chunk).outcome, ChunkOutcome::lost);
  EXPECT_EQ(conductor.next_event().why, TcpLoss::unanswered);
  EXPECT_GE(tcp_now() - begin, 200ms);
  EXPECT_TRUE(peer.sees_end());
}

TEST_F(TcpStall, APeerThatDoesNotReadIsGivenUp) {
  const RawPeer peer = conductor.connect(TcpSide::dialer);
  const Chunk chunk = conductor.chunk(Op::write, local.data(), nullptr, local.size());
  conductor.post(chunk);
  expect_stall();
  conductor.transport.fenced(kLink, 1);
  ASSERT_TRUE(conductor.run_until_ended(chunk));
  EXPECT_EQ(conductor.completion(chunk).outcome, ChunkOutcome::lost);
}

TEST_F(TcpStall, HalfAHeadIsGivenUp) {
  RawPeer peer = conductor.connect(TcpSide::acceptor);
  const auto head = new_head<PeerWrite>(1);
  peer.send_bytes(std::as_bytes(std::span(&head, 1)).first(20));
  expect_stall();
}

TEST_F(TcpStall, HalfAPayloadIsGivenUpAndItsMemoryLetGo) {
  RawPeer peer = conductor.connect(TcpSide::acceptor);
  peer.write(1, local.data(), 1000);
  peer.send_bytes(std::vector<std::byte>(500));
  expect_stall();
  EXPECT_EQ(conductor.memory.pinned(), 0);
}

// READs wait in the other host's queues, for as long as these are.
TEST_F(TcpStall, AReadThatWaitsForItsAnswerIsNoStall) {
  RawPeer reading = conductor.connect(TcpSide::dialer);
  const RawPeer idle = conductor.connect(TcpSide::acceptor, 2);
  const Chunk read = conductor.chunk(Op::read, local.data(), nullptr, 8);
  conductor.post(read);
  const auto head = reading.receive<PeerRead>();
  // Meanwhile others stall, one after the other.
  for (std::uint32_t i = 1; i <= 3; ++i) {
    const LinkKey other(kLink.value() + i);
    const RawPeer stalls = conductor.connect(TcpSide::dialer, 1, other);
    Chunk write = conductor.chunk(Op::write, local.data(), nullptr, 8);
    write.lane = LaneId(static_cast<LaneId::rep>(i));
    conductor.post(write);
    const TcpEvent event = conductor.next_event();
    ASSERT_EQ(event.link, other);
    ASSERT_EQ(event.why, TcpLoss::stalled);
  }
  reading.data(head.header.request, 0, std::vector<std::byte>(8));
  ASSERT_TRUE(conductor.run_until_ended(read));
  EXPECT_EQ(conductor.completion(read).outcome, ChunkOutcome::done);
}

}  // namespace
}  // namespace tentq::test
