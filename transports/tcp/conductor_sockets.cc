// See conductor_sockets.h.
#include "transports/tcp/conductor_sockets.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "proto/check.h"

namespace tentq {
namespace {

constexpr std::uint32_t kNoSocket = 0;  // serials count from 1
constexpr std::size_t kMostAtOnce = 64;

bool put(int set, int fd, std::uint32_t serial) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u32 = serial;
  return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

ConductorSockets::ConductorSockets(int wakeup) : fd_(epoll_create1(EPOLL_CLOEXEC)) {
  if (fd_ >= 0 && put(fd_, wakeup, kNoSocket)) return;
  const int error = errno;
  if (fd_ >= 0) close(fd_);
  throw std::system_error(error, std::generic_category(), "epoll");
}

ConductorSockets::~ConductorSockets() {
  close(fd_);
}

bool ConductorSockets::add(int socket, std::uint32_t serial) {
  TENTQ_CHECK(serial != kNoSocket);
  return put(fd_, socket, serial);
}

void ConductorSockets::remove(int socket) {
  TENTQ_CHECK(epoll_ctl(fd_, EPOLL_CTL_DEL, socket, nullptr) == 0);
}

std::size_t ConductorSockets::readable(std::span<std::uint32_t> serials) const {
  std::array<epoll_event, kMostAtOnce> events;
  const auto most = static_cast<int>(std::min(serials.size(), events.size()));
  const int ready = epoll_wait(fd_, events.data(), most, 0);
  std::size_t count = 0;
  for (const epoll_event& event :
       std::span(events).first(static_cast<std::size_t>(std::max(ready, 0)))) {
    if (event.data.u32 != kNoSocket) serials[count++] = event.data.u32;
  }
  return count;
}

}  // namespace tentq
