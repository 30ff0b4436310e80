// The asking side of the TCP transport, against a peer that the test plays.
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "tests/transports/raw_peer.h"
#include "tests/transports/rig.h"

namespace tentq::test {
namespace {

using namespace std::chrono_literals;

class TcpDialer : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = 8u << 20;
  Region local{kBytes};
  std::byte* const remote = reinterpret_cast<std::byte*>(0x1000'0000);  // nobody touches it here
};

TEST_F(TcpDialer, AWriteIsAHeadAndItsPayloadAndEndsWithItsDone) {
  Conductor conductor;
  RawPeer peer = conductor.connect(TcpSide::dialer);
  for (const std::uint64_t length : {1u, 4096u, 65'536u, 1u << 20}) {
    fill_pattern(local.at(0, length), length);
    const Chunk chunk = conductor.chunk(Op::write, local.data(), remote + length, length);
    conductor.post(chunk);
    const auto head = peer.receive<PeerWrite>();
    EXPECT_EQ(head.header.type, PeerMessageType::write);
    EXPECT_EQ(head.header.bytes, sizeof(PeerWrite));
    EXPECT_NE(head.header.request, 0u);
    EXPECT_EQ(head.segment, kSegment);
    EXPECT_EQ(head.offset, chunk.remote.offset);
    EXPECT_EQ(head.length, length);
    EXPECT_EQ(head.flags, 0u);
    std::vector<std::byte> payload(length);
    peer.receive_bytes(payload);
    EXPECT_TRUE(has_pattern(payload, length));
    EXPECT_FALSE(conductor.ended(chunk));
    peer.done(head.header.request);
    ASSERT_TRUE(conductor.run_until_ended(chunk));
    EXPECT_EQ(conductor.completion(chunk).outcome, ChunkOutcome::done);
    EXPECT_EQ(conductor.completion(chunk).bytes, length);
  }
}

TEST_F(TcpDialer, AReadTakesItsPiecesInAnyOrderAndItsQueueingIsTheLongest) {
  Conductor conductor;
  RawPeer peer = conductor.connect(TcpSide::dialer);
  Chunk chunk = conductor.chunk(Op::read, local.data(), remote, 10'000);
  chunk.cls = ClassId::prefetch;
  conductor.post(chunk);
  const auto head = peer.receive<PeerRead>();
  EXPECT_EQ(head.segment, kSegment);
  EXPECT_EQ(head.offset, chunk.remote.offset);
  EXPECT_EQ(head.length, 10'000u);
  EXPECT_EQ(head.cls, ClassId::prefetch);
  std::vector<std::byte> bytes(10'000);
  fill_pattern(bytes, 4);
  peer.data(head.header.request, 6000, std::span(bytes).subspan(6000), 20);
  peer.data(head.header.request, 0, std::span(bytes).first(1), 300);
  peer.data(head.header.request, 1, std::span(bytes).subspan(1, 5999), 7);
  ASSERT_TRUE(conductor.run_until_ended(chunk));
  EXPECT_EQ(conductor.completion(chunk).outcome, ChunkOutcome::done);
  EXPECT_EQ(conductor.completion(chunk).bytes, 10'000u);
  EXPECT_EQ(conductor.completion(chunk).queued_elsewhere, 300ns);
  EXPECT_TRUE(has_pattern(local.at(0, 10'000), 4));
}

TEST_F(TcpDialer, APeerCannotClaimMoreQueueingThanTimeWentBy) {
  Conductor conductor;
  RawPeer peer = conductor.connect(TcpSide::dialer);
  const Time before = tcp_now();
  const Chunk chunk = conductor.chunk(Op::read, local.data(), remote, 8);
  conductor.post(chunk);
  const auto head = peer.receive<PeerRead>();
  peer.data(head.header.request, 0, std::vector<std::byte>(8), ~std::uint64_t{0});
  ASSERT_TRUE(conductor.run_until_ended(chunk));
  EXPECT_GT(conductor.completion(chunk).queued_elsewhere, 0ns);
  EXPECT_LE(conductor.completion(chunk).queued_elsewhere, tcp_now() - before);
}

TEST_F(TcpDialer, ARefusalBringsThePeersReason) {
  Conductor conductor;
  RawPeer peer = conductor.connect(TcpSide::dialer);
  const auto end_of_write = [&](Reason reason) {
    const Chunk chunk = conductor.chunk(Op::write, local.data(), remote, 100);
    conductor.post(chunk);
    const auto head = peer.receive<PeerWrite>();
    std::vector<std::byte> payload(100);
    peer.receive_bytes(payload);
    peer.done(head.header.request, reason);
    EXPECT_TRUE(conductor.run_until_ended(chunk));
    return conductor.completion(chunk);
  };
  EXPECT_EQ(end_of_write(Reason::not_permitted).outcome, ChunkOutcome::refused);
  EXPECT_EQ(end_of_write(Reason::not_permitted).reason, Reason::not_permitted);
  // A newer peer knows more reasons.
  EXPECT_EQ(end_of_write(static_cast<Reason>(60'000)).reason, Reason::transport_error);
  EXPECT_EQ(end_of_write(Reason::none).outcome, ChunkOutcome::done);

  const Chunk read = conductor.chunk(Op::read, local.data(), remote, 100);
  conductor.post(read);
  auto refusal = new_head<PeerData>(peer.receive<PeerRead>().header.request);
  refusal.reason = Reason::stale_handle;
  peer.send(refusal);
  ASSERT_TRUE(conductor.run_until_ended(read));
  EXPECT_EQ(conductor.completion(read).outcome, ChunkOutcome::refused);
  EXPECT_EQ(conductor.completion(read).reason, Reason::stale_handle);
  EXPECT_EQ(conductor.completion(read).bytes, 0u);
}

TEST_F(TcpDialer, ReadsOverTheBoundWaitAndFollowOneByOne) {
  for (const std::uint32_t inline_bytes : {0u, 16'384u}) {
    Conductor conductor({.reads_per_connection = 2, .inline_bytes = inline_bytes});
    RawPeer peer = conductor.connect(TcpSide::dialer);
    std::vector<Chunk> chunks;
    for (std::uint64_t i = 0; i < 5; ++i) {
      chunks.push_back(conductor.chunk(Op::read, local.data() + 64 * i, remote, 64));
      conductor.post(chunks.back());
    }
    std::vector<PeerRead> heads = {peer.receive<PeerRead>(), peer.receive<PeerRead>()};
    conductor.settle_down();
    EXPECT_TRUE(peer.hears_nothing());
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      peer.data(heads[i].header.request, 0, std::vector<std::byte>(64));
      ASSERT_TRUE(conductor.run_until_ended(chunks[i]));
      if (i + 2 < chunks.size()) heads.push_back(peer.receive<PeerRead>());
      conductor.settle_down();
      EXPECT_TRUE(peer.hears_nothing());
    }
  }
}

TEST_F(TcpDialer, WhatIsNotSentIsCanceledAndWhatIsSentIsNot) {
  Conductor conductor({.reads_per_connection = 1});
  RawPeer peer = conductor.connect(TcpSide::dialer);
  const Chunk asked = conductor.chunk(Op::read, local.data(), remote, 64);
  const Chunk held = conductor.chunk(Op::read, local.data() + 64, remote, 64);
  // Larger than what the socket takes while nobody reads.
  const Chunk sending = conductor.chunk(Op::write, local.data(), remote, kBytes);
  const Chunk waiting = conductor.chunk(Op::write, local.data(), remote, 64);
  conductor.post(asked);
  const auto read = peer.receive<PeerRead>();
  conductor.post(held);
  conductor.post(sending);
  const auto write = peer.receive<PeerWrite>();
  conductor.post(waiting);
  for (const Chunk* chunk : {&asked, &held, &sending, &waiting}) {
    conductor.transport.cancel(chunk->id);
    conductor.transport.cancel(chunk->id);
  }
  ASSERT_TRUE(conductor.run_until_ended(held));
  ASSERT_TRUE(conductor.run_until_ended(waiting));
  EXPECT_EQ(conductor.completion(held).outcome, ChunkOutcome::canceled);
  EXPECT_EQ(conductor.completion(waiting).outcome, ChunkOutcome::canceled);
  EXPECT_FALSE(conductor.ended(asked));
  EXPECT_FALSE(conductor.ended(sending));
  std::vector<std::byte> payload(kBytes);
  peer.receive_bytes(payload);
  peer.done(write.header.request);
  peer.data(read.header.request, 0, std::vector<std::byte>(64));
  ASSERT_TRUE(conductor.run_until_ended(asked));
  ASSERT_TRUE(conductor.run_until_ended(sending));
  EXPECT_EQ(conductor.completion(asked).outcome, ChunkOutcome::done);
  EXPECT_EQ(conductor.completion(sending).outcome, ChunkOutcome::done);
  EXPECT_TRUE(peer.hears_nothing());
}

TEST_F(TcpDialer, ChunksGoToTheConnectionWithTheFewestBytes) {
  Conductor conductor;
  RawPeer first = conductor.connect(TcpSide::dialer, 1);
  RawPeer second = conductor.connect(TcpSide::dialer, 2);
  for (const std::uint64_t length : {1000u, 400u, 500u, 10u}) {
    conductor.post(conductor.chunk(Op::read, local.data(), remote, length));
  }
  EXPECT_EQ(first.receive<PeerRead>().length, 1000u);
  EXPECT_EQ(second.receive<PeerRead>().length, 400u);
  EXPECT_EQ(second.receive<PeerRead>().length, 500u);
  EXPECT_EQ(second.receive<PeerRead>().length, 10u);
  conductor.settle_down();
  EXPECT_TRUE(first.hears_nothing());
}

TEST_F(TcpDialer, ALaneWithoutAConnectionLosesItsChunks) {
  Conductor conductor;
  const auto outcome_now = [&] {
    const Chunk chunk = conductor.chunk(Op::write, local.data(), remote, 64);
    conductor.post(chunk);
    EXPECT_TRUE(conductor.run_until_ended(chunk));
    return conductor.completion(chunk).outcome;
  };
  EXPECT_EQ(outcome_now(), ChunkOutcome::lost) << "bound to nothing";
  conductor.transport.bind_lane(LaneId(0), kLink);
  EXPECT_EQ(outcome_now(), ChunkOutcome::lost) << "no connection yet";
  // A connection that the peer dialled is not for asking.
  const RawPeer accepted = conductor.connect(TcpSide::acceptor, 2);
  EXPECT_EQ(outcome_now(), ChunkOutcome::lost);
  const RawPeer dialed = conductor.connect(TcpSide::dialer, 1);
  conductor.transport.drop_link(kLink);
  EXPECT_EQ(conductor.next_event().kind, TcpEventKind::connection_closed);
  EXPECT_EQ(conductor.next_event().kind, TcpEventKind::connection_closed);
  EXPECT_EQ(outcome_now(), ChunkOutcome::lost) << "dropped";
  EXPECT_EQ(conductor.transport.connections(), 0u);
}

TEST_F(TcpDialer, APeerThatStopsReadingHoldsUpNoOtherLink) {
  Conductor conductor;
  const LinkKey other(kLink.value() + 1);
  RawPeer silent = conductor.connect(TcpSide::dialer);
  RawPeer lively = conductor.connect(TcpSide::dialer, 1, other);
  for (int i = 0; i < 4; ++i) {
    conductor.post(conductor.chunk(Op::write, local.data(), remote, kBytes));
  }
  for (int i = 0; i < 20; ++i) {
    Chunk chunk = conductor.chunk(Op::write, local.data(), remote, 100'000);
    chunk.lane = LaneId(1);
    conductor.post(chunk);
    const auto head = lively.receive<PeerWrite>();
    std::vector<std::byte> payload(100'000);
    lively.receive_bytes(payload);
    lively.done(head.header.request);
    ASSERT_TRUE(conductor.run_until_ended(chunk));
  }
}

TEST(TcpOptionsTest, WhatIsOutOfRangeIsRefused) {
  OpenMemory memory;
  const auto refused = [&](const TcpOptions& options) {
    EXPECT_THROW(TcpTransport(&memory, options), std::invalid_argument);
  };
  const auto taken = [&](const TcpOptions& options) {
    EXPECT_NO_THROW(TcpTransport(&memory, options));
  };
  refused({.threads = 0});
  refused({.threads = 65});
  refused({.queue_chunks = 0});
  refused({.queue_chunks = (1u << 20) + 1});
  taken({.queue_chunks = 1});
  refused({.reads_per_connection = 0});
  refused({.reads_per_connection = 257});
  taken({.reads_per_connection = 256});
  refused({.most_length = 0});
  taken({.most_length = 1});
  refused({.inline_bytes = 65'537});
  taken({.inline_bytes = 65'536});
  refused({.stall_limit = 999us});
  taken({.stall_limit = 1ms});
}

}  // namespace
}  // namespace tentq::test
