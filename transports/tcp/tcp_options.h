// What the TCP transport is told at its making, and the bounds of it. Sizes in bytes.
#pragma once

#include <cstdint>

#include "proto/peer_data.h"
#include "proto/units.h"

namespace tentq {

inline constexpr std::uint32_t kMostInlineBytes = 64u << 10;

struct TcpOptions {
  std::uint32_t threads = 1;          // that move bytes; 1 to 64
  std::uint32_t queue_chunks = 4096;  // most accepted and not yet polled; 1 to 1,048,576
  // Most READs that this side asks for on a connection and that are not answered; others wait. 1 to
  // kMostReadsAsked, which is what a peer may ask for.
  std::uint32_t reads_per_connection = kMostReadsAsked;
  std::uint64_t most_length = 64u << 20;  // of a WRITE or READ that a peer asks for; at least 1
  // Largest chunk that the conductor itself hands to an idle connection, and largest payload that
  // it takes from one; at most kMostInlineBytes.
  std::uint32_t inline_bytes = 16u << 10;
  // Most that it hands over so between two polls; each counts for 16 KiB at least.
  std::uint32_t inline_turn_bytes = 64u << 10;
  // Whether the conductor receives from connections over which little comes. Then it polls the
  // transport always, also when it has nothing in flight.
  bool conductor_receives = false;
  // A connection is given up when nothing moves for so long and something should; at least 1 ms.
  Duration stall_limit = std::chrono::seconds{3};
  // So long a READ waits for its next bytes while its connection lives; at least 1 ms. A peer that
  // has not served it by then is given up, connection by connection.
  Duration read_limit = std::chrono::minutes{2};
  bool checksum = false;  // a CRC-32C goes with every payload that is sent
};

}  // namespace tentq
