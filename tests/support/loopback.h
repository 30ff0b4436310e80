// Addresses of this host alone.
#pragma once

#include <netinet/in.h>

#include <cstdint>

namespace tentq::test {

// Port 0: a free one is chosen when it is bound.
inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace tentq::test
