// Parsing of control packets. See messages.h.
#include "daemon/messages.h"

#include <cstring>

namespace tentq {

namespace {

bool texts_end(const Hello& m) {
  return m.name.terminated();
}
bool texts_end(const RegisterRegion& m) {
  return m.scope_name.terminated();
}
bool texts_end(const OpenSegment& m) {
  return m.name.terminated();
}
bool texts_end(const Query& m) {
  return m.argument.terminated();
}
bool texts_end(const Command& m) {
  return m.argument.terminated();
}
template <class Message>
bool texts_end(const Message&) {
  return true;
}

template <class Message>
std::optional<ClientMessage> take(std::span<const std::byte> packet) {
  if (packet.size() != sizeof(Message)) return std::nullopt;
  Message message;
  std::memcpy(&message, packet.data(), sizeof message);
  if (message.header.bytes != sizeof message || !texts_end(message)) return std::nullopt;
  return message;
}

}  // namespace

std::optional<ClientMessage> parse_message(std::span<const std::byte> packet) {
  if (packet.size() < sizeof(ControlHeader)) return std::nullopt;
  ControlHeader header;
  std::memcpy(&header, packet.data(), sizeof header);
  switch (header.type) {
    case MessageType::hello: return take<Hello>(packet);
    case MessageType::mapped: return take<Mapped>(packet);
    case MessageType::register_region: return take<RegisterRegion>(packet);
    case MessageType::unregister_region: return take<UnregisterRegion>(packet);
    case MessageType::open_segment: return take<OpenSegment>(packet);
    case MessageType::close_segment: return take<CloseSegment>(packet);
    case MessageType::segment_regions: return take<SegmentRegions>(packet);
    case MessageType::query: return take<Query>(packet);
    case MessageType::command: return take<Command>(packet);
    case MessageType::goodbye: return take<Goodbye>(packet);
    case MessageType::welcome:
    case MessageType::refused:
    case MessageType::region_progress:
    case MessageType::region_reply:
    case MessageType::done:
    case MessageType::segment_reply:
    case MessageType::segment_regions_reply:
    case MessageType::notification:
    case MessageType::daemon_notice:
    case MessageType::query_reply:
    case MessageType::command_reply: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace tentq
