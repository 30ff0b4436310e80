// A word of eight bytes at a time; the ends byte by byte.
#include "tests/processes/pattern.h"

#include <algorithm>
#include <cstring>

namespace tentq::test {
namespace {

constexpr std::uint64_t word_at(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t word = (index + 1) * 0x9e37'79b9'7f4a'7c15u ^ (seed + 1) * 0xbf58'476d'1ce4'e5b9u;
  word ^= word >> 29;
  return word * 0x94d0'49bb'1331'11ebu;
}

// Calls visit(bytes of the pattern, offset, length ≤ 8) for each word that the range touches.
template <class Visit>
void for_each_word(std::size_t size, std::uint64_t seed, std::uint64_t first, Visit visit) {
  std::size_t done = 0;
  while (done < size) {
    const std::uint64_t place = first + done;
    const std::size_t skip = place % 8;
    const std::size_t length = std::min(8 - skip, size - done);
    const std::uint64_t word = word_at(seed, place / 8);
    std::byte bytes[8];
    std::memcpy(bytes, &word, sizeof bytes);
    visit(bytes + skip, done, length);
    done += length;
  }
}

}  // namespace

void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed, std::uint64_t first) {
  for_each_word(bytes.size(), seed, first,
                [&](const std::byte* pattern, std::size_t at, std::size_t length) {
                  std::memcpy(bytes.data() + at, pattern, length);
                });
}

std::uint64_t pattern_differences(std::span<const std::byte> bytes, std::uint64_t seed,
                                  std::uint64_t first) {
  std::uint64_t wrong = 0;
  for_each_word(bytes.size(), seed, first,
                [&](const std::byte* pattern, std::size_t at, std::size_t length) {
                  if (std::memcmp(bytes.data() + at, pattern, length) == 0) return;
                  for (std::size_t i = 0; i < length; ++i) wrong += bytes[at + i] != pattern[i];
                });
  return wrong;
}

std::uint64_t value_differences(std::span<const std::byte> bytes, std::byte value) {
  return bytes.size() - static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), value));
}

std::uint64_t fingerprint(std::span<const std::byte> bytes) {
  std::uint64_t sum = bytes.size();
  std::size_t done = 0;
  while (done < bytes.size()) {
    std::uint64_t word = 0;
    const std::size_t length = std::min<std::size_t>(sizeof word, bytes.size() - done);
    std::memcpy(&word, bytes.data() + done, length);
    sum = (sum ^ word) * 0x9e37'79b9'7f4a'7c15u;
    sum ^= sum >> 32;
    done += length;
  }
  return sum;
}

}  // namespace tentq::test
