// Parsing and printing of addresses. See endpoint.h.
#include "daemon/config/endpoint.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <charconv>
#include <cstring>

namespace tentq {

namespace {

constexpr std::uint8_t kLoopbackNet = 127;

// The host and the port of "HOST:PORT"; an IPv6 host stands in brackets. False: not of this form.
bool split(std::string_view text, std::string* host, bool* v6, std::uint16_t* port) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  std::string_view name = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *port);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) return false;
  *v6 = name.size() >= 2 && name.front() == '[' && name.back() == ']';
  if (*v6) name = name.substr(1, name.size() - 2);
  *host = name;
  // inet_pton would read no further than a NUL.
  return host->find('\0') == std::string::npos;
}

bool is_loopback(const in6_addr& address) {
  const std::uint8_t* bytes = address.s6_addr;
  return IN6_IS_ADDR_LOOPBACK(&address) ||
         (IN6_IS_ADDR_V4MAPPED(&address) && bytes[12] == kLoopbackNet);
}

Endpoint from_v4(const sockaddr_in& in) {
  Endpoint endpoint;
  std::memcpy(&endpoint.address, &in, sizeof(in));
  endpoint.length = sizeof(in);
  endpoint.loopback = (ntohl(in.sin_addr.s_addr) >> 24) == kLoopbackNet;
  return endpoint;
}

Endpoint from_v6(const sockaddr_in6& in) {
  Endpoint endpoint;
  std::memcpy(&endpoint.address, &in, sizeof(in));
  endpoint.length = sizeof(in);
  endpoint.loopback = is_loopback(in.sin6_addr);
  return endpoint;
}

}  // namespace

std::optional<Endpoint> parse_endpoint(std::string_view text) {
  std::string host;
  bool v6 = false;
  std::uint16_t port = 0;
  if (!split(text, &host, &v6, &port)) return std::nullopt;
  if (v6) {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(port);
    if (::inet_pton(AF_INET6, host.c_str(), &in.sin6_addr) != 1) return std::nullopt;
    return from_v6(in);
  }
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &in.sin_addr) != 1) return std::nullopt;
  return from_v4(in);
}

std::optional<Endpoint> endpoint_of(int socket) {
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    return std::nullopt;
  }
  if (bound.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &bound, sizeof(in));
    return from_v4(in);
  }
  if (bound.ss_family != AF_INET6) return std::nullopt;
  sockaddr_in6 in{};
  std::memcpy(&in, &bound, sizeof(in));
  return from_v6(in);
}

bool Endpoint::unspecified() const {
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address, sizeof(in));
    return IN6_IS_ADDR_UNSPECIFIED(&in.sin6_addr);
  }
  sockaddr_in in{};
  std::memcpy(&in, &address, sizeof(in));
  return in.sin_addr.s_addr == INADDR_ANY;
}

std::string Endpoint::text() const {
  char host[INET6_ADDRSTRLEN] = {};
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address, sizeof(in));
    ::inet_ntop(AF_INET6, &in.sin6_addr, host, sizeof(host));
    return '[' + std::string(host) + "]:" + std::to_string(ntohs(in.sin6_port));
  }
  sockaddr_in in{};
  std::memcpy(&in, &address, sizeof(in));
  ::inet_ntop(AF_INET, &in.sin_addr, host, sizeof(host));
  return std::string(host) + ':' + std::to_string(ntohs(in.sin_port));
}

}  // namespace tentq
