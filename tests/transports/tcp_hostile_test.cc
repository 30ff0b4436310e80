// Peers that break the protocol, on purpose or by chance: each loses its own connection, and
// nothing else happens.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "tests/transports/raw_peer.h"
#include "tests/transports/rig.h"
#include "transports/tcp/crc32c.h"

namespace tentq::test {
namespace {

constexpr std::size_t kBytes = 1u << 20;

template <class Head>
std::vector<std::byte> bytes_of(const Head& head) {
  const auto bytes = std::as_bytes(std::span(&head, 1));
  return {bytes.begin(), bytes.end()};
}

struct Forgery {
  std::string_view name;
  std::vector<std::byte> bytes;
};

template <class Head, class Change>
Forgery forged(std::string_view name, Head head, Change change) {
  change(head);
  return {name, bytes_of(head)};
}

PeerWrite good_write() {
  auto head = new_head<PeerWrite>(1);
  head.segment = kSegment;
  head.length = 16;
  return head;
}
PeerRead good_read() {
  auto head = new_head<PeerRead>(1);
  head.segment = kSegment;
  head.length = 16;
  return head;
}

std::vector<Forgery> asked_wrongly() {
  return {
      forged("no such type", good_write(),
             [](auto& head) { head.header.type = static_cast<PeerMessageType>(99); }),
      forged("of the control connection", good_write(),
             [](auto& head) { head.header.type = PeerMessageType::ping; }),
      forged("of the other side", good_write(),
             [](auto& head) { head.header.type = PeerMessageType::done; }),
      forged("too short", good_write(), [](auto& head) { --head.header.bytes; }),
      forged("too long", good_read(), [](auto& head) { ++head.header.bytes; }),
      forged("huge", good_read(), [](auto& head) { head.header.bytes = ~0u; }),
      forged("no length", good_write(), [](auto& head) { head.length = 0; }),
      forged("over the limit", good_write(),
             [](auto& head) { head.length = TcpOptions{}.most_length + 1; }),
      forged("all of memory", good_write(), [](auto& head) { head.length = ~std::uint64_t{0}; }),
      forged("wraps", good_write(), [](auto& head) { head.offset = ~std::uint64_t{0} - 14; }),
      forged("flags", good_write(), [](auto& head) { head.flags = 2; }),
      forged("checksum without flag", good_write(), [](auto& head) { head.checksum = 7; }),
      forged("READ without length", good_read(), [](auto& head) { head.length = 0; }),
      forged("READ over the limit", good_read(),
             [](auto& head) { head.length = TcpOptions{}.most_length + 1; }),
      forged("READ wraps", good_read(), [](auto& head) { head.offset = ~std::uint64_t{0} - 14; }),
      forged("READ of no class", good_read(), [](auto& head) { head.cls = ClassId{8}; }),
      forged("READ reserved", good_read(), [](auto& head) { head.reserved[6] = 1; }),
  };
}

TEST(TcpHostile, ForgedQuestionsEndTheirConnectionAlone) {
  Conductor conductor;
  Region memory(kBytes);
  RawPeer good = conductor.connect(TcpSide::acceptor, 1000);
  std::uint64_t number = 0;
  for (const Forgery& forgery : asked_wrongly()) {
    SCOPED_TRACE(forgery.name);
    RawPeer peer = conductor.connect(TcpSide::acceptor, ++number);
    peer.send_bytes(forgery.bytes);
    const TcpEvent event = conductor.next_event();
    EXPECT_EQ(event.kind, TcpEventKind::connection_lost);
    EXPECT_EQ(event.connection, number);
    EXPECT_EQ(event.why, TcpLoss::protocol_error);
    EXPECT_FALSE(event.detail.empty());
    EXPECT_TRUE(peer.sees_end());
    good.write(number, memory.data(), 8);
    good.send_bytes(std::vector<std::byte>(8));
    EXPECT_EQ(good.receive<PeerDone>().header.request, number);
  }
  EXPECT_EQ(conductor.memory.asked(), static_cast<int>(number)) << "of the good one alone";
}

// What is at a limit, not over it, is taken.
TEST(TcpHostile, TheLargestQuestionIsNoForgery) {
  Conductor conductor;
  RawPeer peer = conductor.connect(TcpSide::acceptor);
  auto head = good_read();
  head.length = TcpOptions{}.most_length;
  head.offset = ~std::uint64_t{0} - head.length;
  head.cls = ClassId{7};
  peer.send(head);
  const TcpEvent event = conductor.next_event();
  EXPECT_EQ(event.kind, TcpEventKind::read_asked);
  EXPECT_EQ(event.length, TcpOptions{}.most_length);
}

struct Numbers {
  std::uint64_t write;
  std::uint64_t read;
};

std::vector<Forgery> answered_wrongly(const Numbers& asked) {
  const auto done = new_head<PeerDone>(asked.write);
  auto data = new_head<PeerData>(asked.read);
  data.length = 16;
  std::vector<Forgery> forgeries = {
      forged("DONE of a READ", done, [&](auto& head) { head.header.request = asked.read; }),
      forged("DONE of nothing", done, [](auto& head) { head.header.request = 1'000'000; }),
      forged("DONE of 0", done, [](auto& head) { head.header.request = 0; }),
      forged("DONE reserved", done, [](auto& head) { head.reserved[2] = 1; }),
      forged("DATA of a WRITE", data, [&](auto& head) { head.header.request = asked.write; }),
      forged("DATA of nothing", data, [](auto& head) { head.header.request = ~std::uint64_t{0}; }),
      forged("DATA behind its READ", data, [](auto& head) { head.offset = 1000; }),
      forged("DATA partly behind", data, [](auto& head) { head.offset = 985; }),
      forged("DATA longer than its READ", data, [](auto& head) { head.length = 1001; }),
      forged("DATA that wraps", data,
             [](auto& head) {
               head.offset = ~std::uint64_t{0};
               head.length = ~std::uint64_t{0};
             }),
      forged("DATA of nothing at all", data, [](auto& head) { head.length = 0; }),
      forged("DATA with length and reason", data,
             [](auto& head) { head.reason = Reason::deadline; }),
      forged("DATA flags", data, [](auto& head) { head.flags = 1u << 31; }),
      forged("DATA reserved", data, [](auto& head) { head.reserved[0] = 1; }),
      forged("a question", good_write(), [](auto&) {}),
  };
  // The same piece twice, and one that overlaps.
  for (const std::uint64_t second : {0u, 15u}) {
    Forgery twice = {"DATA twice", bytes_of(data)};
    twice.bytes.resize(twice.bytes.size() + 16);
    auto again = data;
    again.offset = second;
    const auto more = bytes_of(again);
    twice.bytes.insert(twice.bytes.end(), more.begin(), more.end());
    forgeries.push_back(twice);
  }
  return forgeries;
}

TEST(TcpHostile, ForgedAnswersEndTheirConnectionAlone) {
  const std::size_t count = answered_wrongly({1, 2}).size();
  Region memory(kBytes);
  Conductor conductor;
  for (std::size_t i = 0; i < count; ++i) {
    const LinkKey link(kLink.value() + 1 + static_cast<std::uint32_t>(i));
    const LaneId lane(static_cast<LaneId::rep>(1 + i));
    RawPeer peer = conductor.connect(TcpSide::dialer, 1, link);
    // Another lane is at work all the while.
    Chunk write = conductor.chunk(Op::write, memory.data(), nullptr, 100);
    Chunk read = conductor.chunk(Op::read, memory.data() + 4096, nullptr, 1000);
    write.lane = read.lane = lane;
    conductor.post(write);
    const std::uint64_t write_number = peer.receive<PeerWrite>().header.request;
    std::vector<std::byte> payload(100);
    peer.receive_bytes(payload);
    conductor.post(read);
    const std::uint64_t read_number = peer.receive<PeerRead>().header.request;
    const Forgery forgery = answered_wrongly({write_number, read_number})[i];
    SCOPED_TRACE(forgery.name);
    peer.send_bytes(forgery.bytes);
    const TcpEvent event = conductor.next_event();
    EXPECT_EQ(event.kind, TcpEventKind::connection_lost);
    EXPECT_EQ(event.link, link);
    EXPECT_EQ(event.why, TcpLoss::protocol_error);
    EXPECT_TRUE(event.needs_fence);
    ASSERT_TRUE(conductor.run_until_ended(read));
    EXPECT_EQ(conductor.completion(read).outcome, ChunkOutcome::lost);
    conductor.transport.fenced(link, 1);
    ASSERT_TRUE(conductor.run_until_ended(write));
    EXPECT_EQ(conductor.completion(write).outcome, ChunkOutcome::lost);
  }
}

// A peer must not end what another one was asked.
TEST(TcpHostile, AnswersToAnotherConnectionsQuestionsAreForged) {
  Region memory(kBytes);
  Conductor conductor;
  RawPeer asked = conductor.connect(TcpSide::dialer, 1);
  RawPeer forger = conductor.connect(TcpSide::dialer, 2);
  const Chunk write = conductor.chunk(Op::write, memory.data(), nullptr, 100);
  conductor.post(write);
  const std::uint64_t number = asked.receive<PeerWrite>().header.request;
  forger.done(number);
  const TcpEvent event = conductor.next_event();
  EXPECT_EQ(event.connection, 2u);
  EXPECT_EQ(event.why, TcpLoss::protocol_error);
  EXPECT_FALSE(conductor.ended(write));
  asked.done(number);
  ASSERT_TRUE(conductor.run_until_ended(write));
  EXPECT_EQ(conductor.completion(write).outcome, ChunkOutcome::done);
}

TEST(TcpHostile, GarbageEndsInALostConnectionOrInNothing) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Region memory(kBytes);
  Conductor conductor;
  conductor.memory.refuse(Reason::not_permitted);
  RawPeer good = conductor.connect(TcpSide::acceptor, 1'000'000);
  for (std::uint64_t round = 1; round <= 150; ++round) {
    const TcpSide side = round % 2 == 0 ? TcpSide::dialer : TcpSide::acceptor;
    RawPeer peer = conductor.connect(side, round + 1);
    std::vector<std::byte> garbage(1 + random() % 3000);
    for (std::byte& byte : garbage) byte = static_cast<std::byte>(random());
    // Half of it begins like a message, so that its fields are what is garbage.
    if (random() % 2 == 0 && garbage.size() >= 64) {
      PeerHeader header;
      header.type = static_cast<PeerMessageType>(32 + random() % 4);
      header.bytes = peer_head_bytes(header.type);
      header.request = random();
      std::memcpy(garbage.data(), &header, sizeof header);
      std::fill_n(garbage.begin() + 24, 40, std::byte{0});
    }
    peer.send_bytes(garbage);
    peer.hang_up();
    TcpEvent event;
    do {
      event = conductor.next_event();
    } while (event.kind == TcpEventKind::read_asked);
    EXPECT_EQ(event.kind, TcpEventKind::connection_lost);
    EXPECT_EQ(event.connection, round + 1);
    good.write(round, memory.data(), 8);
    good.send_bytes(std::vector<std::byte>(8));
    EXPECT_EQ(good.receive<PeerDone>().header.request, round);
  }
  EXPECT_EQ(conductor.transport.connections(), 1u);
}

TEST(TcpHostile, APayloadThatIsNotWhatWasSentIsNeverDone) {
  Region memory(kBytes);
  Conductor conductor;
  RawPeer writer = conductor.connect(TcpSide::acceptor, 2);
  std::vector<std::byte> payload(50'000);
  fill_pattern(payload, 1);
  auto write = good_write();
  write.offset = reinterpret_cast<std::uint64_t>(memory.data());
  write.length = payload.size();
  write.flags = kPayloadChecksum;
  write.checksum = crc32c(0, payload);
  writer.send(write);
  writer.send_bytes(payload);
  EXPECT_EQ(writer.receive<PeerDone>().reason, Reason::none);
  payload[31'000] ^= std::byte{1};
  writer.send(write);
  writer.send_bytes(payload);
  EXPECT_TRUE(writer.sees_end());
  EXPECT_EQ(conductor.next_event().why, TcpLoss::checksum_mismatch);
  EXPECT_EQ(conductor.memory.pinned(), 0);

  RawPeer reader = conductor.connect(TcpSide::dialer, 1);
  const Chunk read = conductor.chunk(Op::read, memory.data(), nullptr, payload.size());
  conductor.post(read);
  auto data = new_head<PeerData>(reader.receive<PeerRead>().header.request);
  data.length = payload.size();
  data.flags = kPayloadChecksum;
  data.checksum = write.checksum;
  reader.send(data);
  reader.send_bytes(payload);
  EXPECT_EQ(conductor.next_event().why, TcpLoss::checksum_mismatch);
  ASSERT_TRUE(conductor.run_until_ended(read));
  EXPECT_EQ(conductor.completion(read).outcome, ChunkOutcome::lost);
}

TEST(TcpHostile, WithTheOptionEveryPayloadHasItsChecksum) {
  Region memory(kBytes);
  fill_pattern(memory.at(0, kBytes), 12);
  Conductor conductor({.checksum = true});
  RawPeer writing = conductor.connect(TcpSide::dialer, 1);
  conductor.post(conductor.chunk(Op::write, memory.data() + 3, nullptr, 70'001));
  const auto write = writing.receive<PeerWrite>();
  EXPECT_EQ(write.flags, kPayloadChecksum);
  EXPECT_EQ(write.checksum, crc32c_by_table(0, memory.at(3, 70'001)));

  RawPeer reading = conductor.connect(TcpSide::acceptor, 2);
  reading.read(4, memory.data(), 9000);
  const TcpEvent event = conductor.next_event();
  conductor.post(conductor.answer(event.read, memory.data(), 0, 9000));
  const auto data = reading.receive<PeerData>();
  EXPECT_EQ(data.flags, kPayloadChecksum);
  EXPECT_EQ(data.checksum, crc32c_by_table(0, memory.at(0, 9000)));
}

}  // namespace
}  // namespace tentq::test
