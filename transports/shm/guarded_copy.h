// Copies that survive the loss of the memory under them: a client can truncate its file, or the
// file system under it can be full, and touching the mapping is then a SIGBUS. It fails that one
// copy. Any thread; sizes in bytes.
#pragma once

#include <cstddef>

#include "transports/shm/copy_routines.h"

namespace tentq {

// Installs the handler of SIGBUS for the whole process; called once by the daemon, before it starts
// threads; further calls do nothing. A fault outside the ranges of a guarded copy of the faulting
// thread goes to the action that was there before (by default the process ends). Throws
// std::system_error. Threads that copy must not block SIGBUS.
void install_sigbus_guard();

// copy_bytes under the guard. False: the kernel refused a page of either range; then any part of
// the destination may have been written, and nothing is touched any more. Costs a few nanoseconds
// more than the copy. Without install_sigbus_guard a fault ends the process.
[[nodiscard]] bool guarded_copy(CopyRoutine routine, std::byte* to, const std::byte* from,
                                std::size_t length);

}  // namespace tentq
