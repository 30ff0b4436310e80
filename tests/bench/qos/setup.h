// What the processes of a qos run share, and how each of them attaches. Made before they are
// forked.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include <tentq/tentq.hpp>

#include "tests/bench/pattern.h"
#include "tests/bench/qos/arrivals.h"
#include "tests/bench/qos/options.h"
#include "tests/support/role.h"

namespace tentq::bench::qos {

// The exporter's segment: every transfer READs from it, and its bytes follow from the seed.
inline constexpr char kExporter[] = "qos-source";
inline constexpr std::uint64_t kSourceBytes = 64u << 20;
inline constexpr std::uint32_t kMostBulkClients = 64;
inline constexpr std::uint32_t kMostForegroundClients = 32;

// What a foreground client is to do with its next order, the same for all of them.
struct ForegroundPlan {
  std::uint64_t size = 0;     // bytes of a transfer
  std::uint64_t count = 0;    // of each client
  std::int64_t start_ns = 0;  // arrivals count from here, CLOCK_MONOTONIC
  double mean_gap_ns = 0;     // of one client
  Spacing spacing = Spacing::poisson;
  std::uint64_t seed = 0;
};

struct ForegroundSample {
  float observed_us = 0;
  float daemon_us = 0;
  float late_us = 0;
};

// Written by one bulk client.
struct alignas(64) BulkCounter {
  std::atomic<std::uint64_t> bytes{0};  // of owners that completed
  std::atomic<std::uint64_t> errors{0};
};

struct Setup {
  Setup(const QosOptions& qos_options, std::uint64_t run_seed, std::uint64_t most_samples)
      : options(qos_options),
        seed(run_seed),
        samples_each(most_samples),
        plan(1),
        samples(kMostForegroundClients * most_samples),
        counters(kMostBulkClients) {}

  ForegroundSample* samples_of(std::uint32_t client) const {
    return samples.data() + client * samples_each;
  }

  QosOptions options;
  std::uint64_t seed;
  std::string socket;
  std::uint64_t samples_each;                   // most of one client in one segment
  std::uint32_t foreground_buffers = 64;        // of each client
  test::SharedArray<ForegroundPlan> plan;       // [0]; written before the order
  test::SharedArray<ForegroundSample> samples;  // samples_each for each client
  test::SharedArray<BulkCounter> counters;      // by bulk client
};

// Clients are told apart by their uid, which only root can choose.
bool can_be_several_users();
// A uid of its own for client `number` of this run; only where can_be_several_users().
uid_t uid_of_client(std::uint32_t number);

// In a role: takes `uid` if given, then attaches without a thread and without spinning: there are
// more processes than cores.
Client attach(const Setup& setup, const std::string& name, std::optional<uid_t> uid);

// True if the bytes that were read from `offset` of the source are right: all of them, or of a long
// owner its first, middle and last page.
bool verify(const Pattern& pattern, std::span<const std::byte> bytes, std::uint64_t offset);
// Makes what verify() looks at fit no pattern.
void spoil(std::span<std::byte> bytes);

}  // namespace tentq::bench::qos
