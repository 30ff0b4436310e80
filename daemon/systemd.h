// What systemd gives and expects: sockets that it opened, readiness, watchdog. Everything is a
// no-op when the daemon was not started by it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "shm/fd.h"

namespace tentq::systemd {

struct PassedSocket {
  std::string name;  // FileDescriptorName=
  shm::Fd fd;
};
// The sockets of the unit, once; close-on-exec.
std::vector<PassedSocket> take_sockets();

void notify_ready(const std::string& status);
void notify_reloading();
void notify_stopping(const std::string& status);
void notify_alive();
// Half of the interval in which notify_alive() is expected; zero: no watchdog.
std::chrono::nanoseconds watchdog_interval();

}  // namespace tentq::systemd
