// Streams of messages cut, changed and ended anywhere: what was sent comes out, or the parser says
// that it is broken; it never takes a wrong size for a message.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <random>

#include "daemon/peers/parser.h"
#include "tests/daemon/peers/sample_messages.h"

namespace tentq::test {
namespace {

// Feeds bytes in pieces of at most `most`; the messages that came out, and how it ended.
struct Parsed {
  std::vector<std::vector<std::byte>> messages;
  PeerParser::Step end = PeerParser::Step::more;
};
Parsed parse(const std::vector<std::byte>& bytes, std::mt19937_64& random, std::size_t most) {
  auto parser = std::make_unique<PeerParser>();
  Parsed parsed;
  PeerMessage message;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto room = parser->room();
    RC_ASSERT(!room.empty());
    const std::size_t size =
        std::min({room.size(), bytes.size() - at, 1 + static_cast<std::size_t>(random() % most)});
    std::memcpy(room.data(), bytes.data() + at, size);
    parser->added(size);
    at += size;
    while ((parsed.end = parser->next(&message)) == PeerParser::Step::message) {
      parsed.messages.push_back(bytes_of(message));
    }
    if (parsed.end == PeerParser::Step::broken) {
      RC_ASSERT(!parser->why().empty());
      RC_ASSERT(parser->next(&message) == PeerParser::Step::broken);  // for good
      break;
    }
  }
  return parsed;
}

struct Stream {
  explicit Stream(std::mt19937_64& random) {
    const auto samples = sample_messages();
    for (std::size_t left = 1 + random() % 12; left > 0; --left) {
      messages.push_back(bytes_of(samples[random() % samples.size()]));
      bytes.insert(bytes.end(), messages.back().begin(), messages.back().end());
    }
  }
  std::vector<std::vector<std::byte>> messages;
  std::vector<std::byte> bytes;
};

RC_GTEST_PROP(PeerParser, GivesWhatWasSentHoweverItIsCut, (std::uint64_t seed)) {
  std::mt19937_64 random(seed);
  const Stream stream(random);
  const std::size_t most = random() % 2 == 0 ? 5 : 9000;
  const Parsed parsed = parse(stream.bytes, random, most);
  RC_ASSERT(parsed.messages == stream.messages);
  RC_ASSERT(parsed.end == PeerParser::Step::more);
}

RC_GTEST_PROP(PeerParser, WaitsForTheRestOfWhatIsCutOff, (std::uint64_t seed)) {
  std::mt19937_64 random(seed);
  Stream stream(random);
  const std::size_t last = stream.messages.back().size();
  stream.bytes.resize(stream.bytes.size() - 1 - random() % last);
  stream.messages.pop_back();
  const Parsed parsed = parse(stream.bytes, random, 3000);
  RC_ASSERT(parsed.messages == stream.messages);
  RC_ASSERT(parsed.end == PeerParser::Step::more);
}

RC_GTEST_PROP(PeerParser, TakesOnlyCorrectMessagesOfChangedStreams, (std::uint64_t seed)) {
  std::mt19937_64 random(seed);
  Stream stream(random);
  for (std::size_t flips = 1 + random() % 8; flips > 0; --flips) {
    stream.bytes[random() % stream.bytes.size()] ^= static_cast<std::byte>(1u << random() % 8);
  }
  const Parsed parsed = parse(stream.bytes, random, 5000);
  for (const auto& bytes : parsed.messages) {
    PeerHeader header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    RC_ASSERT(header.bytes == bytes.size());
    RC_ASSERT(peer_message_bytes(header.type) == bytes.size());
    PeerMessage message;
    RC_ASSERT(copy_message(header.type, bytes.data(), bytes.size(), &message));
    RC_ASSERT(fault_of(message).empty());
  }
}

RC_GTEST_PROP(PeerParser, SurvivesRandomBytes, (std::uint64_t seed)) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(random() % 20'000);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 256);
  // Often with a header that promises something.
  if (bytes.size() > 16 && random() % 2 == 0) {
    PeerHeader header{static_cast<PeerMessageType>(random() % 40), 0, 0};
    header.bytes = peer_message_bytes(header.type);
    std::memcpy(bytes.data(), &header, sizeof(header));
  }
  parse(bytes, random, 4000);
}

TEST(PeerParser, TakesNoOtherSizeThanItsTypes) {
  for (const PeerMessage& sample : sample_messages()) {
    for (const std::uint32_t change : {1u, 0u - 1u, 16u, 0x8000'0000u}) {
      auto bytes = bytes_of(sample);
      PeerHeader header;
      std::memcpy(&header, bytes.data(), sizeof(header));
      header.bytes += change;
      std::memcpy(bytes.data(), &header, sizeof(header));
      PeerParser parser;
      std::memcpy(parser.room().data(), bytes.data(), sizeof(header));
      parser.added(sizeof(header));
      // From the header alone: nothing is waited for that cannot be right.
      PeerMessage message;
      EXPECT_EQ(parser.next(&message), PeerParser::Step::broken);
      EXPECT_NE(parser.why().find("bytes instead of"), std::string::npos) << parser.why();
    }
  }
}

TEST(PeerParser, TakesNoTypeOfDataConnectionsOrNone) {
  for (const std::uint32_t type : {0u, 18u, 31u, 32u, 33u, 34u, 35u, 36u, 0xffff'ffffu}) {
    PeerParser parser;
    const PeerHeader header{static_cast<PeerMessageType>(type), 48, 1};
    std::memcpy(parser.room().data(), &header, sizeof(header));
    parser.added(sizeof(header));
    PeerMessage message;
    EXPECT_EQ(parser.next(&message), PeerParser::Step::broken) << type;
  }
}

}  // namespace
}  // namespace tentq::test
