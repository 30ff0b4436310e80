// Reading addresses of peers. See peer_address.h.
#include "daemon/config/peer_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>

namespace tentq {
namespace {

constexpr std::size_t kMostName = 253;  // of DNS

bool is_v6(const std::string& host) {
  in6_addr address{};
  return ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

bool is_name(std::string_view host) {
  if (host.empty() || host.size() > kMostName || host.front() == '-') return false;
  return std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
}

bool read_port(std::string_view digits, std::uint16_t* port) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *port);
  return error == std::errc{} && end == digits.data() + digits.size() && *port != 0;
}

}  // namespace

std::optional<PeerAddress> parse_peer_address(std::string_view text, std::uint16_t port) {
  PeerAddress address;
  address.port = port;
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    address.host = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (!is_v6(address.host)) return std::nullopt;
    if (text.empty()) return address;
    if (text.front() != ':' || !read_port(text.substr(1), &address.port)) return std::nullopt;
    return address;
  }
  address.host = text;
  if (is_v6(address.host)) return address;
  const auto colon = text.find(':');
  if (colon != std::string_view::npos) {
    if (!read_port(text.substr(colon + 1), &address.port)) return std::nullopt;
    address.host = text.substr(0, colon);
  }
  if (!is_name(address.host)) return std::nullopt;
  return address;
}

std::string PeerAddress::text() const {
  const std::string digits = ':' + std::to_string(port);
  return host.find(':') == std::string::npos ? host + digits : '[' + host + ']' + digits;
}

}  // namespace tentq
