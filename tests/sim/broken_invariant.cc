// See broken_invariant.h.
#include "tests/sim/broken_invariant.h"

#include <string>

#include "proto/check.h"

namespace tentq {

void check_failed(const char* expression, const char* file, int line) {
  throw sim::BrokenInvariant(std::string(expression) + " (" + file + ":" + std::to_string(line) +
                             ")");
}

}  // namespace tentq
