// The heads of a data connection: copied once from what arrived, checked once. Pure. What depends
// on the connection's state (a number that nobody asked for, a range outside of a READ) is checked
// where that state is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "proto/peer_data.h"
#include "transports/tcp/tcp_events.h"

namespace tentq {

// The shortest head that may arrive at a side: so many bytes can be waited for.
constexpr std::size_t least_head_bytes(TcpSide side) {
  return side == TcpSide::dialer ? sizeof(PeerDone) : sizeof(PeerWrite);
}
inline constexpr std::size_t kMostHeadBytes = sizeof(PeerData);
static_assert(sizeof(PeerWrite) == sizeof(PeerRead) && sizeof(PeerDone) < sizeof(PeerData));

// Size of the head that begins so; 0: it may not arrive at that side, or gives itself another size.
std::size_t head_bytes(const PeerHeader& header, TcpSide side);

template <class Head>
Head new_head(std::uint64_t number) {
  Head head;
  head.header = {Head::kType, sizeof(Head), number};
  return head;
}

// The head's copy. `bytes` has its size.
template <class Head>
Head copy_head(std::span<const std::byte> bytes) {
  Head head;
  std::memcpy(&head, bytes.data(), sizeof head);
  return head;
}

// What is wrong with a head, as a static text; empty if nothing is.
std::string_view fault_of(const PeerWrite& head, std::uint64_t most_length);
std::string_view fault_of(const PeerRead& head, std::uint64_t most_length);
std::string_view fault_of(const PeerDone& head);
std::string_view fault_of(const PeerData& head);

// A reason of a peer that knows more of them than this build is a transport_error.
Reason known_reason(Reason reason);

}  // namespace tentq
