// A message of a control connection, after it was copied and checked. Pure.
#pragma once

#include <string>
#include <variant>

#include "proto/peer.h"

namespace tentq {

using PeerMessage =
    std::variant<PeerHello, PeerProof, PeerReady, PeerRefused, PeerPing, PeerPong, PeerOpenSegment,
                 PeerSegment, PeerCloseSegment, PeerListRegions, PeerRegions, PeerNotify,
                 PeerNotified, PeerFence, PeerFenced, PeerDemand, PeerGrant>;

// What is wrong with it, or an empty text. Everything that a receiver would index, count or print
// by is checked here, once: enumerations are known, counts bounded, texts terminated, what is
// reserved is zero. What needs more than the message (a handle, the state of the link) is not.
std::string fault_of(const PeerMessage& message);

// The message of `type` in `bytes`, unchecked; false: there is no such type or size.
bool copy_message(PeerMessageType type, const std::byte* bytes, std::size_t size,
                  PeerMessage* message);

}  // namespace tentq
