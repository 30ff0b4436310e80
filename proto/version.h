// The protocol's version, the product's version and the magic numbers of the handshake.
#pragma once

#include <cstdint>

namespace tentq {

// Same major runs together; the lower minor of both sides is spoken.
inline constexpr std::uint16_t kProtocolMajor = 1;
inline constexpr std::uint16_t kProtocolMinor = 1;
inline constexpr char kProductVersion[] = "0.1.0";

inline constexpr char kDefaultSocketPath[] = "/run/tentq/tentqd.sock";
inline constexpr char kDefaultAdminSocketPath[] = "/run/tentq/admin.sock";
inline constexpr char kDefaultStatusPath[] = "/run/tentq/status.shm";
inline constexpr char kDefaultConfigPath[] = "/etc/tentq/tentqd.json";
inline constexpr char kSocketVariable[] = "TENTQ_SOCKET";
inline constexpr char kConfigVariable[] = "TENTQ_CONFIG";

}  // namespace tentq
