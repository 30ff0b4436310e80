// How the programs of this folder end: with the code of their body, with 2 when the scenario cannot
// be read, and with 1 when anything else failed. The reason goes to standard error.
#pragma once

#include <cstdio>
#include <exception>

#include "tests/sim/words.h"

namespace tentq::sim {

template <class Body>
int exit_code_of(const char* program, const Body& body) {
  try {
    return body();
  } catch (const ScenarioError& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
}

}  // namespace tentq::sim
