// One TLS 1.3 connection over a socket that is somebody else's: the handshake in steps, then bytes
// both ways. Memory of clients is touched under the guard only, and by way of a buffer of one
// record: OpenSSL never sees memory that can go away. One thread at a time; sizes in bytes.
#pragma once

#include <openssl/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/peers/handshake.h"
#include "daemon/peers/tls_terms.h"
#include "daemon/peers/tls_wire.h"
#include "transports/tcp/byte_stream.h"

namespace tentq {

class TlsStream final : public ByteStream {
 public:
  enum class Step { done, reads, writes, failed };
  // After so many bytes the sender takes new keys: AES-GCM has a limit, at about six times that.
  static constexpr std::uint64_t kNewKeysAfter = std::uint64_t{64} << 30;

  // Dials when `dialed` is not empty, the name or address that the other side's certificate must
  // have; else accepts. `fd` does not block, and outlives this.
  TlsStream(std::shared_ptr<const TlsTerms> terms, int fd, std::string dialed);
  ~TlsStream() override;
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // Goes on with the handshake as far as the socket lets it: then the socket has to become readable
  // or writable. `done`: the other side is known and may come in. `failed`: fault() says why, and
  // flush() may still have to tell the other side.
  Step shake_hands();
  // After `failed`, or when send() or receive() answered EPROTO.
  const HandshakeFault& fault() const { return fault_; }
  // True when nothing is left to be sent, or it cannot be.
  bool flush();

  // After `done`. The name of the other side, out of its certificate.
  const std::string& peer_name() const { return peer_name_; }
  const std::string& dialed() const { return dialed_; }

  // Errors besides those of ByteStream: EPROTO for what breaks TLS, and those of the socket. None
  // can be continued after.
  ssize_t send(std::span<const iovec> parts) override;
  ssize_t receive(std::span<const iovec> parts) override;
  bool holds_output() const override { return wire_.unsent() > 0; }
  bool may_hold_input() const override { return !drained_; }

  // For tests: new keys after so many bytes.
  void take_new_keys_after(std::uint64_t bytes) { new_keys_after_ = bytes; }

 private:
  friend struct TlsVerification;
  struct Free {
    void operator()(SSL* ssl) const;
  };

  bool begin();
  Step finish();
  Step fail(HandshakeFault fault);
  HandshakeFault handshake_fault();
  // The plain message that tells a tentqd without TLS what is wrong, or nothing.
  void refuse();
  // -1, with errno: `broken` is an error of TLS or of the socket.
  ssize_t broken(int result);
  // The rest of `from` that fits into the record's buffer. False: its memory is gone.
  bool stage(const iovec& from, std::size_t offset, std::size_t* staged);
  bool seal(std::size_t staged);

  const std::shared_ptr<const TlsTerms> terms_;
  const std::string dialed_;
  TlsWire wire_;
  std::unique_ptr<SSL, Free> ssl_;  // before the wire goes
  std::string peer_name_;
  std::string bad_certificate_;  // names of one that was not believed
  HandshakeFault fault_;
  std::unique_ptr<std::byte[]> sealing_;  // a record of what is sent
  std::unique_ptr<std::byte[]> opened_;   // a record of what came
  std::size_t opened_begin_ = 0;
  std::size_t opened_end_ = 0;
  std::uint64_t new_keys_after_ = kNewKeysAfter;
  std::uint64_t sealed_bytes_ = 0;  // with the present keys
  bool established_ = false;
  bool drained_ = false;  // the last receive() ended because the socket had nothing
};

}  // namespace tentq
