// What `tentq-bench qos` can be told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tentq::bench::qos {

struct QosOptions {
  std::string lane = "paced";        // paced: a link of `rate`; shm: as fast as the memory
  std::uint64_t rate = 500'000'000;  // bytes per second; of lane shm it is measured
  std::uint64_t flood = 1u << 30;    // bytes that the background keeps outstanding
  std::uint64_t owner = 16u << 20;   // of the background
  std::uint32_t flood_clients = 8;
  std::uint64_t size = 256u << 10;  // of a foreground transfer
  std::uint32_t foreground_clients = 4;
  double load = 0.2;                 // of the rate, by the foreground
  std::string arrivals = "poisson";  // or fixed
  std::vector<std::string> policies = {"all"};
  std::vector<std::string> parts = {"all"};
  std::uint64_t samples = 10'000;  // of the foreground, for each policy
  std::uint32_t rounds = 2;        // segments of each policy
  double seconds = 6;              // of each measurement of shares
  bool quiet = false;
  std::vector<std::string> settings;  // KEY=VALUE, of the daemon

  bool wants(const std::string& part) const;
  // Depth of each background client in owners.
  std::uint32_t flood_depth() const;
};

}  // namespace tentq::bench::qos
