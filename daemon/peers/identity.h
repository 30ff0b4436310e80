// Who this daemon is to others: its host id, kept in the state directory, and its epoch. At start
// only.
#pragma once

#include <string>

#include "proto/peer.h"

namespace tentq {

struct PeerIdentity {
  HostId host{};
  std::uint64_t epoch_counter = 0;
  std::uint64_t epoch_random = 0;
};

// The id in STATE_DIRECTORY/host_id, made if there is none. Also made anew for the first epoch: a
// counter that begins again would look old to everybody who knew the id. False with what is wrong
// and what to do in *why.
bool load_host_id(const std::string& state_directory, std::uint64_t epoch_counter, HostId* host,
                  std::string* why);

// 32 hexadecimal digits.
std::string host_text(const HostId& host);

}  // namespace tentq
