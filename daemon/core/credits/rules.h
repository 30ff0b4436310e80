// Every bound of receiver credits, with units and defaults. Bytes and nanoseconds.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "daemon/core/limits.h"
#include "proto/classes.h"

namespace tentq::core {

// Later than every event.
inline constexpr std::int64_t kNever_ns = INT64_MAX;

struct CreditRules {
  std::uint64_t chunk_bytes = 1u << 20;    // S: the longest chunk of any lane
  std::uint64_t legacy_bytes = 4u << 20;   // window towards a peer that does not speak credits
  std::uint64_t boot_bytes = 4u << 20;     // P while no rate was measured
  std::int64_t demand_ns = 20'000'000;     // between demands while there is work
  std::int64_t demand_gap_ns = 1'000'000;  // between a demand and one that is sent at once
  std::int64_t ttl_ns = 200'000'000;       // of a grant, whole milliseconds
  std::int64_t probe_ns = 30'000'000'000;  // between demands to a peer that never answered one
  std::int64_t target_queue_ns = 500'000;  // that the receiver's queue may take to drain
  std::array<std::uint32_t, kMaxClasses> weights = default_weights();  // 0 counts as 1

  // The receiver's ttl ends later than any sender's: by what two clocks may drift apart.
  std::int64_t receiver_ttl_ns() const { return ttl_ns + ttl_ns / 16; }

 private:
  static constexpr std::array<std::uint32_t, kMaxClasses> default_weights() {
    std::array<std::uint32_t, kMaxClasses> weights{};
    for (std::size_t c = 0; c < kMaxClasses; ++c) weights[c] = default_class_limits()[c].weight;
    return weights;
  }
};

// Empty when the rules make sense; else the field at fault and what it should be.
std::string contradiction(const CreditRules& rules);

}  // namespace tentq::core
