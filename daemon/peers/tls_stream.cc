// Bytes through TLS. See tls_stream.h; the handshake is in tls_stream_handshake.cc.
#include "daemon/peers/tls_stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cerrno>

#include "daemon/peers/tls_faults.h"
#include "proto/check.h"
#include "transports/shm/guarded_copy.h"

namespace tentq {
namespace {

constexpr std::size_t kRecordBytes = SSL3_RT_MAX_PLAIN_LENGTH;

ssize_t failed_with(int error) {
  errno = error;
  return -1;
}

bool copied(void* to, const void* from, std::size_t bytes) {
  return guarded_copy(CopyRoutine::libc, static_cast<std::byte*>(to),
                      static_cast<const std::byte*>(from), bytes);
}

}  // namespace

void TlsStream::Free::operator()(SSL* ssl) const {
  SSL_free(ssl);
}

TlsStream::TlsStream(std::shared_ptr<const TlsTerms> terms, int fd, std::string dialed)
    : terms_(std::move(terms)), dialed_(std::move(dialed)), wire_(fd) {}

TlsStream::~TlsStream() = default;

bool TlsStream::flush() {
  return wire_.flush() || wire_.error() != EAGAIN;
}

ssize_t TlsStream::broken(int result) {
  const int error = SSL_get_error(ssl_.get(), result);
  if (wire_.error() != 0 && wire_.error() != EAGAIN) {
    fault_ = {PeerReason::closed, "the connection broke"};
    ERR_clear_error();
    return failed_with(wire_.error());
  }
  fault_ = tls_fault(error, ERR_peek_error());
  ERR_clear_error();
  return failed_with(EPROTO);
}

bool TlsStream::stage(const iovec& from, std::size_t offset, std::size_t* staged) {
  const std::size_t bytes = std::min(from.iov_len - offset, kRecordBytes - *staged);
  if (!copied(sealing_.get() + *staged, static_cast<const std::byte*>(from.iov_base) + offset,
              bytes)) {
    return false;
  }
  *staged += bytes;
  return true;
}

bool TlsStream::seal(std::size_t staged) {
  ERR_clear_error();
  if (sealed_bytes_ >= new_keys_after_) {
    sealed_bytes_ = 0;
    if (SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1) return false;
  }
  std::size_t written = 0;
  if (SSL_write_ex(ssl_.get(), sealing_.get(), staged, &written) != 1) return false;
  TENTQ_CHECK(written == staged);
  sealed_bytes_ += written;
  return true;
}

ssize_t TlsStream::send(std::span<const iovec> parts) {
  if (!sealing_) sealing_ = std::make_unique<std::byte[]>(kRecordBytes);
  std::size_t taken = 0;
  std::size_t part = 0;
  std::size_t offset = 0;
  while (part < parts.size()) {
    if (wire_.unsent() >= TlsWire::kGathered && !wire_.flush()) break;
    std::size_t staged = 0;
    bool gone = false;
    while (part < parts.size() && staged < kRecordBytes && !gone) {
      const std::size_t before = staged;
      gone = !stage(parts[part], offset, &staged);
      offset += staged - before;
      if (!gone && offset == parts[part].iov_len) {
        ++part;
        offset = 0;
      }
    }
    // What lies before memory that is gone is not sent either: then nothing was begun.
    if (gone) return taken > 0 ? static_cast<ssize_t>(taken) : failed_with(EFAULT);
    if (staged > 0 && !seal(staged)) return broken(0);
    taken += staged;
  }
  const bool flushed = wire_.flush();
  if (!flushed && wire_.error() != EAGAIN) {
    fault_ = {PeerReason::closed, "the connection broke"};
    return failed_with(wire_.error());
  }
  if (taken == 0 && !flushed) return failed_with(EAGAIN);
  return static_cast<ssize_t>(taken);
}

ssize_t TlsStream::receive(std::span<const iovec> parts) {
  if (!opened_) opened_ = std::make_unique<std::byte[]>(kRecordBytes);
  drained_ = false;
  std::size_t put = 0;
  for (const iovec& part : parts) {
    for (std::size_t offset = 0; offset < part.iov_len;) {
      if (opened_begin_ == opened_end_) {
        ERR_clear_error();
        std::size_t got = 0;
        const int result = SSL_read_ex(ssl_.get(), opened_.get(), kRecordBytes, &got);
        opened_begin_ = 0;
        opened_end_ = result == 1 ? got : 0;
        if (result != 1) {
          const int error = SSL_get_error(ssl_.get(), result);
          drained_ = error == SSL_ERROR_WANT_READ;
          if (put > 0) return static_cast<ssize_t>(put);
          if (drained_) return failed_with(EAGAIN);
          if (error == SSL_ERROR_ZERO_RETURN || wire_.ended()) return 0;
          return broken(result);
        }
      }
      const std::size_t bytes = std::min(part.iov_len - offset, opened_end_ - opened_begin_);
      if (!copied(static_cast<std::byte*>(part.iov_base) + offset, opened_.get() + opened_begin_,
                  bytes)) {
        return put > 0 ? static_cast<ssize_t>(put) : failed_with(EFAULT);
      }
      opened_begin_ += bytes;
      offset += bytes;
      put += bytes;
    }
  }
  return static_cast<ssize_t>(put);
}

}  // namespace tentq
