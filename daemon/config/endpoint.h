// An address to listen at, as configurations write it: "127.0.0.1:9464", "[::1]:9464".
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tentq {

struct Endpoint {
  sockaddr_storage address{};  // sockaddr_in or sockaddr_in6
  socklen_t length = 0;
  bool loopback = false;  // only this host's processes can reach it

  std::string text() const;  // as parse_endpoint reads it
  bool unspecified() const;  // every address of this host
};

// Numbers only: no name is looked up. Port 0 is any free one. Nothing when it is not of this form.
std::optional<Endpoint> parse_endpoint(std::string_view text);
// Of a socket that is bound.
std::optional<Endpoint> endpoint_of(int socket);

}  // namespace tentq
