// See tls_wire.h.
#include "daemon/peers/tls_wire.h"

#include <openssl/bio.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tentq {
namespace {

// Beyond kGathered: a peer that asks for answers and reads none.
constexpr std::size_t kMostGathered = 2 * TlsWire::kGathered;

}  // namespace

// What OpenSSL calls.
struct TlsWire::Calls {
  static TlsWire* of(BIO* end) { return static_cast<TlsWire*>(BIO_get_data(end)); }
  static int read(BIO* end, char* to, int size) { return of(end)->receive(end, to, size); }
  static int write(BIO* end, const char* bytes, int size) {
    BIO_clear_retry_flags(end);
    return of(end)->gather(bytes, size);
  }
  static long control(BIO* end, int command, long, void*) {
    if (command == BIO_CTRL_EOF) return of(end)->ended_ ? 1 : 0;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }
  static int create(BIO* end) {
    BIO_set_init(end, 1);
    return 1;
  }

  static const BIO_METHOD* method() {
    static const BIO_METHOD* const made = [] {
      BIO_METHOD* const fresh = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tentq");
      if (fresh == nullptr) return fresh;
      BIO_meth_set_read(fresh, read);
      BIO_meth_set_write(fresh, write);
      BIO_meth_set_ctrl(fresh, control);
      BIO_meth_set_create(fresh, create);
      return fresh;
    }();
    return made;
  }
};

BIO* TlsWire::make_end() {
  BIO* const end = Calls::method() == nullptr ? nullptr : BIO_new(Calls::method());
  if (end != nullptr) BIO_set_data(end, this);
  return end;
}

int TlsWire::receive(BIO* end, char* to, int size) {
  BIO_clear_retry_flags(end);
  if (!trusted_ && received_ >= kMostBeforeProof) {
    flooded_ = true;
    return -1;
  }
  const ssize_t got = ::recv(fd_, to, static_cast<std::size_t>(size), MSG_DONTWAIT);
  if (got == 0) ended_ = true;
  if (got < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
      BIO_set_retry_read(end);
    } else {
      error_ = errno;
    }
  }
  if (got <= 0) return static_cast<int>(got);
  if (received_ < beginning_.size()) {
    const auto room = beginning_.size() - static_cast<std::size_t>(received_);
    std::memcpy(beginning_.data() + received_, to, std::min(room, static_cast<std::size_t>(got)));
  }
  received_ += static_cast<std::uint64_t>(got);
  return static_cast<int>(got);
}

int TlsWire::gather(const char* bytes, int size) {
  if (unsent() > kMostGathered) {
    error_ = ENOBUFS;
    return -1;
  }
  out_.insert(out_.end(), bytes, bytes + size);
  return size;
}

void TlsWire::replace(const void* bytes, std::size_t size) {
  const char* const first = static_cast<const char*>(bytes);
  out_.assign(first, first + size);
  sent_ = 0;
}

bool TlsWire::flush() {
  while (unsent() > 0) {
    const ssize_t sent = ::send(fd_, out_.data() + sent_, unsent(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      error_ = errno == EWOULDBLOCK ? EAGAIN : errno;
      return false;
    }
    sent_ += static_cast<std::size_t>(sent);
  }
  out_.clear();
  sent_ = 0;
  return true;
}

}  // namespace tentq
