// Arithmetic on Amounts that cannot wrap. A sum that is charged is at most its limit, so adding to
// it is exact; whatever comes from outside is added saturating and compared against what is left.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "daemon/core/event.h"
#include "proto/check.h"

namespace tentq::core {

inline constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

constexpr std::uint64_t plus_saturating(std::uint64_t a, std::uint64_t b) {
  return a > kMost - b ? kMost : a + b;
}
constexpr std::uint64_t minus_saturating(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : 0;
}
constexpr Amounts plus_saturating(const Amounts& a, const Amounts& b) {
  return {plus_saturating(a.owners, b.owners), plus_saturating(a.bytes, b.bytes),
          plus_saturating(a.extents, b.extents)};
}
constexpr Amounts minus_saturating(const Amounts& a, const Amounts& b) {
  return {minus_saturating(a.owners, b.owners), minus_saturating(a.bytes, b.bytes),
          minus_saturating(a.extents, b.extents)};
}
// Exact difference of cumulative counters: a was never below b.
constexpr Amounts minus(const Amounts& a, const Amounts& b) {
  return {a.owners - b.owners, a.bytes - b.bytes, a.extents - b.extents};
}
constexpr Amounts least(const Amounts& a, const Amounts& b) {
  return {std::min(a.owners, b.owners), std::min(a.bytes, b.bytes), std::min(a.extents, b.extents)};
}
constexpr Amounts largest(const Amounts& a, const Amounts& b) {
  return {std::max(a.owners, b.owners), std::max(a.bytes, b.bytes), std::max(a.extents, b.extents)};
}
// A part of each, rounded up.
constexpr Amounts share(const Amounts& a, std::uint64_t parts) {
  const auto of = [parts](std::uint64_t n) { return n / parts + (n % parts != 0 ? 1 : 0); };
  return {of(a.owners), of(a.bytes), of(a.extents)};
}
constexpr bool fits(const Amounts& need, const Amounts& room) {
  return need.owners <= room.owners && need.bytes <= room.bytes && need.extents <= room.extents;
}
constexpr bool is_zero(const Amounts& a) {
  return a.owners == 0 && a.bytes == 0 && a.extents == 0;
}
constexpr void charge(Amounts& sum, const Amounts& amounts) {
  sum.owners += amounts.owners;
  sum.bytes += amounts.bytes;
  sum.extents += amounts.extents;
}
constexpr void release(Amounts& sum, const Amounts& amounts) {
  TENTQ_CHECK(fits(amounts, sum));
  sum.owners -= amounts.owners;
  sum.bytes -= amounts.bytes;
  sum.extents -= amounts.extents;
}

}  // namespace tentq::core
