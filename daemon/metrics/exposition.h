// The daemon's metrics as Prometheus reads them: what the views show, in base units, with labels
// that are bounded (class, result, reason, and at most kMostLanes lanes). Conductor thread.
#pragma once

#include <string>

#include "daemon/views.h"

namespace tentq {

// Lanes beyond it have no samples of their own; tentq_lanes counts them too.
inline constexpr std::size_t kMostLanes = 64;

// Text format 0.0.4. Costs as much as the totals of the core: nothing grows with what is queued but
// for the heads that are looked at for the oldest age.
std::string exposition(const Inspection& inspection);

}  // namespace tentq
