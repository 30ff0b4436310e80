// See options.h.
#include "tests/bench/qos/options.h"

#include <algorithm>

namespace tentq::bench::qos {

bool QosOptions::wants(const std::string& part) const {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const std::string& one) { return one == part || one == "all"; });
}

std::uint32_t QosOptions::flood_depth() const {
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(flood / flood_clients / owner, 1));
}

}  // namespace tentq::bench::qos
