// See inbound.h.
#include "transports/tcp/inbound.h"

#include <algorithm>

#include "proto/check.h"

namespace tentq {

std::size_t Inbound::needed() const {
  if (filled_ < sizeof(PeerHeader)) return least_head_bytes(side_);
  return head_bytes(copy_head<PeerHeader>(head_), side_);
}

PeerMessageType Inbound::head_type() const {
  return copy_head<PeerHeader>(head_).type;
}

std::size_t Inbound::want(Parts* parts, std::span<std::byte> waste, std::size_t most) {
  std::size_t count = 0;
  if (payload_) {
    std::uint64_t bytes = std::min<std::uint64_t>(left_, most);
    if (to_ == nullptr) bytes = std::min<std::uint64_t>(bytes, waste.size());
    (*parts)[count++] = {to_ == nullptr ? waste.data() : to_, bytes};
    if (bytes < left_) return count;
  }
  // Behind a payload the next head comes along without a call of its own.
  TENTQ_CHECK(filled_ < needed());
  (*parts)[count++] = {head_.data() + filled_, needed() - filled_};
  return count;
}

std::span<const std::byte> Inbound::got(std::size_t bytes) {
  std::span<const std::byte> piece;
  if (payload_) {
    const std::uint64_t taken = std::min<std::uint64_t>(bytes, left_);
    left_ -= taken;
    bytes -= taken;
    if (to_ != nullptr) {
      piece = {to_, taken};
      to_ += taken;
    }
  }
  filled_ += bytes;
  TENTQ_CHECK(filled_ <= head_.size());
  return piece;
}

void Inbound::start_payload(std::byte* to, std::uint64_t length) {
  TENTQ_CHECK(!payload_);
  payload_ = true;
  to_ = to;
  left_ = length;
}

}  // namespace tentq
