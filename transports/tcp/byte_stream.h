// The seam for what lies between a connection and its socket: encryption. A connection without one
// uses the socket itself. The connection's thread alone; sizes in bytes.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <span>

namespace tentq {

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Like sendmsg() on a socket that does not block: how many bytes of the parts were taken, from
  // the first on; they are not read again. -1 with errno: EAGAIN when the socket has to become
  // writable first; EFAULT when memory of the parts is gone, and nothing was taken. Without parts:
  // sends what it holds, and answers 0 when that is nothing more.
  virtual ssize_t send(std::span<const iovec> parts) = 0;
  // Like recvmsg(): how many bytes were put, 0 when the peer has closed. -1 with errno: EAGAIN when
  // the socket has to become readable first; EFAULT when memory of the parts is gone: nothing was
  // put, and what belongs there comes again.
  virtual ssize_t receive(std::span<const iovec> parts) = 0;
  // Whether it took bytes that the socket has not.
  virtual bool holds_output() const = 0;
  // Whether receive() may find something though the socket has nothing to read.
  virtual bool may_hold_input() const = 0;
};

}  // namespace tentq
