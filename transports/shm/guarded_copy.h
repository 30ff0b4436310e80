// Copies that survive the loss of the memory under them.
#pragma once

namespace tentq {

// Installs the process-wide SIGBUS handler; called once by the daemon before it starts threads.
void install_sigbus_guard();

}  // namespace tentq
