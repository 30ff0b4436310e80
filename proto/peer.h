// Messages of the control connection between two daemons: TCP, one fixed-size struct after the
// other, little-endian. Every struct starts with a PeerHeader; a size that is not its struct's is a
// protocol error and ends the connection. Byte by byte in peer.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "proto/cell.h"
#include "proto/classes.h"
#include "proto/control.h"
#include "proto/status.h"
#include "proto/text.h"

namespace tentq {

inline constexpr std::uint16_t kPeerMajor = 1;
inline constexpr std::uint16_t kPeerMinor = 0;
inline constexpr std::uint64_t kPeerMagic = 0x5245'4550'5154'4e54;  // "TNTQPEER"

// The dialer of a link asks, the acceptor answers: each pair of hosts has up to two links, one for
// the requests of each side.
enum class PeerMessageType : std::uint32_t {
  hello = 1,          // both ways, first on every connection
  proof = 2,          // both ways, if the peers authenticate by a key
  ready = 3,          // acceptor → dialer: the connection may be used
  refused = 4,        // either way, then it closes
  ping = 5,           // both ways
  pong = 6,           // the answer
  open_segment = 7,   // dialer → acceptor
  segment = 8,        // the answer
  close_segment = 9,  // dialer → acceptor, not answered
  list_regions = 10,  // dialer → acceptor: a page of a segment's regions
  regions = 11,       // the answer
  notify = 12,        // dialer → acceptor
  notified = 13,      // the answer
  fence = 14,         // dialer → acceptor: end a data connection
  fenced = 15,        // the answer: nothing of it is applied any more
  demand = 16,        // sender → receiver of data
  grant = 17,         // receiver → sender
  // On data connections; see peer_data.h.
  write = 32,
  done = 33,
  read = 34,
  data = 35,
};

struct PeerHeader {
  PeerMessageType type{};
  std::uint32_t bytes = 0;    // size of the whole struct, without a payload
  std::uint64_t request = 0;  // chosen by the asker, repeated in the answer; 0 = unasked
};
static_assert(sizeof(PeerHeader) == 16);

using HostId = std::array<std::uint8_t, 16>;  // random, kept in the state directory
using Nonce = std::array<std::uint8_t, 32>;
using Proof = std::array<std::uint8_t, 32>;  // HMAC-SHA-256

enum class PeerRole : std::uint16_t { control = 0, data = 1 };

inline constexpr std::uint32_t kPeerTcp = 1u << 0;   // bits of PeerHello::transports
inline constexpr std::uint32_t kPeerRdma = 1u << 1;  // reserved
inline constexpr std::uint64_t kPeerCredits = 1u
                                              << 0;  // bits of PeerHello::features: speaks DEMAND
inline constexpr std::uint64_t kPeerChecksum = 1u << 1;  // wants a CRC-32C of every payload
inline constexpr std::uint64_t kPeerKeyed = 1u << 2;     // sends a PROOF, and asks for one

struct PeerHello {
  static constexpr PeerMessageType kType = PeerMessageType::hello;
  PeerHeader header;
  std::uint64_t magic = kPeerMagic;
  std::uint16_t major = kPeerMajor;
  std::uint16_t minor = kPeerMinor;
  PeerRole role = PeerRole::control;
  std::uint16_t reserved0 = 0;
  HostId host{};
  std::uint64_t epoch_counter = 0;  // of the sender; orders its lives
  std::uint64_t epoch_random = 0;
  // The dialer's, rising over an epoch's links to this peer: orders its links. The acceptor
  // repeats.
  std::uint64_t link = 0;
  std::uint64_t connection = 0;  // of a data connection: its number in the link, from 1; else 0
  std::uint64_t features = 0;
  std::uint32_t transports = kPeerTcp;
  std::uint32_t reserved1 = 0;
  Nonce nonce{};         // random, new for every connection
  Text<128> advertised;  // host:port at which the sender is dialled; empty = it is not
};
static_assert(sizeof(PeerHello) == 16 + 8 + 8 + 16 + 16 + 16 + 8 + 8 + 32 + 128);

struct PeerProof {
  static constexpr PeerMessageType kType = PeerMessageType::proof;
  PeerHeader header;
  Proof proof{};  // over both hellos; see peer.md
};
static_assert(sizeof(PeerProof) == 48);

struct PeerReady {
  static constexpr PeerMessageType kType = PeerMessageType::ready;
  PeerHeader header;
  std::uint16_t minor = 0;             // what is spoken: the lower of both
  std::uint16_t highest_class = 0;     // most urgent class that the dialer's READs are served at
  std::uint32_t data_connections = 0;  // most that the acceptor takes for this link
  std::uint64_t most_length = 0;       // of one WRITE or READ, bytes
};
static_assert(sizeof(PeerReady) == 32);

struct PeerRefused {
  static constexpr PeerMessageType kType = PeerMessageType::refused;
  PeerHeader header;
  StatusCode status{};
  std::uint16_t reserved[3] = {};
  Text<232> text;  // what is wrong and what to do
};
static_assert(sizeof(PeerRefused) == 256);

struct PeerPing {
  static constexpr PeerMessageType kType = PeerMessageType::ping;
  PeerHeader header;
};
struct PeerPong {
  static constexpr PeerMessageType kType = PeerMessageType::pong;
  PeerHeader header;
};
static_assert(sizeof(PeerPing) == 16 && sizeof(PeerPong) == 16);

struct PeerOpenSegment {
  static constexpr PeerMessageType kType = PeerMessageType::open_segment;
  PeerHeader header;
  std::uint64_t incarnation = 0;  // 0 = whoever holds the name; else only that exporter
  // That it had when it was opened before: an exporter that is coming back is answered for when it
  // has as many, or could have.
  std::uint64_t regions = 0;
  NameText name;
};
static_assert(sizeof(PeerOpenSegment) == 96);

struct PeerSegment {
  static constexpr PeerMessageType kType = PeerMessageType::segment;
  PeerHeader header;
  StatusCode status{};
  std::uint16_t reserved[3] = {};
  std::uint64_t segment = 0;      // handle in this link, never reused in it
  std::uint64_t incarnation = 0;  // of the exporter
  std::uint64_t regions = 0;      // registered now, with a right for other hosts
  Text<200> text;
};
static_assert(sizeof(PeerSegment) == 16 + 8 + 24 + 200);

struct PeerCloseSegment {
  static constexpr PeerMessageType kType = PeerMessageType::close_segment;
  PeerHeader header;
  std::uint64_t segment = 0;
};
static_assert(sizeof(PeerCloseSegment) == 24);

struct PeerListRegions {
  static constexpr PeerMessageType kType = PeerMessageType::list_regions;
  PeerHeader header;
  std::uint64_t segment = 0;
  std::uint32_t first = 0;  // in order of base
  std::uint32_t reserved = 0;
};
static_assert(sizeof(PeerListRegions) == 32);

struct PeerRegions {
  static constexpr PeerMessageType kType = PeerMessageType::regions;
  PeerHeader header;
  StatusCode status{};
  std::uint16_t reserved = 0;
  std::uint32_t total = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  RegionRow rows[kRegionRows] = {};
};
static_assert(sizeof(PeerRegions) == 16 + 16 + 24 * kRegionRows);

struct PeerNotify {
  static constexpr PeerMessageType kType = PeerMessageType::notify;
  PeerHeader header;
  std::uint64_t segment = 0;  // whose exporter is told
  std::uint64_t sender_incarnation = 0;
  std::uint64_t serial = 0;  // the sender's, rising; a repeated one is dropped
  NameText sender;
  std::uint16_t name_bytes = 0;
  std::uint16_t message_bytes = 0;
  std::uint32_t reserved = 0;
  std::array<char, kMaxNotifyNameBytes + kMaxNotifyMessageBytes> payload{};  // name, then message
};
static_assert(sizeof(PeerNotify) == 16 + 24 + 64 + 8 + 64 + 4096);

struct PeerNotified {
  static constexpr PeerMessageType kType = PeerMessageType::notified;
  PeerHeader header;
  TaskState state{};
  std::uint8_t reserved0 = 0;
  Reason reason{};
  std::uint32_t reserved1 = 0;
};
static_assert(sizeof(PeerNotified) == 24);

struct PeerFence {
  static constexpr PeerMessageType kType = PeerMessageType::fence;
  PeerHeader header;
  std::uint64_t connection = 0;  // of this link
};
struct PeerFenced {
  static constexpr PeerMessageType kType = PeerMessageType::fenced;
  PeerHeader header;
  std::uint64_t connection = 0;
};
static_assert(sizeof(PeerFence) == 24 && sizeof(PeerFenced) == 24);

// Receiver credits. Limit, sent and freed are bytes, cumulative in a life of the credit, so that a
// message may be lost, doubled or overtaken. The high half of a nonce numbers the life: it ends
// when the receiver was silent for too long, and its grants are void with it. The low half numbers
// the demand in it. See daemon/core/credits.
enum class CreditPool : std::uint32_t { user = 0, internal = 1 };

struct PeerDemand {
  static constexpr PeerMessageType kType = PeerMessageType::demand;
  PeerHeader header;
  std::uint64_t sender_epoch = 0;    // epoch_random of the sender of data
  std::uint64_t receiver_epoch = 0;  // as the sender knows it
  std::uint64_t nonce = 0;           // rises with each demand; repeated in grants
  CreditPool pool{};
  std::uint32_t uplink_busy = 0;  // 1: it could not use more now
  std::uint64_t sent = 0;         // with what was voided
  std::uint64_t freed = 0;
  std::uint64_t uncredited = 0;  // in flight beside `sent`: of earlier lives, or without credit
  std::uint64_t oldest_ns = 0;   // age of the oldest that waits
  std::uint64_t wanted[kMaxClasses] = {};  // queued, by class
};
static_assert(sizeof(PeerDemand) == 16 + 24 + 8 + 32 + 8 * kMaxClasses);

struct PeerGrant {
  static constexpr PeerMessageType kType = PeerMessageType::grant;
  PeerHeader header;
  std::uint64_t sender_epoch = 0;
  std::uint64_t receiver_epoch = 0;
  std::uint64_t nonce = 0;  // of the demand it answers
  CreditPool pool{};
  std::uint32_t ttl_ms = 0;
  std::uint64_t limit = 0;
  std::uint64_t window = 0;  // that the sender has when it hears nothing more
};
static_assert(sizeof(PeerGrant) == 64);

// Size of a control connection's message; 0: no such type there.
constexpr std::uint32_t peer_message_bytes(PeerMessageType type) {
  switch (type) {
    case PeerMessageType::hello: return sizeof(PeerHello);
    case PeerMessageType::proof: return sizeof(PeerProof);
    case PeerMessageType::ready: return sizeof(PeerReady);
    case PeerMessageType::refused: return sizeof(PeerRefused);
    case PeerMessageType::ping: return sizeof(PeerPing);
    case PeerMessageType::pong: return sizeof(PeerPong);
    case PeerMessageType::open_segment: return sizeof(PeerOpenSegment);
    case PeerMessageType::segment: return sizeof(PeerSegment);
    case PeerMessageType::close_segment: return sizeof(PeerCloseSegment);
    case PeerMessageType::list_regions: return sizeof(PeerListRegions);
    case PeerMessageType::regions: return sizeof(PeerRegions);
    case PeerMessageType::notify: return sizeof(PeerNotify);
    case PeerMessageType::notified: return sizeof(PeerNotified);
    case PeerMessageType::fence: return sizeof(PeerFence);
    case PeerMessageType::fenced: return sizeof(PeerFenced);
    case PeerMessageType::demand: return sizeof(PeerDemand);
    case PeerMessageType::grant: return sizeof(PeerGrant);
    case PeerMessageType::write:
    case PeerMessageType::done:
    case PeerMessageType::read:
    case PeerMessageType::data: return 0;
  }
  return 0;
}

}  // namespace tentq
