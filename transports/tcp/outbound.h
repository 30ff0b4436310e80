// What one connection still has to send, as a machine without a socket: heads without payload, and
// one chunk's head with its payload. A message is never broken into by another; heads that wait go
// first. Under the connection's lock.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "transports/tcp/heads.h"
#include "transports/tcp/tcp_chunk.h"

namespace tentq {

class Outbound {
 public:
  using Parts = std::array<iovec, 3>;

  // A head without payload.
  template <class Head>
  void push(const Head& head) {
    static_assert(sizeof(Head) <= kMostHeadBytes);
    append(&head, sizeof head);
  }
  // The next chunk; there is none now. Its payload, chunk.length bytes from chunk.local, is read
  // from here on, until the chunk comes back from advance() or drop_current().
  template <class Head>
  void begin(TcpChunk* chunk, const Head& head) {
    static_assert(sizeof(Head) <= kMostHeadBytes);
    set_current(chunk, &head, sizeof head);
  }

  TcpChunk* current() const { return current_; }
  // Takes the current chunk back, of which nothing was sent.
  void drop_current();
  bool idle() const { return current_ == nullptr && heads_.empty(); }
  std::size_t waiting_head_bytes() const { return heads_.size() - heads_sent_; }

  // What to send next: how many parts, at least one unless idle, with at most `most` (at least 1)
  // bytes of payload.
  std::size_t gather(Parts* parts, std::size_t most) const;
  // The socket took the first `bytes` of that. The chunk whose last byte this was, or null.
  TcpChunk* advance(std::size_t bytes);

 private:
  void append(const void* head, std::size_t bytes);
  void set_current(TcpChunk* chunk, const void* head, std::size_t bytes);
  std::size_t advance_heads(std::size_t bytes);
  std::size_t current_left() const { return current_total_ - current_sent_; }

  std::vector<std::byte> heads_;
  std::size_t heads_sent_ = 0;
  TcpChunk* current_ = nullptr;
  std::array<std::byte, kMostHeadBytes> current_head_;
  std::size_t current_head_bytes_ = 0;
  std::uint64_t current_total_ = 0;  // head and payload
  std::uint64_t current_sent_ = 0;
};

}  // namespace tentq
