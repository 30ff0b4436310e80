// The bytes of a block follow from its id and the run's seed: fast enough to write and to check at
// the speed of memory, different at every offset, so that a block of another id, at another offset,
// of another run or in part old is found. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tentq::bench {

class Pattern {
 public:
  // `bytes` of every call: a multiple of 8, aligned to 8.
  Pattern(std::uint64_t seed, std::uint64_t id);

  // Writes the block's bytes [from, from + out.size()); from: a multiple of 8.
  void fill(std::span<std::byte> out, std::uint64_t from = 0) const;
  // True if they are all as fill() writes them.
  bool matches(std::span<const std::byte> bytes, std::uint64_t from = 0) const;
  // Offset in `bytes` of the first word that differs; bytes.size() if none does.
  std::size_t first_difference(std::span<const std::byte> bytes, std::uint64_t from = 0) const;

 private:
  std::uint64_t base_;
};

// Makes `bytes` fit no pattern by accident of an earlier use: destroys the first word of every 4
// KiB.
void poison(std::span<std::byte> bytes);

}  // namespace tentq::bench
