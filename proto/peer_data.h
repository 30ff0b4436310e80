// Messages of a data connection between two daemons, after its handshake (peer.h). Heads of fixed
// size, little-endian; a payload follows a WRITE and a DATA. The number in `header.request` is the
// dialer's, never reused on a link. Byte by byte in peer.md.
#pragma once

#include "proto/peer.h"

namespace tentq {

inline constexpr std::uint32_t kPayloadChecksum = 1u << 0;  // `checksum` is set; other bits are 0

// READs of one connection that are asked and not wholly answered, at most; more is a protocol
// error.
inline constexpr std::uint32_t kMostReadsAsked = 256;

// Dialer → acceptor: `length` bytes follow, for [offset, offset + length) of the segment.
struct PeerWrite {
  static constexpr PeerMessageType kType = PeerMessageType::write;
  PeerHeader header;
  std::uint64_t segment = 0;  // handle of the link
  std::uint64_t offset = 0;   // in the segment's address space
  std::uint64_t length = 0;   // bytes, never 0
  std::uint32_t flags = 0;
  std::uint32_t checksum = 0;  // CRC-32C of the payload
};
static_assert(sizeof(PeerWrite) == 48);

// Acceptor → dialer: the end of a WRITE. Its bytes are where they belong, or none will be any more.
struct PeerDone {
  static constexpr PeerMessageType kType = PeerMessageType::done;
  PeerHeader header;
  Reason reason{};  // none = all bytes are there
  std::uint16_t reserved[3] = {};
};
static_assert(sizeof(PeerDone) == 24);

// Dialer → acceptor: asks for [offset, offset + length) of the segment.
struct PeerRead {
  static constexpr PeerMessageType kType = PeerMessageType::read;
  PeerHeader header;
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // bytes, never 0
  ClassId cls{};             // that it is for; served at most at the class granted to the host
  std::uint8_t reserved[7] = {};
};
static_assert(sizeof(PeerRead) == 48);

// Acceptor → dialer, on the connection of the READ: `length` bytes follow, which begin `offset`
// bytes into it. Pieces come in any order and never twice. With a reason: the READ has ended
// badly, length is 0 and nothing more of it comes.
struct PeerData {
  static constexpr PeerMessageType kType = PeerMessageType::data;
  PeerHeader header;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t queued_ns = 0;  // that the piece waited at the acceptor: no delay of the lane
  std::uint32_t flags = 0;
  std::uint32_t checksum = 0;
  Reason reason{};
  std::uint16_t reserved[3] = {};
};
static_assert(sizeof(PeerData) == 56);

// Size of a data connection's head; 0: no such type there.
constexpr std::uint32_t peer_head_bytes(PeerMessageType type) {
  if (type == PeerMessageType::write) return sizeof(PeerWrite);
  if (type == PeerMessageType::done) return sizeof(PeerDone);
  if (type == PeerMessageType::read) return sizeof(PeerRead);
  if (type == PeerMessageType::data) return sizeof(PeerData);
  return 0;
}

}  // namespace tentq
