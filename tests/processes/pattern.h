// Bytes that follow from a seed and their place alone, so that any process can write and check any
// part of them. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tentq::test {

// Writes bytes [first, first + size) of the pattern `seed`.
void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed, std::uint64_t first = 0);
// How many bytes differ from the same range of the pattern.
std::uint64_t pattern_differences(std::span<const std::byte> bytes, std::uint64_t seed,
                                  std::uint64_t first = 0);
// How many bytes differ from `value`.
std::uint64_t value_differences(std::span<const std::byte> bytes, std::byte value);
// A short fingerprint of any bytes.
std::uint64_t fingerprint(std::span<const std::byte> bytes);

}  // namespace tentq::test
