// In programs of the simulator a failed check of the core is no abort but this exception, so that
// violations are counted and reported. broken_invariant.cc is linked as an object: its
// check_failed() goes before that of proto.
#pragma once

#include <stdexcept>

namespace tentq::sim {

// what(): the expression and its place.
class BrokenInvariant : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tentq::sim
