// Files that hold a secret: the key that the daemons of all hosts have in common, a private key.
// When they are loaded only.
#pragma once

#include <string>

#include "daemon/peers/proof.h"

namespace tentq {

inline constexpr std::size_t kLeastKeyBytes = 32;
inline constexpr std::size_t kMostKeyBytes = 4096;

inline constexpr std::size_t kMostPrivateKeyBytes = 64u << 10;

// The bytes of a file of the daemon's user or of root, which nobody else can read or write: `least`
// to `most` of them, without one newline at the end. False with what is wrong and what to do in
// *why.
bool read_private_file(const std::string& path, std::size_t least, std::size_t most, PeerKey* bytes,
                       std::string* why);

// The key of psk: 32 to 4096 bytes of such a file.
bool read_key_file(const std::string& path, PeerKey* key, std::string* why);

}  // namespace tentq
