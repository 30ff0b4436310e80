#include "daemon/core/credits/rules.h"

namespace tentq::core {

std::string contradiction(const CreditRules& rules) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;
  constexpr std::int64_t kMostTtl_ns = 60'000'000'000;
  constexpr std::int64_t kMillisecond_ns = 1'000'000;
  if (rules.chunk_bytes == 0 || rules.chunk_bytes > kMostBytes) {
    return "chunk_bytes is 0 or above 1 TiB; use the longest chunk of any lane";
  }
  if (rules.legacy_bytes < 2 * rules.chunk_bytes || rules.legacy_bytes > kMostBytes) {
    return "legacy_bytes must be at least two chunks and at most 1 TiB";
  }
  if (rules.boot_bytes < 2 * rules.chunk_bytes || rules.boot_bytes > kMostBytes) {
    return "boot_bytes must be at least two chunks and at most 1 TiB";
  }
  if (rules.demand_gap_ns <= 0 || rules.demand_gap_ns > rules.demand_ns) {
    return "demand_gap_ns must be above 0 and at most demand_ns";
  }
  if (rules.ttl_ns < 2 * rules.demand_ns || rules.ttl_ns > kMostTtl_ns) {
    return "ttl_ns must be at least two demand_ns, so that one may be lost, and at most 60 s";
  }
  if (rules.ttl_ns % kMillisecond_ns != 0) return "ttl_ns must be whole milliseconds";
  if (rules.probe_ns < rules.ttl_ns) return "probe_ns must be at least ttl_ns";
  if (rules.target_queue_ns < 0) return "target_queue_ns must not be negative";
  return {};
}

}  // namespace tentq::core
