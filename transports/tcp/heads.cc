// See heads.h.
#include "transports/tcp/heads.h"

#include <algorithm>
#include <limits>

namespace tentq {
namespace {

template <class Words>
bool all_zero(const Words& words) {
  return std::all_of(std::begin(words), std::end(words), [](auto word) { return word == 0; });
}

std::string_view fault_of_range(std::uint64_t offset, std::uint64_t length,
                                std::uint64_t most_length) {
  if (length == 0) return "a range without a length";
  if (length > most_length) return "a length over most_length";
  if (length > std::numeric_limits<std::uint64_t>::max() - offset) return "a range that wraps";
  return {};
}

std::string_view fault_of_checksum(std::uint32_t flags, std::uint32_t checksum) {
  if ((flags & ~kPayloadChecksum) != 0) return "unknown flags";
  if (flags == 0 && checksum != 0) return "a checksum without its flag";
  return {};
}

}  // namespace

std::size_t head_bytes(const PeerHeader& header, TcpSide side) {
  const bool answer = header.type == PeerMessageType::done || header.type == PeerMessageType::data;
  const std::uint32_t bytes = peer_head_bytes(header.type);
  return answer == (side == TcpSide::dialer) && header.bytes == bytes ? bytes : 0;
}

std::string_view fault_of(const PeerWrite& head, std::uint64_t most_length) {
  const std::string_view fault = fault_of_range(head.offset, head.length, most_length);
  return fault.empty() ? fault_of_checksum(head.flags, head.checksum) : fault;
}

std::string_view fault_of(const PeerRead& head, std::uint64_t most_length) {
  if (!all_zero(head.reserved)) return "a reserved field that is not 0";
  if (index_of(head.cls) >= kMaxClasses) return "an unknown class";
  return fault_of_range(head.offset, head.length, most_length);
}

std::string_view fault_of(const PeerDone& head) {
  return all_zero(head.reserved) ? std::string_view{} : "a reserved field that is not 0";
}

std::string_view fault_of(const PeerData& head) {
  if (!all_zero(head.reserved)) return "a reserved field that is not 0";
  if ((head.length == 0) != (head.reason != Reason::none)) return "a DATA without length or reason";
  if (head.length == 0 && (head.flags != 0 || head.checksum != 0)) return "a checksum of nothing";
  return fault_of_checksum(head.flags, head.checksum);
}

Reason known_reason(Reason reason) {
  return static_cast<std::uint16_t>(reason) < kReasonCount ? reason : Reason::transport_error;
}

}  // namespace tentq
