// The key that the daemons of all hosts have in common, from a file. At start only.
#pragma once

#include <string>

#include "daemon/peers/proof.h"

namespace tentq {

inline constexpr std::size_t kLeastKeyBytes = 32;
inline constexpr std::size_t kMostKeyBytes = 4096;

// The file's bytes without one newline at the end. It must be a file of the daemon's user or of
// root, which nobody else can read or write, with 32 to 4096 bytes. False with what is wrong and
// what to do in *why.
bool read_key_file(const std::string& path, PeerKey* key, std::string* why);

}  // namespace tentq
