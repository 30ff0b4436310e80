// The answering side of the TCP transport, against a dialer that the test plays.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "tests/transports/raw_peer.h"
#include "tests/transports/rig.h"

namespace tentq::test {
namespace {

class TcpAcceptor : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = 4u << 20;
  Region memory{kBytes};
  Conductor conductor;
  RawPeer peer = conductor.connect(TcpSide::acceptor);

  std::vector<std::byte> pattern(std::size_t length, std::uint64_t seed) {
    std::vector<std::byte> bytes(length);
    fill_pattern(bytes, seed);
    return bytes;
  }
  void expect_done(std::uint64_t number, Reason reason) {
    const auto head = peer.receive<PeerDone>();
    EXPECT_EQ(head.header.type, PeerMessageType::done);
    EXPECT_EQ(head.header.bytes, sizeof(PeerDone));
    EXPECT_EQ(head.header.request, number);
    EXPECT_EQ(head.reason, reason);
  }
};

TEST_F(TcpAcceptor, WritesLieWhereTheyBelongWhenTheirDoneArrives) {
  for (std::uint64_t number = 1; number <= 20; ++number) {
    const std::uint64_t length = number * number * 9000;
    peer.write(number, memory.data() + number, length);
    peer.send_bytes(pattern(length, number));
    expect_done(number, Reason::none);
    EXPECT_TRUE(has_pattern(memory.at(number, length), number));
    EXPECT_EQ(conductor.memory.pinned(), 0);
  }
}

TEST_F(TcpAcceptor, ARefusedWriteLeavesTheStreamInStep) {
  fill_pattern(memory.at(0, kBytes), 1);
  conductor.memory.refuse(Reason::not_permitted);
  peer.write(1, memory.data(), 300'000);
  peer.send_bytes(pattern(300'000, 2));
  expect_done(1, Reason::not_permitted);
  conductor.memory.refuse(Reason::none);
  peer.write(2, memory.data(), 5, kSegment + 1);
  peer.send_bytes(pattern(5, 3));
  expect_done(2, Reason::unknown_segment);
  EXPECT_TRUE(has_pattern(memory.at(0, kBytes), 1));
  peer.write(3, memory.data() + 8, 70'000);
  peer.send_bytes(pattern(70'000, 4));
  expect_done(3, Reason::none);
  EXPECT_TRUE(has_pattern(memory.at(8, 70'000), 4));
}

TEST_F(TcpAcceptor, AReadIsReportedAndAnsweredByItsPieces) {
  fill_pattern(memory.at(0, kBytes), 6);
  peer.read(77, memory.data() + 100, 9000);
  const TcpEvent event = conductor.next_event();
  EXPECT_EQ(event.kind, TcpEventKind::read_asked);
  EXPECT_EQ(event.link, kLink);
  EXPECT_EQ(event.connection, 1u);
  EXPECT_EQ(event.segment, kSegment);
  EXPECT_EQ(event.offset, reinterpret_cast<std::uint64_t>(memory.data() + 100));
  EXPECT_EQ(event.length, 9000u);
  EXPECT_EQ(event.cls, ClassId::standard);
  std::vector<std::byte> whole(9000);
  for (const std::uint64_t offset : {4000u, 0u}) {
    const std::uint64_t length = offset == 0 ? 4000 : 5000;
    const Chunk piece = conductor.answer(event.read, memory.data() + 100, offset, length);
    conductor.post(piece);
    const auto head = peer.receive<PeerData>();
    EXPECT_EQ(head.header.request, 77u);
    EXPECT_EQ(head.offset, offset);
    EXPECT_EQ(head.length, length);
    EXPECT_EQ(head.reason, Reason::none);
    EXPECT_GT(head.queued_ns, 0u);
    peer.receive_bytes(std::span(whole).subspan(offset, length));
    ASSERT_TRUE(conductor.run_until_ended(piece));
    EXPECT_EQ(conductor.completion(piece).outcome, ChunkOutcome::done);
    EXPECT_EQ(conductor.completion(piece).bytes, length);
  }
  EXPECT_EQ(memcmp(whole.data(), memory.data() + 100, 9000), 0);
}

TEST_F(TcpAcceptor, AnAnswerThatNobodyAskedForFails) {
  peer.read(1, memory.data(), 1000);
  const TcpEvent event = conductor.next_event();
  const auto outcome = [&](std::uint64_t read, std::uint64_t offset, std::uint64_t length) {
    Chunk piece = conductor.answer(read, memory.data(), 0, length);
    piece.remote.offset = offset;
    conductor.post(piece);
    EXPECT_TRUE(conductor.run_until_ended(piece));
    return conductor.completion(piece).outcome;
  };
  EXPECT_EQ(outcome(event.read + 1, 0, 10), ChunkOutcome::failed) << "another READ";
  EXPECT_EQ(outcome(event.read, 991, 10), ChunkOutcome::failed) << "outside";
  EXPECT_EQ(outcome(event.read, ~std::uint64_t{0}, 10), ChunkOutcome::failed) << "wraps";
  EXPECT_EQ(outcome(event.read, 0, 1001), ChunkOutcome::failed) << "too long";
  EXPECT_EQ(outcome(event.read, 0, 600), ChunkOutcome::done);
  EXPECT_EQ(outcome(event.read, 0, 600), ChunkOutcome::failed) << "more than it has left";
  EXPECT_EQ(outcome(event.read, 600, 400), ChunkOutcome::done);
  EXPECT_EQ(outcome(event.read, 600, 400), ChunkOutcome::failed) << "answered";
  EXPECT_EQ(outcome(std::uint64_t{99} << kReadSerialShift, 0, 1), ChunkOutcome::lost)
      << "of no connection";
}

TEST_F(TcpAcceptor, ARefusedReadEndsWithItsReason) {
  peer.read(5, memory.data(), 1000);
  peer.read(6, memory.data(), 2000);
  const TcpEvent first = conductor.next_event();
  const TcpEvent second = conductor.next_event();
  EXPECT_NE(first.read, second.read);
  conductor.transport.refuse_read(first.read, Reason::out_of_range);
  conductor.transport.refuse_read(first.read, Reason::out_of_range);
  const auto head = peer.receive<PeerData>();
  EXPECT_EQ(head.header.request, 5u);
  EXPECT_EQ(head.reason, Reason::out_of_range);
  EXPECT_EQ(head.length, 0u);
  const Chunk late = conductor.answer(first.read, memory.data(), 0, 10);
  conductor.post(late);
  ASSERT_TRUE(conductor.run_until_ended(late));
  EXPECT_EQ(conductor.completion(late).outcome, ChunkOutcome::failed);
  const Chunk good = conductor.answer(second.read, memory.data(), 0, 2000);
  conductor.post(good);
  EXPECT_EQ(peer.receive<PeerData>().header.request, 6u);
}

// The piece that is on its way comes whole, those behind it not at all, then the refusal.
TEST_F(TcpAcceptor, ARefusalWaitsForThePieceThatHasBegun) {
  Region large(24u << 20);
  peer.read(5, large.data(), large.size());
  const TcpEvent event = conductor.next_event();
  const std::uint64_t most = large.size() - 64;
  const Chunk sending = conductor.answer(event.read, large.data(), 0, most);
  const Chunk waiting = conductor.answer(event.read, large.data(), most, 64);
  conductor.post(sending);
  const auto head = peer.receive<PeerData>();
  conductor.post(waiting);
  conductor.transport.refuse_read(event.read, Reason::deadline);
  ASSERT_TRUE(conductor.run_until_ended(waiting));
  EXPECT_EQ(conductor.completion(waiting).outcome, ChunkOutcome::canceled);
  EXPECT_FALSE(conductor.ended(sending));
  const Chunk late = conductor.answer(event.read, large.data(), most, 64);
  conductor.post(late);
  ASSERT_TRUE(conductor.run_until_ended(late));
  EXPECT_EQ(conductor.completion(late).outcome, ChunkOutcome::failed) << "refused already";
  std::vector<std::byte> payload(head.length);
  peer.receive_bytes(payload);
  const auto refusal = peer.receive<PeerData>();
  EXPECT_EQ(refusal.reason, Reason::deadline);
  ASSERT_TRUE(conductor.run_until_ended(sending));
  EXPECT_EQ(conductor.completion(sending).outcome, ChunkOutcome::done);
}

TEST_F(TcpAcceptor, ACanceledPieceCanBePostedAgain) {
  Region large(24u << 20);
  peer.read(1, large.data(), large.size());
  peer.read(2, memory.data(), 64);
  const TcpEvent first = conductor.next_event();
  const TcpEvent second = conductor.next_event();
  conductor.post(conductor.answer(first.read, large.data(), 0, large.size()));
  const auto head = peer.receive<PeerData>();
  const Chunk canceled = conductor.answer(second.read, memory.data(), 0, 64);
  conductor.post(canceled);
  conductor.transport.cancel(canceled.id);
  ASSERT_TRUE(conductor.run_until_ended(canceled));
  EXPECT_EQ(conductor.completion(canceled).outcome, ChunkOutcome::canceled);
  conductor.post(conductor.answer(second.read, memory.data(), 0, 64));
  std::vector<std::byte> payload(head.length);
  peer.receive_bytes(payload);
  EXPECT_EQ(peer.receive<PeerData>().header.request, 2u);
}

TEST_F(TcpAcceptor, MoreReadsThanMayBeAskedEndTheConnection) {
  for (std::uint64_t number = 1; number <= kMostReadsAsked; ++number) {
    peer.read(number, memory.data(), 16);
  }
  std::vector<TcpEvent> asked;
  for (std::uint32_t i = 0; i < kMostReadsAsked; ++i) asked.push_back(conductor.next_event());
  EXPECT_EQ(asked.back().kind, TcpEventKind::read_asked);
  // One that is answered makes room for one.
  conductor.post(conductor.answer(asked[9].read, memory.data(), 0, 16));
  EXPECT_EQ(peer.receive<PeerData>().header.request, 10u);
  std::array<std::byte, 16> payload;
  peer.receive_bytes(payload);
  peer.read(1000, memory.data(), 16);
  EXPECT_EQ(conductor.next_event().kind, TcpEventKind::read_asked);
  peer.read(1001, memory.data(), 16);
  const TcpEvent end = conductor.next_event();
  EXPECT_EQ(end.kind, TcpEventKind::connection_lost);
  EXPECT_EQ(end.why, TcpLoss::protocol_error);
  EXPECT_TRUE(peer.sees_end());
}

TEST_F(TcpAcceptor, APeerThatWritesAndDoesNotReadMakesNothingGrow) {
  conductor.memory.refuse(Reason::not_permitted);
  PeerWrite head = new_head<PeerWrite>(1);
  head.segment = kSegment;
  head.length = 1;
  std::vector<std::byte> message(sizeof head + 1);
  memcpy(message.data(), &head, sizeof head);
  // Until the acceptor takes no more, which takes full buffers on both sides.
  std::uint64_t sent = 0;
  std::size_t offset = 0;
  int refusals = 0;
  while (refusals < 3) {
    const std::size_t taken = peer.send_what_fits(std::span(message).subspan(offset));
    if (taken == 0) {
      const int before = conductor.memory.asked();
      conductor.settle_down();
      if (conductor.memory.asked() == before) ++refusals;
      continue;
    }
    refusals = 0;
    offset += taken;
    if (offset == message.size()) {
      offset = 0;
      ++sent;
    }
    ASSERT_LT(sent, 10'000'000u) << "it takes everything";
  }
  EXPECT_LT(conductor.memory.asked(), static_cast<int>(sent)) << "nothing held it up";
  // It goes on when the answers are read.
  if (offset != 0) {
    for (std::uint64_t i = 0; i < sent; ++i) expect_done(1, Reason::not_permitted);
    peer.send_bytes(std::span(message).subspan(offset));
    expect_done(1, Reason::not_permitted);
  } else {
    for (std::uint64_t i = 0; i < sent; ++i) expect_done(1, Reason::not_permitted);
  }
}

}  // namespace
}  // namespace tentq::test
