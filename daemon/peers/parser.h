// Bytes of a control connection into checked messages. Pure: it is given bytes as they come, in
// pieces of any size, and never believes a length beyond its own table of sizes.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "daemon/peers/peer_message.h"

namespace tentq {

class PeerParser {
 public:
  enum class Step { more, message, broken };

  // Where the next bytes go; never empty after next() answered `more`.
  std::span<std::byte> room();
  // So many bytes were put there.
  void added(std::size_t bytes);
  // The next message into *message; or more bytes are needed; or what came is none, and why() says
  // so: then nothing that follows means anything.
  Step next(PeerMessage* message);

  // What came first is TLS, which is spoken instead of messages and not under them.
  bool is_tls() const { return is_tls_; }
  bool empty() const { return begin_ == end_; }
  const std::string& why() const { return why_; }

 private:
  Step broken(const std::string& why);

  // Twice the longest message: there is always room behind an incomplete one that was moved down.
  std::array<std::byte, 2 * sizeof(PeerNotify)> bytes_{};
  std::size_t begin_ = 0;  // not yet taken
  std::size_t end_ = 0;    // filled
  bool took_any_ = false;
  bool is_tls_ = false;
  std::string why_;  // not empty: broken
};

}  // namespace tentq
