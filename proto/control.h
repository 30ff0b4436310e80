// Messages of the control channel and of the admin socket: Unix SOCK_SEQPACKET, one fixed-size
// struct a packet, little-endian, fds beside it where said. Every struct starts with a
// ControlHeader; a packet whose size differs from its struct's is a protocol error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "proto/cell.h"
#include "proto/classes.h"
#include "proto/session_layout.h"
#include "proto/status.h"
#include "proto/text.h"

namespace tentq {

enum class MessageType : std::uint32_t {
  hello = 1,    // client → daemon; fd: a pidfd of the client, or none
  welcome = 2,  // daemon → client; fds: REQ, STA, doorbell eventfd, completion socket
  refused = 3,  // daemon → client, then it closes
  mapped = 4,   // client → daemon: REQ is mapped, seal it against further writable mappings
  register_region = 5,    // client → daemon; fd: the memory
  region_progress = 6,    // daemon → client, while it populates
  region_reply = 7,       // daemon → client
  unregister_region = 8,  // client → daemon; answered by `done`
  done = 9,               // daemon → client: answer without content
  open_segment = 10,      // client → daemon
  segment_reply = 11,     // daemon → client
  close_segment = 12,     // client → daemon; answered by `done`
  segment_regions = 13,   // client → daemon: a page of a segment's regions
  segment_regions_reply = 14,
  notification = 15,   // daemon → client
  daemon_notice = 16,  // daemon → client: it drains, restarts or shut this session out
  query = 17,          // client or admin → daemon
  query_reply = 18,    // daemon → asker; fd: a sealed memfd with a JSON document when ok
  command = 19,        // admin → daemon
  command_reply = 20,  // daemon → admin
  goodbye = 21,        // client → daemon: a clean detach follows
};

struct ControlHeader {
  MessageType type{};
  std::uint32_t bytes = 0;    // size of the whole struct
  std::uint64_t request = 0;  // chosen by the asker, repeated in the answer; 0 = unasked
};
static_assert(sizeof(ControlHeader) == 16);

inline constexpr std::uint64_t kHelloMagic = 0x4f4c'4c45'4851'5454;  // "TTQHELLO"
using Token = std::array<std::uint8_t, 16>;

// What a session had outstanding when its daemon died, in one class.
struct Outstanding {
  std::uint64_t owners = 0;
  std::uint64_t bytes = 0;
  std::uint64_t extents = 0;
};

struct Hello {
  static constexpr MessageType kType = MessageType::hello;
  ControlHeader header;
  std::uint64_t magic = kHelloMagic;
  std::uint16_t major = 0;
  std::uint16_t minor = 0;
  std::uint32_t class_mask = 0;  // classes it wants to submit to; 0 = all it may
  std::uint64_t layout_hash = 0;
  std::uint64_t features = 0;     // none defined yet
  std::uint64_t incarnation = 0;  // random, the same over re-attaches of one Client object
  Token token{};                  // of the session it replaces; all zero = none
  std::uint32_t reattach = 0;     // 1: `outstanding` is valid
  std::uint32_t pid = 0;          // as the client sees it, for display only
  NameText name;                  // empty = anonymous (exports nothing)
  Outstanding outstanding[kMaxClasses] = {};
};
static_assert(sizeof(Hello) == 16 + 8 + 8 + 8 + 8 + 8 + 16 + 8 + 64 + 24 * kMaxClasses);

// The limits in force for this session.
struct SessionLimits {
  std::uint32_t largest_call = 0;  // owners of one submit
  std::uint32_t regions = 0;
  std::uint64_t largest_owner = 0;  // bytes
  std::uint64_t owners = 0;         // outstanding, per client
  std::uint64_t bytes = 0;
  std::uint64_t extents = 0;
};
static_assert(sizeof(SessionLimits) == 40);

struct Welcome {
  static constexpr MessageType kType = MessageType::welcome;
  ControlHeader header;
  std::uint64_t client = 0;  // ClientId
  std::uint64_t epoch_counter = 0;
  std::uint64_t epoch_random = 0;
  std::uint16_t major = 0;
  std::uint16_t minor = 0;
  std::uint32_t max_class = 0;  // highest urgency granted: lowest ClassId
  std::uint64_t features = 0;
  Token token{};
  SessionSizes sizes;
  SessionLimits limits;
  Text<32> version;  // the daemon's product version
  // Since 1.1; a daemon that speaks 1.0 does not send them.
  std::uint32_t highest_class = 0;  // that the quota allows, a ClassId; 0: there is no quota
  // Classes whose submits go to highest_class instead; those that are neither here nor granted are
  // refused.
  std::uint32_t downgraded = 0;
  Text<128> quota;  // its name; empty = none
};
static_assert(sizeof(Welcome) == 16 + 24 + 8 + 8 + 16 + 24 + 40 + 32 + 8 + 128);
inline constexpr std::size_t kLeastWelcomeBytes = offsetof(Welcome, highest_class);
inline constexpr std::size_t kWelcomeFds = 4;  // REQ, STA, doorbell, completion

struct Refused {
  static constexpr MessageType kType = MessageType::refused;
  ControlHeader header;
  StatusCode status{};
  std::uint16_t reserved[3] = {};
  Text<256> text;  // what is wrong and what to do
};
static_assert(sizeof(Refused) == 16 + 8 + 256);

struct Mapped {
  static constexpr MessageType kType = MessageType::mapped;
  ControlHeader header;
};

enum class RegionAccess : std::uint8_t { none = 0, read = 1, read_write = 2 };
// Whose sessions on this host get `host_access`.
enum class RegionScope : std::uint8_t { same_uid = 0, uid = 1, gid = 2, name = 3, everyone = 4 };

inline constexpr std::uint32_t kRegionSparse =
    1u << 0;  // holes are allowed (if the daemon allows them)
inline constexpr std::uint32_t kRegionReadOnly = 1u
                                                 << 1;  // the owner itself never receives into it

struct RegisterRegion {
  static constexpr MessageType kType = MessageType::register_region;
  ControlHeader header;
  std::uint64_t base = 0;       // where the region begins in the segment's address space
  std::uint64_t size = 0;       // bytes
  std::uint64_t fd_offset = 0;  // bytes
  std::uint32_t flags = 0;
  RegionAccess host_access{};
  RegionScope host_scope{};
  RegionAccess remote_access{};
  std::uint8_t reserved0 = 0;
  std::uint32_t scope_id = 0;  // a uid or gid
  std::uint32_t reserved1 = 0;
  NameText scope_name;
};
static_assert(sizeof(RegisterRegion) == 16 + 24 + 8 + 8 + 64);

struct RegionProgress {
  static constexpr MessageType kType = MessageType::region_progress;
  ControlHeader header;
  std::uint64_t done_bytes = 0;
  std::uint64_t total_bytes = 0;
};
static_assert(sizeof(RegionProgress) == 32);

struct RegionReply {
  static constexpr MessageType kType = MessageType::region_reply;
  ControlHeader header;
  StatusCode status{};
  std::uint16_t reserved = 0;
  std::uint32_t region = 0;  // RegionId
  Text<256> text;
};
static_assert(sizeof(RegionReply) == 16 + 8 + 256);

struct UnregisterRegion {
  static constexpr MessageType kType = MessageType::unregister_region;
  ControlHeader header;
  std::uint32_t region = 0;
  std::uint32_t wait = 0;  // 0: `busy` while in flight; 1: answered when quiet
};
static_assert(sizeof(UnregisterRegion) == 24);

struct Done {
  static constexpr MessageType kType = MessageType::done;
  ControlHeader header;
  StatusCode status{};
  std::uint16_t reserved[3] = {};
  Text<256> text;
};
static_assert(sizeof(Done) == 16 + 8 + 256);

struct OpenSegment {
  static constexpr MessageType kType = MessageType::open_segment;
  ControlHeader header;
  std::uint64_t incarnation = 0;  // 0 = whoever holds the name; else only that exporter
  std::uint32_t reattach = 0;  // 1: the exporter may still be re-attaching, do not answer not_found
  std::uint32_t reserved = 0;
  Text<256> name;  // `store-1` or `tentq://[host[:port]]/store-1`
};
static_assert(sizeof(OpenSegment) == 16 + 16 + 256);

struct SegmentReply {
  static constexpr MessageType kType = MessageType::segment_reply;
  ControlHeader header;
  StatusCode status{};
  std::uint16_t reserved = 0;
  std::uint32_t segment = 0;      // SegmentHandle
  std::uint64_t incarnation = 0;  // of the exporter
  std::uint64_t regions = 0;      // registered now
  Text<256> text;
};
static_assert(sizeof(SegmentReply) == 16 + 8 + 16 + 256);

struct CloseSegment {
  static constexpr MessageType kType = MessageType::close_segment;
  ControlHeader header;
  std::uint32_t segment = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(CloseSegment) == 24);

struct SegmentRegions {
  static constexpr MessageType kType = MessageType::segment_regions;
  ControlHeader header;
  std::uint32_t segment = 0;
  std::uint32_t first = 0;  // in order of base
};
static_assert(sizeof(SegmentRegions) == 24);

struct RegionRow {
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  std::uint32_t access = 0;  // RegionAccess that the asker has
  std::uint32_t reserved = 0;
};
static_assert(sizeof(RegionRow) == 24);
inline constexpr std::uint32_t kRegionRows = 64;

struct SegmentRegionsReply {
  static constexpr MessageType kType = MessageType::segment_regions_reply;
  ControlHeader header;
  StatusCode status{};
  std::uint16_t reserved = 0;
  std::uint32_t total = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  RegionRow rows[kRegionRows] = {};
};
static_assert(sizeof(SegmentRegionsReply) == 16 + 16 + 24 * kRegionRows);

struct Notification {
  static constexpr MessageType kType = MessageType::notification;
  ControlHeader header;
  std::uint64_t sender_incarnation = 0;
  std::uint64_t serial = 0;       // (sender, serial) repeats after a daemon's restart
  std::uint64_t lost_before = 0;  // notifications to this client dropped so far, in all
  NameText sender;                // empty when the sender is anonymous
  std::uint16_t name_bytes = 0;
  std::uint16_t message_bytes = 0;
  std::uint32_t reserved = 0;
  std::array<char, kMaxNotifyNameBytes + kMaxNotifyMessageBytes> payload{};  // name, then message
};
static_assert(sizeof(Notification) == 16 + 24 + 64 + 8 + 64 + 4096);

struct DaemonNotice {
  static constexpr MessageType kType = MessageType::daemon_notice;
  ControlHeader header;
  DaemonState state{};
  std::uint32_t reserved = 0;
  Text<256> text;
};
static_assert(sizeof(DaemonNotice) == 16 + 8 + 256);

enum class QueryKind : std::uint32_t {
  status = 1,
  queue = 2,
  clients = 3,
  segments = 4,
  lanes = 5,
  owners = 6,
  explain = 7,
  errors = 8,
  peers = 9,
};

struct Query {
  static constexpr MessageType kType = MessageType::query;
  ControlHeader header;
  QueryKind kind{};
  std::uint32_t reserved = 0;
  // `key=value` words separated by spaces, e.g. "by=client" or "owner=42"; empty = none.
  Text<256> argument;
};
static_assert(sizeof(Query) == 16 + 8 + 256);

struct QueryReply {
  static constexpr MessageType kType = MessageType::query_reply;
  ControlHeader header;
  StatusCode status{};
  std::uint16_t reserved[3] = {};
  std::uint64_t document_bytes = 0;  // of the JSON text in the fd
  Text<256> text;                    // when not ok
};
static_assert(sizeof(QueryReply) == 16 + 16 + 256);

enum class CommandKind : std::uint32_t { drain = 1, resume = 2, set = 3 };

struct Command {
  static constexpr MessageType kType = MessageType::command;
  ControlHeader header;
  CommandKind kind{};
  std::uint32_t reserved = 0;
  Text<256> argument;  // of `set`: KEY=VALUE
};
static_assert(sizeof(Command) == 16 + 8 + 256);

struct CommandReply {
  static constexpr MessageType kType = MessageType::command_reply;
  ControlHeader header;
  StatusCode status{};
  std::uint16_t reserved[3] = {};
  Text<512> text;
};
static_assert(sizeof(CommandReply) == 16 + 8 + 512);

struct Goodbye {
  static constexpr MessageType kType = MessageType::goodbye;
  ControlHeader header;
};

inline constexpr std::size_t kLargestMessage = sizeof(Notification);

// A message with its header filled in.
template <class Message>
Message make_message(std::uint64_t request = 0) {
  static_assert(std::is_trivially_copyable_v<Message> &&
                std::has_unique_object_representations_v<ControlHeader>);
  Message message{};
  message.header.type = Message::kType;
  message.header.bytes = sizeof(Message);
  message.header.request = request;
  return message;
}

}  // namespace tentq
