#include "proto/check.h"

#include <cstdio>
#include <cstdlib>

namespace tentq {

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "tentq: check failed: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace tentq
