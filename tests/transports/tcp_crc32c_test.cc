// CRC-32C: known vectors, and that all ways to compute it agree.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string_view>
#include <vector>

#include "transports/tcp/crc32c.h"

namespace tentq::test {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// RFC 3720, appendix B.4, and the check value of the CRC catalogue.
TEST(Crc32c, KnownVectors) {
  std::vector<std::byte> rising(32);
  std::vector<std::byte> falling(32);
  for (std::size_t i = 0; i < 32; ++i) {
    rising[i] = static_cast<std::byte>(i);
    falling[i] = static_cast<std::byte>(31 - i);
  }
  for (const auto crc : {crc32c, crc32c_by_table}) {
    EXPECT_EQ(crc(0, {}), 0u);
    EXPECT_EQ(crc(0, bytes_of("123456789")), 0xe306'9283u);
    EXPECT_EQ(crc(0, std::vector<std::byte>(32)), 0x8a91'36aau);
    EXPECT_EQ(crc(0, std::vector<std::byte>(32, std::byte{0xff})), 0x62a8'ab43u);
    EXPECT_EQ(crc(0, rising), 0x46dd'794eu);
    EXPECT_EQ(crc(0, falling), 0x113f'db5cu);
  }
}

TEST(Crc32c, AllWaysAgreeAtEveryLengthOffsetAndCut) {
  std::mt19937 random(17);
  std::vector<std::byte> bytes(70'000);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  for (int round = 0; round < 400; ++round) {
    const std::size_t offset = random() % 64;
    const std::size_t length = round < 200 ? static_cast<std::size_t>(round) : random() % 69'000;
    const std::span<const std::byte> part = std::span(bytes).subspan(offset, length);
    const std::uint32_t expected = crc32c_by_table(0, part);
    ASSERT_EQ(crc32c(0, part), expected);
    ASSERT_EQ(guarded_crc32c(0, part), expected);
    const std::size_t cut = length == 0 ? 0 : random() % length;
    ASSERT_EQ(crc32c(crc32c(0, part.first(cut)), part.subspan(cut)), expected);
    ASSERT_EQ(*guarded_crc32c(*guarded_crc32c(0, part.first(cut)), part.subspan(cut)), expected);
  }
}

}  // namespace
}  // namespace tentq::test
