// One segment: the foreground's planned transfers on one side of the comparison, with the flood
// around them if the side has one.
#pragma once

#include "tests/bench/qos/parts.h"

namespace tentq::bench::qos {

// Carries plans out and adds up what was measured.
class Segments {
 public:
  Segments(Run& run, Bulk& flood, ForegroundGroup& foreground)
      : run_(run), flood_(flood), foreground_(foreground) {}

  // `count` transfers of `size` bytes from each foreground client. `meanwhile` is called every
  // 20 ms while they run, if given. Nothing is outstanding before and after it.
  void carry_out(const Side& side, std::uint64_t size, std::uint64_t count, std::uint64_t seed,
                 Measured* into, const std::function<void()>& meanwhile = {});

 private:
  void take_samples(std::uint64_t count, Measured* into) const;

  Run& run_;
  Bulk& flood_;
  ForegroundGroup& foreground_;
};

// Sets policy and windows of the daemon: what is configured, or the peer's fixed 64 MiB.
void use(const Side& side, Stage& stage);

}  // namespace tentq::bench::qos
