// Between OpenSSL and a socket: what is to be sent is gathered, so that a system call takes many
// records, and what is received before the other side is known is bounded. One thread at a time.
#pragma once

#include <openssl/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tentq {

class TlsWire {
 public:
  // Records that OpenSSL makes by itself (alerts, answers to new keys) may wait beside so many.
  static constexpr std::size_t kGathered = 128u << 10;
  // Most that is taken from somebody who is not known yet.
  static constexpr std::size_t kMostBeforeProof = 128u << 10;

  explicit TlsWire(int fd) : fd_(fd) {}
  TlsWire(const TlsWire&) = delete;
  TlsWire& operator=(const TlsWire&) = delete;

  // An end for OpenSSL, which owns it from then on; null: no memory. This outlives it.
  BIO* make_end();

  // Sends what was gathered: true when nothing is left. False with the errno in error(): EAGAIN
  // when the socket takes no more now.
  bool flush();
  std::size_t unsent() const { return out_.size() - sent_; }
  // Plain bytes, in the place of what was gathered.
  void replace(const void* bytes, std::size_t size);

  // The other side is known: what comes is not counted any more.
  void trust() { trusted_ = true; }
  bool ended() const { return ended_; }      // by the other side
  bool flooded() const { return flooded_; }  // more than kMostBeforeProof came
  int error() const { return error_; }       // of the socket; 0: none
  // What came first, as far as it did.
  const std::array<unsigned char, 8>& beginning() const { return beginning_; }
  bool got_anything() const { return received_ != 0; }

 private:
  struct Calls;
  int receive(BIO* end, char* to, int size);
  int gather(const char* bytes, int size);

  const int fd_;
  std::vector<char> out_;
  std::size_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::array<unsigned char, 8> beginning_{};
  bool trusted_ = false;
  bool ended_ = false;
  bool flooded_ = false;
  int error_ = 0;
};

}  // namespace tentq
