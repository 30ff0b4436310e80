// See crc32c.h.
#include "transports/tcp/crc32c.h"

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

#include "transports/shm/guarded_copy.h"

namespace tentq {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f6'3b78;  // 0x1EDC6F41, bits reversed

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t value = 0; value < table.size(); ++value) {
    std::uint32_t crc = value;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[value] = crc;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

// What is guarded is copied in pieces of this size; they stay in the nearest cache.
constexpr std::size_t kGuardedPiece = 8u << 10;

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(std::uint32_t so_far,
                                                               std::span<const std::byte> bytes) {
  std::uint64_t crc = ~so_far;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    crc = _mm_crc32_u64(crc, word);
  }
  auto low = static_cast<std::uint32_t>(crc);
  for (; left > 0; --left, ++at) low = _mm_crc32_u8(low, std::to_integer<unsigned char>(*at));
  return ~low;
}
#else
std::uint32_t by_instruction(std::uint32_t so_far, std::span<const std::byte> bytes) {
  return crc32c_by_table(so_far, bytes);
}
#endif

}  // namespace

bool has_crc32c_instruction() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("sse4.2") != 0;
  return has;
#else
  return false;
#endif
}

std::uint32_t crc32c_by_table(std::uint32_t so_far, std::span<const std::byte> bytes) {
  std::uint32_t crc = ~so_far;
  for (const std::byte byte : bytes) {
    crc = (crc >> 8) ^ kTable[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
  }
  return ~crc;
}

std::uint32_t crc32c(std::uint32_t so_far, std::span<const std::byte> bytes) {
  return has_crc32c_instruction() ? by_instruction(so_far, bytes) : crc32c_by_table(so_far, bytes);
}

std::optional<std::uint32_t> guarded_crc32c(std::uint32_t so_far,
                                            std::span<const std::byte> bytes) {
  std::array<std::byte, kGuardedPiece> piece;
  while (!bytes.empty()) {
    const std::size_t length = std::min(bytes.size(), piece.size());
    if (!guarded_copy(CopyRoutine::libc, piece.data(), bytes.data(), length)) return std::nullopt;
    so_far = crc32c(so_far, {piece.data(), length});
    bytes = bytes.subspan(length);
  }
  return so_far;
}

}  // namespace tentq
