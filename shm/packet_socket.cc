// Unix SOCK_SEQPACKET sockets. Every call passes MSG_DONTWAIT itself: O_NONBLOCK belongs to the
// open file, and the other end of a passed socket could clear it.
#include "shm/packet_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77  // Linux 6.5
#endif

namespace tentq::shm {
namespace {

constexpr int kBacklog = 128;
using Clock = std::chrono::steady_clock;

// False when the path does not fit.
bool make_address(const std::string& path, sockaddr_un* address) {
  *address = sockaddr_un{};
  address->sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address->sun_path) return false;
  std::memcpy(address->sun_path, path.data(), path.size());
  return true;
}

int bind_and_listen(int socket, const sockaddr_un& address, unsigned mode, std::int64_t gid) {
  const char* path = address.sun_path;
  ::unlink(path);  // left by a process of the same number
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return errno;
  if (gid >= 0 && ::lchown(path, static_cast<uid_t>(-1), static_cast<gid_t>(gid)) != 0)
    return errno;
  if (::chmod(path, static_cast<mode_t>(mode)) != 0) return errno;
  return ::listen(socket, kBacklog) == 0 ? 0 : errno;
}

// Only a socket, or nothing, may stand where ours goes.
int check_replaceable(const std::string& path) {
  struct stat old {};
  if (::lstat(path.c_str(), &old) != 0) return errno == ENOENT ? 0 : errno;
  return S_ISSOCK(old.st_mode) ? 0 : EEXIST;
}

int connect_once(int socket, const sockaddr_un& address, std::chrono::milliseconds most) {
  // A connect waits for room in the backlog as long as a send may; zero would mean for ever.
  const auto us = std::max<std::int64_t>(1, std::chrono::microseconds(most).count());
  const timeval limit{us / 1'000'000, us % 1'000'000};
  if (::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0) return errno;
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return 0;
  return errno == EAGAIN ? ETIMEDOUT : errno;
}

// Takes the fds out of the ancillary data; what does not fit is closed.
void take_fds(msghdr& message, ReceivedPacket* packet) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int raw = -1;
      std::memcpy(&raw, CMSG_DATA(part) + i * sizeof(int), sizeof raw);
      Fd fd(raw);
      if (packet->fd_count < kMaxPacketFds) {
        packet->fds[packet->fd_count++] = std::move(fd);
      } else {
        packet->truncated = true;
      }
    }
  }
}

int read_groups(int socket, std::vector<gid_t>* groups) {
  groups->resize(64);
  for (;;) {
    auto bytes = static_cast<socklen_t>(groups->size() * sizeof(gid_t));
    const int got = ::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups->data(), &bytes);
    const int failure = got == 0 ? 0 : errno;
    if (failure != 0 && failure != ERANGE) return failure;
    groups->resize(bytes / sizeof(gid_t));  // of ERANGE: what it takes
    if (failure == 0) return 0;
  }
}

}  // namespace

Fd listen_at(const std::string& path, unsigned mode, std::int64_t gid, int* error) {
  const std::string beside = path + "." + std::to_string(::getpid());
  sockaddr_un address;
  Fd socket;
  int failure = make_address(beside, &address) ? check_replaceable(path) : ENAMETOOLONG;
  if (failure == 0) {
    socket = Fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    failure = socket.valid() ? bind_and_listen(socket.get(), address, mode, gid) : errno;
    if (failure == 0 && ::rename(beside.c_str(), path.c_str()) != 0) failure = errno;
    if (failure != 0) ::unlink(beside.c_str());
  }
  if (error != nullptr) *error = failure;
  if (failure != 0) socket.reset();
  return socket;
}

Fd connect_to(const std::string& path, std::chrono::milliseconds most, int* error) {
  const Clock::time_point end = Clock::now() + most;
  sockaddr_un address;
  Fd socket;
  int failure = make_address(path, &address) ? 0 : ENAMETOOLONG;
  if (failure == 0) {
    socket = Fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!socket.valid()) failure = errno;
  }
  if (failure == 0) {
    do {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
      failure = connect_once(socket.get(), address, left);
    } while (failure == EINTR);
  }
  if (failure == 0 && ::fcntl(socket.get(), F_SETFL, O_NONBLOCK) != 0) failure = errno;
  if (error != nullptr) *error = failure;
  if (failure != 0) socket.reset();
  return socket;
}

int send_packet(int socket, std::span<const std::byte> bytes, std::span<const int> fds) {
  if (fds.size() > kMaxPacketFds) return EINVAL;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kMaxPacketFds * sizeof(int))> control{};
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(head), fds.data(), fds.size_bytes());
  }
  for (;;) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent) == bytes.size() ? 0 : EMSGSIZE;
    if (errno != EINTR) return errno;
  }
}

int receive_packet(int socket, std::span<std::byte> buffer, ReceivedPacket* packet) {
  *packet = ReceivedPacket{};
  // The kernel installs what fits in here and closes the rest (MSG_CTRUNC).
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kMaxPacketFds * sizeof(int))> control;
  iovec part{buffer.data(), buffer.size()};
  bool reset_seen = false;
  for (;;) {
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got >= 0) {
      take_fds(message, packet);
      packet->bytes = static_cast<std::size_t>(got);
      packet->truncated |= (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
      return 0;
    }
    if (errno == EINTR) continue;
    // The other end closed with packets of ours unread. Said once; what it sent before still comes.
    if (errno != ECONNRESET) return errno;
    if (reset_seen) return 0;
    reset_seen = true;
  }
}

int wait_readable(int fd, std::chrono::milliseconds most) {
  const Clock::time_point end = Clock::now() + most;
  pollfd wanted{fd, POLLIN, 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    const auto ms = std::clamp<std::int64_t>(left.count(), 0, 1'000'000'000);
    const int ready = ::poll(&wanted, 1, static_cast<int>(ms));
    if (ready > 0) return (wanted.revents & POLLNVAL) != 0 ? EBADF : 0;
    if (ready == 0 && Clock::now() >= end) return ETIMEDOUT;
    if (ready < 0 && errno != EINTR) return errno;
  }
}

int peer_credentials(int socket, PeerCredentials* out) {
  *out = PeerCredentials{};
  ucred who{};
  socklen_t bytes = sizeof who;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0) return errno;
  out->pid = who.pid;
  out->uid = who.uid;
  out->gid = who.gid;
  const int failure = read_groups(socket, &out->groups);
  if (failure != 0) return failure;
  int pidfd = -1;
  bytes = sizeof pidfd;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &bytes) == 0) out->pidfd = Fd(pidfd);
  return 0;
}

}  // namespace tentq::shm
