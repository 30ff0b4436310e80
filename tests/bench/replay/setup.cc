// Shared state of a replay.
#include "tests/bench/replay/setup.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace tentq::bench {

Replay::Replay(const ReplayOptions& replay_options, std::vector<TraceRequest> requests,
               std::uint64_t run_seed)
    : options(replay_options),
      trace(std::move(requests)),
      seed(run_seed),
      directory(options.places_per_store() * options.stores),
      totals(options.engines),
      foreground_us(trace.size()),
      late_us(trace.size()),
      start_ns(1),
      open_until(1) {
  for (double& sample : foreground_us.span()) sample = kNoSample;
  for (std::uint32_t i = 0; i < options.engines; ++i) {
    nudges.emplace_back(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!nudges.back().valid()) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
}

void nudge(const Replay& replay, std::uint32_t engine) {
  const std::uint64_t one = 1;
  // A full counter wakes as well.
  (void)!::write(replay.nudges[engine].get(), &one, sizeof(one));
}

std::string store_name(std::uint32_t store) {
  return "store-" + std::to_string(store);
}

}  // namespace tentq::bench
