// Every implementation of the seam, under the names of the conformance suite.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "transports/transport.h"

namespace tentq::test {

struct Factory {
  std::string name;
  // A transport that holds at most `capacity` chunks (at least 1).
  std::function<std::unique_ptr<Transport>(std::uint32_t capacity)> make;
};
inline void PrintTo(const Factory& factory, std::ostream* out) {
  *out << factory.name;
}

std::vector<Factory> all_factories();

}  // namespace tentq::test
