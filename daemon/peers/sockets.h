// Sockets between daemons: close-on-exec, never blocking. Any thread.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <optional>
#include <string>

#include "daemon/config/endpoint.h"
#include "shm/fd.h"

namespace tentq {

// A socket that listens; invalid with the errno in *error.
shm::Fd open_peer_listener(const Endpoint& at, int* error);
// A connection that waits there; invalid with the errno in *error.
shm::Fd accept_peer(int listener, int* error);
// For a connection to be made; invalid with the errno in *error.
shm::Fd open_peer_stream(const boost::asio::ip::tcp& protocol, int* error);

// Small messages at once, and marked. What the network or the kernel does not allow is left as is.
void hurry(int socket, unsigned dscp);

// The other end of a connection; none: it is gone.
std::optional<boost::asio::ip::tcp::endpoint> remote_of(int socket);
// The address without the port, for counting and for what is advertised.
std::string host_of(const boost::asio::ip::tcp::endpoint& endpoint);
std::string text_of(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace tentq
