// Assertions on our own bugs; they stay on in release builds. What an outsider can cause is never
// asserted: it gets a status, a counter and a test.
#pragma once

namespace tentq {

// Prints the expression and its place to standard error and aborts.
[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace tentq

#define TENTQ_CHECK(expression)                                                                \
  (__builtin_expect(!(expression), 0) ? ::tentq::check_failed(#expression, __FILE__, __LINE__) \
                                      : void(0))
