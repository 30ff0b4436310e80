// System calls for peers' sockets. See sockets.h.
#include "daemon/peers/sockets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "daemon/config/peer_address.h"

namespace tentq {
namespace {

constexpr int kBacklog = 1024;  // the kernel lowers it to net.core.somaxconn

// Addresses of IPv4 hosts that reach an IPv6 socket are shown and counted as what they are.
boost::asio::ip::address plain(const boost::asio::ip::address& address) {
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6());
}

}  // namespace

shm::Fd open_peer_listener(const Endpoint& at, int* error) {
  shm::Fd fd(::socket(at.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Not to be kept out by what a daemon before left to time out.
  const int on = 1;
  if (fd.valid() && ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at.address), at.length) == 0 &&
      ::listen(fd.get(), kBacklog) == 0) {
    return fd;
  }
  *error = errno;
  return {};
}

shm::Fd accept_peer(int listener, int* error) {
  shm::Fd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.valid()) *error = errno;
  return fd;
}

shm::Fd open_peer_stream(const boost::asio::ip::tcp& protocol, int* error) {
  shm::Fd fd(::socket(protocol.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) *error = errno;
  return fd;
}

void hurry(int socket, unsigned dscp) {
  const int on = 1;
  const int tos = static_cast<int>(dscp << 2);  // the two bits below are ECN's
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  // Either may be the wrong family; an IPv6 socket can carry IPv4.
  ::setsockopt(socket, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
  ::setsockopt(socket, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos));
}

std::optional<boost::asio::ip::tcp::endpoint> remote_of(int socket) {
  boost::asio::ip::tcp::endpoint endpoint;
  auto length = static_cast<socklen_t>(endpoint.capacity());
  if (::getpeername(socket, endpoint.data(), &length) != 0) return std::nullopt;
  endpoint.resize(length);
  return endpoint;
}

std::string host_of(const boost::asio::ip::tcp::endpoint& endpoint) {
  return plain(endpoint.address()).to_string();
}

std::string text_of(const boost::asio::ip::tcp::endpoint& endpoint) {
  return PeerAddress{host_of(endpoint), endpoint.port()}.text();
}

}  // namespace tentq
