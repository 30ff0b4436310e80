// What every message from another daemon must fulfil. See peer_message.h.
#include <algorithm>
#include <cstring>
#include <limits>

#include "daemon/config/peer_address.h"
#include "daemon/peers/peer_message.h"
#include "proto/classes.h"

namespace tentq {
namespace {

constexpr std::uint32_t kMostDataConnections = 1024;

bool is_known(StatusCode code) {
  return static_cast<std::uint16_t>(code) < kStatusCodeCount;
}
bool is_known(Reason reason) {
  return static_cast<std::uint16_t>(reason) < kReasonCount;
}
bool is_known(CreditPool pool) {
  return pool == CreditPool::user || pool == CreditPool::internal;
}
bool is_zero(const std::uint16_t (&reserved)[3]) {
  return std::all_of(std::begin(reserved), std::end(reserved), [](auto word) { return word == 0; });
}
// Whether nothing but zeros lies there.
template <class T>
bool is_zero_from(const T* first, const T* last) {
  const auto* bytes = reinterpret_cast<const std::byte*>(first);
  return std::all_of(bytes, reinterpret_cast<const std::byte*>(last),
                     [](std::byte byte) { return byte == std::byte{0}; });
}
// An optional answer's text: terminated, whatever it says.
template <std::size_t N>
bool is_text(const Text<N>& text) {
  return text.terminated();
}

const char* fault(const PeerHello& m) {
  if (m.magic != kPeerMagic) return "it is not a tentq daemon";
  // The rest of another major version may mean something else; the handshake refuses it.
  if (m.major != kPeerMajor) return "";
  if (m.role != PeerRole::control && m.role != PeerRole::data) return "an unknown role";
  // A later minor version may have given them a meaning.
  if (m.minor <= kPeerMinor && (m.reserved0 != 0 || m.reserved1 != 0)) return "reserved is set";
  if (m.host == HostId{}) return "no host id";
  if (m.epoch_counter == 0 || m.link == 0) return "no epoch or no link";
  if ((m.role == PeerRole::data) != (m.connection != 0)) return "a wrong connection number";
  if (!is_text(m.advertised)) return "a text without an end";
  const auto advertised = m.advertised.view();
  if (!advertised.empty() && !parse_peer_address(advertised)) return "a malformed address";
  return "";
}
const char* fault(const PeerProof&) {
  return "";
}
const char* fault(const PeerReady& m) {
  if (m.highest_class == 0 || m.highest_class >= kClassCount) return "an unknown class";
  if (m.data_connections == 0 || m.data_connections > kMostDataConnections) {
    return "an impossible number of data connections";
  }
  return m.most_length == 0 ? "no length is allowed" : "";
}
const char* fault(const PeerRefused& m) {
  if (!is_known(m.status) || m.status == StatusCode::ok) return "an unknown status";
  if (!is_zero(m.reserved)) return "reserved is set";
  return is_text(m.text) ? "" : "a text without an end";
}
const char* fault(const PeerPing&) {
  return "";
}
const char* fault(const PeerPong&) {
  return "";
}
const char* fault(const PeerOpenSegment& m) {
  return is_text(m.name) && is_valid_name(m.name.view()) ? "" : "a malformed name";
}
const char* fault(const PeerSegment& m) {
  if (!is_known(m.status)) return "an unknown status";
  if (!is_zero(m.reserved)) return "reserved is set";
  if (!is_text(m.text)) return "a text without an end";
  return m.status == StatusCode::ok && m.segment == 0 ? "no handle" : "";
}
const char* fault(const PeerCloseSegment& m) {
  return m.segment == 0 ? "no handle" : "";
}
const char* fault(const PeerListRegions& m) {
  if (m.segment == 0) return "no handle";
  return m.reserved == 0 ? "" : "reserved is set";
}
const char* fault(const PeerRegions& m) {
  if (!is_known(m.status)) return "an unknown status";
  if (m.reserved != 0) return "reserved is set";
  if (m.count > kRegionRows) return "too many rows";
  // A page behind the last row has none.
  if (m.count != 0 && std::uint64_t{m.first} + m.count > m.total) return "more rows than there are";
  for (std::uint32_t i = 0; i < m.count; ++i) {
    const RegionRow& row = m.rows[i];
    if (row.access > static_cast<std::uint32_t>(RegionAccess::read_write)) {
      return "an unknown access";
    }
    if (row.reserved != 0) return "reserved is set";
    if (row.size == 0 || row.size - 1 > std::numeric_limits<std::uint64_t>::max() - row.base) {
      return "an impossible region";
    }
    if (i > 0 && row.base < m.rows[i - 1].base) return "regions out of order";
  }
  return is_zero_from(m.rows + m.count, std::end(m.rows)) ? "" : "more than the rows it counts";
}
const char* fault(const PeerNotify& m) {
  if (m.segment == 0) return "no handle";
  if (!is_text(m.sender)) return "a text without an end";
  if (!m.sender.view().empty() && !is_valid_name(m.sender.view())) return "a malformed name";
  if (m.name_bytes > kMaxNotifyNameBytes || m.message_bytes > kMaxNotifyMessageBytes) {
    return "too long a notification";
  }
  if (m.reserved != 0) return "reserved is set";
  const char* end = m.payload.data() + m.name_bytes + m.message_bytes;
  return is_zero_from(end, m.payload.data() + m.payload.size()) ? "" : "more than it counts";
}
const char* fault(const PeerNotified& m) {
  if (m.state != TaskState::completed && m.state != TaskState::failed) return "an unknown state";
  if (!is_known(m.reason)) return "an unknown reason";
  return m.reserved0 == 0 && m.reserved1 == 0 ? "" : "reserved is set";
}
const char* fault(const PeerFence& m) {
  return m.connection == 0 ? "no connection" : "";
}
const char* fault(const PeerFenced& m) {
  return m.connection == 0 ? "no connection" : "";
}
const char* fault(const PeerDemand& m) {
  if (!is_known(m.pool)) return "an unknown pool";
  if (m.uplink_busy > 1) return "neither busy nor not";
  return m.freed <= m.sent ? "" : "more freed than sent";
}
const char* fault(const PeerGrant& m) {
  return is_known(m.pool) ? "" : "an unknown pool";
}

template <std::size_t I = 0>
bool copy_as(PeerMessageType type, const std::byte* bytes, std::size_t size, PeerMessage* message) {
  if constexpr (I == std::variant_size_v<PeerMessage>) {
    return false;
  } else {
    using Message = std::variant_alternative_t<I, PeerMessage>;
    static_assert(std::is_trivially_copyable_v<Message>);
    if (Message::kType != type) return copy_as<I + 1>(type, bytes, size, message);
    if (size != sizeof(Message)) return false;
    std::memcpy(&message->emplace<Message>(), bytes, sizeof(Message));
    return true;
  }
}

}  // namespace

std::string fault_of(const PeerMessage& message) {
  return std::visit([](const auto& m) { return std::string(fault(m)); }, message);
}

bool copy_message(PeerMessageType type, const std::byte* bytes, std::size_t size,
                  PeerMessage* message) {
  return copy_as(type, bytes, size, message);
}

}  // namespace tentq
