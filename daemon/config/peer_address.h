// The address of another host's daemon, as configurations and segment names write it: "node-7",
// "node-7:7471", "10.0.0.2", "[fd00::2]:7471", "fd00::2".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tentq {

inline constexpr std::uint16_t kPeerPort = 7471;  // where none is written

struct PeerAddress {
  std::string host;  // a name, or an IPv4 or IPv6 address without brackets
  std::uint16_t port = kPeerPort;

  bool operator==(const PeerAddress&) const = default;
  std::string text() const;  // host:port, with brackets around IPv6
};

// No name is looked up. Nothing when it is not of this form: names are at most 253 of
// [A-Za-z0-9._-], ports 1 to 65,535. `port` is meant where none is written.
std::optional<PeerAddress> parse_peer_address(std::string_view text,
                                              std::uint16_t port = kPeerPort);

}  // namespace tentq
