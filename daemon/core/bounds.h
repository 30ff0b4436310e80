// Whether limits make sense, together and with the maxima that sized the slabs. Pure.
#pragma once

#include <string>

#include "daemon/core/limits.h"

namespace tentq::core {

// Empty when they do; else the limit at fault and what it should be.
std::string contradiction(const Limits& limits, const HardMaxima& maxima);

}  // namespace tentq::core
