// What arrives on one connection, as a machine without a socket: a head, its payload, a head … It
// says where the next bytes go: a head into its buffer, a payload to where it belongs. One thread.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transports/tcp/heads.h"

namespace tentq {

class Inbound {
 public:
  using Parts = std::array<iovec, 2>;
  explicit Inbound(TcpSide side) : side_(side) {}

  // Where to receive next: how many parts, at least one, with at most `most` (at least 1) bytes of
  // payload. A payload that nobody wants goes to `waste`, again and again. Before: no payload is
  // complete, no head is.
  std::size_t want(Parts* parts, std::span<std::byte> waste, std::size_t most);
  // The socket filled the first `bytes` of that. What of it is wanted payload.
  std::span<const std::byte> got(std::size_t bytes);

  bool in_payload() const { return payload_; }
  bool payload_complete() const { return payload_ && left_ == 0; }
  // `to` null: it is thrown away.
  void start_payload(std::byte* to, std::uint64_t length);
  // The rest of the payload is thrown away: its memory is gone.
  void waste_rest() { to_ = nullptr; }
  bool wasted() const { return to_ == nullptr; }
  void end_payload() { payload_ = false; }

  // No message of this side begins like what came.
  bool head_is_foreign() const { return needed() == 0; }
  bool head_complete() const { return !head_is_foreign() && filled_ == needed(); }
  PeerMessageType head_type() const;
  std::span<const std::byte> head() const { return {head_.data(), filled_}; }
  void end_head() { filled_ = 0; }

  // A message has come in part.
  bool midway() const { return payload_ || filled_ != 0; }

 private:
  std::size_t needed() const;

  const TcpSide side_;
  std::array<std::byte, kMostHeadBytes> head_;
  std::size_t filled_ = 0;
  bool payload_ = false;
  std::byte* to_ = nullptr;
  std::uint64_t left_ = 0;
};

}  // namespace tentq
