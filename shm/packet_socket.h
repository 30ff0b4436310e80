// Unix SOCK_SEQPACKET sockets with fds beside the packets. Blocking only where the name says so.
// Errors are errno values; 0 is success.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shm/fd.h"

namespace tentq::shm {

inline constexpr std::size_t kMaxPacketFds = 4;

struct ReceivedPacket {
  std::size_t bytes = 0;              // 0 with error 0: the other end closed
  std::array<Fd, kMaxPacketFds> fds;  // the first fd_count are valid; surplus ones were closed
  std::size_t fd_count = 0;
  bool truncated = false;  // longer than the buffer, or with more fds than allowed
};

// Listens at `path` (non-blocking, backlog 128): binds beside it and renames over it, so that a
// stale socket never blocks a start; `mode` and `gid` (−1: unchanged) are set before the rename.
Fd listen_at(const std::string& path, unsigned mode, std::int64_t gid, int* error);
// Connects, waiting at most `most` while the backlog is full. EACCES and ENOENT stay distinct.
Fd connect_to(const std::string& path, std::chrono::milliseconds most, int* error);

// Never blocks: EAGAIN when the socket's buffer is full. MSG_NOSIGNAL.
int send_packet(int socket, std::span<const std::byte> bytes, std::span<const int> fds = {});
// Never blocks: EAGAIN when nothing is there. Fds arrive close-on-exec.
int receive_packet(int socket, std::span<std::byte> buffer, ReceivedPacket* packet);
// Waits for readability at most `most`; ETIMEDOUT when nothing came.
int wait_readable(int fd, std::chrono::milliseconds most);

struct PeerCredentials {
  pid_t pid = 0;  // in this process's pid namespace; 0 if it has none there
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // SO_PEERGROUPS
  Fd pidfd;                   // SO_PEERPIDFD where the kernel has it
};
int peer_credentials(int socket, PeerCredentials* out);

// Typed messages of proto/control.h.
template <class Message>
int send_message(int socket, const Message& message, std::span<const int> fds = {}) {
  return send_packet(socket, std::as_bytes(std::span(&message, 1)), fds);
}

}  // namespace tentq::shm
