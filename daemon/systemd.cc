// libsystemd: socket activation and notification. See systemd.h.
#include "daemon/systemd.h"

#include <fcntl.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include <cstdlib>

namespace tentq::systemd {

std::vector<PassedSocket> take_sockets() {
  char** names = nullptr;
  const int count = ::sd_listen_fds_with_names(1, &names);
  std::vector<PassedSocket> sockets;
  for (int i = 0; i < count; ++i) {
    const int fd = SD_LISTEN_FDS_START + i;
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    sockets.push_back({names != nullptr && names[i] != nullptr ? names[i] : "", shm::Fd(fd)});
  }
  if (names != nullptr) {
    for (int i = 0; i < count; ++i) std::free(names[i]);
    std::free(names);
  }
  return sockets;
}

void notify_ready(const std::string& status) {
  ::sd_notify(0, ("READY=1\nSTATUS=" + status).c_str());
}

void notify_reloading() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const long long microseconds =
      static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
  ::sd_notify(0, ("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds)).c_str());
}

void notify_stopping(const std::string& status) {
  ::sd_notify(0, ("STOPPING=1\nSTATUS=" + status).c_str());
}

void notify_alive() {
  ::sd_notify(0, "WATCHDOG=1");
}

std::chrono::nanoseconds watchdog_interval() {
  std::uint64_t microseconds = 0;
  if (::sd_watchdog_enabled(0, &microseconds) <= 0) return std::chrono::nanoseconds{0};
  return std::chrono::microseconds{microseconds / 2};
}

}  // namespace tentq::systemd
