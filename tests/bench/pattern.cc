// Word i of a block is base + i × an odd constant. Plain loops that the compiler makes SIMD of.
#include "tests/bench/pattern.h"

#include "proto/check.h"
#include "tests/bench/statistics.h"

namespace tentq::bench {
namespace {

constexpr std::uint64_t kStep = 0x9e37'79b9'7f4a'7c15;
constexpr std::size_t kCheckedWords = 512;  // looked at between two decisions

void check_shape(const void* data, std::size_t bytes, std::uint64_t from) {
  TENTQ_CHECK(bytes % 8 == 0 && from % 8 == 0 && reinterpret_cast<std::uintptr_t>(data) % 8 == 0);
}

}  // namespace

Pattern::Pattern(std::uint64_t seed, std::uint64_t id)
    : base_(Random(Random(seed).next() ^ id).next()) {}

void Pattern::fill(std::span<std::byte> out, std::uint64_t from) const {
  check_shape(out.data(), out.size(), from);
  auto* words = reinterpret_cast<std::uint64_t*>(out.data());
  std::uint64_t word = base_ + from / 8 * kStep;
  for (std::size_t i = 0; i < out.size() / 8; ++i) {
    words[i] = word;
    word += kStep;
  }
}

bool Pattern::matches(std::span<const std::byte> bytes, std::uint64_t from) const {
  check_shape(bytes.data(), bytes.size(), from);
  const auto* words = reinterpret_cast<const std::uint64_t*>(bytes.data());
  std::uint64_t word = base_ + from / 8 * kStep;
  for (std::size_t left = bytes.size() / 8; left > 0;) {
    const std::size_t count = left < kCheckedWords ? left : kCheckedWords;
    std::uint64_t different = 0;
    for (std::size_t i = 0; i < count; ++i) {
      different |= words[i] ^ word;
      word += kStep;
    }
    if (different != 0) return false;
    words += count;
    left -= count;
  }
  return true;
}

std::size_t Pattern::first_difference(std::span<const std::byte> bytes, std::uint64_t from) const {
  check_shape(bytes.data(), bytes.size(), from);
  const auto* words = reinterpret_cast<const std::uint64_t*>(bytes.data());
  for (std::size_t i = 0; i < bytes.size() / 8; ++i) {
    if (words[i] != base_ + (from / 8 + i) * kStep) return i * 8;
  }
  return bytes.size();
}

void poison(std::span<std::byte> bytes) {
  check_shape(bytes.data(), bytes.size(), 0);
  constexpr std::size_t kStride = 4096;
  for (std::size_t at = 0; at < bytes.size(); at += kStride) {
    auto* word = reinterpret_cast<std::uint64_t*>(bytes.data() + at);
    *word = ~*word;
  }
}

}  // namespace tentq::bench
