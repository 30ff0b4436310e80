// How long owners waited and were transported, by class, since the start. Written once for every
// admitted owner that ended; read by metrics and queries. Conductor thread.
#pragma once

#include <array>
#include <cstdint>

#include "daemon/metrics/histogram.h"
#include "proto/classes.h"
#include "proto/units.h"

namespace tentq {

struct ClassLatencies {
  Histogram wait;       // submit to first dispatch, or to the end of an owner without one
  Histogram transport;  // first dispatch to the end
};

class Latencies {
 public:
  // `dispatched` is zero for an owner that never was.
  void ended(ClassId cls, Time enqueued, Time dispatched, Time completed) {
    ClassLatencies& latencies = classes_[index_of(cls)];
    const bool was_dispatched = dispatched != Time{};
    const Time left = was_dispatched ? dispatched : completed;
    latencies.wait.record(static_cast<std::uint64_t>((left - enqueued).count()));
    if (!was_dispatched) return;
    latencies.transport.record(static_cast<std::uint64_t>((completed - left).count()));
  }

  const ClassLatencies& of(ClassId cls) const { return classes_[index_of(cls)]; }

 private:
  std::array<ClassLatencies, kMaxClasses> classes_{};
};

}  // namespace tentq
