// Cutting a stream of bytes into messages. See parser.h.
#include "daemon/peers/parser.h"

#include <cstring>

#include "daemon/peers/reason.h"
#include "daemon/peers/tls_faults.h"
#include "proto/check.h"

namespace tentq {

std::span<std::byte> PeerParser::room() {
  if (begin_ > 0) {
    std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  return std::span(bytes_).subspan(end_);
}

void PeerParser::added(std::size_t bytes) {
  TENTQ_CHECK(bytes <= bytes_.size() - end_);
  end_ += bytes;
}

PeerParser::Step PeerParser::next(PeerMessage* message) {
  if (!why_.empty()) return Step::broken;
  if (end_ - begin_ < sizeof(PeerHeader)) return Step::more;
  PeerHeader header;
  std::memcpy(&header, bytes_.data() + begin_, sizeof(header));
  const std::uint32_t size = peer_message_bytes(header.type);
  is_tls_ = !took_any_ && ::tentq::is_tls(static_cast<unsigned char>(bytes_[begin_]),
                                          static_cast<unsigned char>(bytes_[begin_ + 1]));
  if (is_tls_) return broken("TLS; " + std::string(remedy(PeerReason::auth_mismatch)));
  const std::string type = "type " + std::to_string(static_cast<std::uint32_t>(header.type));
  if (size == 0) return broken("a message of the unknown " + type);
  if (header.bytes != size) {
    return broken("a message of " + type + " with " + std::to_string(header.bytes) +
                  " bytes instead of " + std::to_string(size));
  }
  if (end_ - begin_ < size) return Step::more;
  TENTQ_CHECK(copy_message(header.type, bytes_.data() + begin_, size, message));
  const std::string fault = fault_of(*message);
  if (!fault.empty()) return broken("a message of " + type + ": " + fault);
  begin_ += size;
  took_any_ = true;
  return Step::message;
}

PeerParser::Step PeerParser::broken(const std::string& why) {
  why_ = why;
  return Step::broken;
}

}  // namespace tentq
