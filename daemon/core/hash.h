// Folding values into one number, for state_hash. Not for untrusted keys.
#pragma once

#include <cstdint>

#include "daemon/core/event.h"

namespace tentq::core {

constexpr std::uint64_t fold(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e37'79b9'7f4a'7c15ull;
  return hash ^ (hash >> 32);
}
constexpr std::uint64_t fold(std::uint64_t hash, const Amounts& amounts) {
  return fold(fold(fold(hash, amounts.owners), amounts.bytes), amounts.extents);
}

}  // namespace tentq::core
