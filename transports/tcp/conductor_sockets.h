// The sockets whose messages the conductor receives itself: those of connections over which little
// comes. A set of descriptors and one to wait for all of them, which also carries the transport's
// wakeup. Any thread; the descriptors are open while they are in it.
#pragma once

#include <cstdint>
#include <span>

namespace tentq {

class ConductorSockets {
 public:
  // `wakeup` stays in the set for good. Throws std::system_error when no descriptor can be made.
  explicit ConductorSockets(int wakeup);
  ~ConductorSockets();
  ConductorSockets(const ConductorSockets&) = delete;
  ConductorSockets& operator=(const ConductorSockets&) = delete;

  // Readable while one of the set is.
  int fd() const { return fd_; }

  // False: the system has no room for it.
  bool add(int socket, std::uint32_t serial);
  void remove(int socket);
  // Serials of sockets that are readable; how many. Never blocks.
  std::size_t readable(std::span<std::uint32_t> serials) const;

 private:
  const int fd_;
};

}  // namespace tentq
