// Only a packet of exactly its message's size, with ended texts, becomes a message.
#include "daemon/messages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace tentq {
namespace {

template <class Message>
std::vector<std::byte> bytes_of(const Message& message) {
  std::vector<std::byte> bytes(sizeof message);
  std::memcpy(bytes.data(), &message, sizeof message);
  return bytes;
}

TEST(Messages, WholeMessagesAreTaken) {
  EXPECT_TRUE(std::holds_alternative<Hello>(*parse_message(bytes_of(make_message<Hello>()))));
  const auto query = parse_message(bytes_of(make_message<Query>(7)));
  ASSERT_TRUE(query);
  EXPECT_EQ(std::get<Query>(*query).header.request, 7u);
}

TEST(Messages, EveryOtherLengthIsRefused) {
  std::vector<std::byte> bytes = bytes_of(make_message<OpenSegment>());
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(parse_message(bytes));
  for (std::size_t n = 0; n < sizeof(OpenSegment); ++n) {
    EXPECT_FALSE(parse_message(std::span(bytes).first(n))) << n;
  }
}

TEST(Messages, WrongStatedSizeIsRefused) {
  auto message = make_message<Goodbye>();
  message.header.bytes += 1;
  EXPECT_FALSE(parse_message(bytes_of(message)));
}

TEST(Messages, TextWithoutEndIsRefused) {
  auto message = make_message<Hello>();
  message.name.bytes.fill('a');
  EXPECT_FALSE(parse_message(bytes_of(message)));
}

TEST(Messages, AnswersOfTheDaemonAreNoRequests) {
  EXPECT_FALSE(parse_message(bytes_of(make_message<Welcome>())));
  EXPECT_FALSE(parse_message(bytes_of(make_message<Notification>())));
}

TEST(Messages, RandomBytesNeverBreakTheParser) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(kLargestMessage);
  for (int round = 0; round < 20'000; ++round) {
    const std::size_t size = random() % bytes.size();
    for (std::size_t i = 0; i < std::min<std::size_t>(size, 64); ++i) {
      bytes[i] = static_cast<std::byte>(random());
    }
    const auto type = static_cast<std::uint32_t>(random() % 24);
    std::memcpy(bytes.data(), &type, sizeof type);
    (void)parse_message(std::span(bytes).first(size));
  }
}

}  // namespace
}  // namespace tentq
