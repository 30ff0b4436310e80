// The handshake: connect, HELLO, WELCOME, map both areas, MAPPED. In the calling thread; it waits.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "client/clock.h"
#include "client/session.h"
#include "tentq/types.hpp"

namespace tentq::lib {

struct AttachRequest {
  std::string path;                         // of the socket
  Hello hello;                              // without header
  Clock::time_point until;                  // gives up (timeout)
  const std::atomic<bool>* stop = nullptr;  // gives up when it becomes true; may be null
};

// The bits of HELLO that depend on this process alone: versions, layout, pid.
Hello make_hello(std::string_view name, std::uint64_t incarnation, std::uint32_t class_mask);

// Errors: daemon_gone (no socket, nobody listens, closed in between), timeout, not_permitted,
// incompatible, exhausted, and what the daemon refuses with.
Result<std::unique_ptr<Session>> attach(const AttachRequest& request, ControlSink* sink);

}  // namespace tentq::lib
