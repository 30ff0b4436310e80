// One poll loop over all connections. See relay.h.
#include "tests/processes/relay.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <system_error>

#include "tests/support/loopback.h"

namespace tentq::test {
namespace {

constexpr int kLookEveryMs = 5;  // orders change what is to be read
using Buffer = std::array<std::byte, 64u << 10>;

// How many went.
std::uint64_t send_all(const shm::Fd& fd, const std::byte* bytes, std::size_t size) {
  std::size_t sent = 0;
  while (fd.valid() && sent < size) {
    const ssize_t n = ::send(fd.get(), bytes + sent, size - sent, MSG_NOSIGNAL);
    if (n <= 0) break;
    sent += static_cast<std::size_t>(n);
  }
  return sent;
}

}  // namespace

Relay::Relay(const std::string& target)
    : target_port_(static_cast<std::uint16_t>(std::stoi(target.substr(target.rfind(':') + 1)))),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in at = loopback(0);
  socklen_t length = sizeof at;
  auto* generic = reinterpret_cast<sockaddr*>(&at);
  if (!stop_.valid() || ::bind(listener_.get(), generic, length) != 0 ||
      ::listen(listener_.get(), 64) != 0 || ::getsockname(listener_.get(), generic, &length) != 0) {
    throw std::system_error(errno, std::generic_category(), "relay");
  }
  address_ = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  thread_ = std::thread([this] { run(); });
}

Relay::~Relay() {
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void Relay::run() {
  for (;;) {
    std::vector<pollfd> fds = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    std::vector<Connection*> of;
    {
      const std::lock_guard lock(mutex_);
      for (Connection& connection : connections_) {
        const bool dialer = connection.dialer.valid() && connection.to_target != Way::is_not_read;
        const bool target = connection.target.valid() && connection.to_dialer != Way::is_not_read;
        fds.push_back({dialer ? connection.dialer.get() : -1, POLLIN, 0});
        fds.push_back({target ? connection.target.get() : -1, POLLIN, 0});
        of.push_back(&connection);
      }
    }
    ::poll(fds.data(), fds.size(), kLookEveryMs);
    if (fds[0].revents != 0) return;
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (fds[2 + 2 * i].revents != 0) from_dialer(*of[i]);
      if (fds[3 + 2 * i].revents != 0) from_target(*of[i]);
    }
    if (fds[1].revents != 0) accept_one();
  }
}

void Relay::accept_one() {
  Connection connection;
  connection.dialer.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  connection.target.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in at = loopback(target_port_);
  // A target that is not there ends the dialer's connection, too.
  if (!connection.dialer.valid() ||
      ::connect(connection.target.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
    return;
  }
  const int on = 1;
  for (const shm::Fd* fd : {&connection.dialer, &connection.target}) {
    ::setsockopt(fd->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  connections_.push_back(std::move(connection));
}

// Its end may have been closed since it was found readable.
void Relay::from_dialer(Connection& connection) {
  if (!connection.dialer.valid() || connection.to_target == Way::is_not_read) return;
  Buffer buffer;
  const ssize_t got = ::recv(connection.dialer.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    connection.dialer.reset();
    if (connection.to_target == Way::passes) connection.target.reset();
    return;
  }
  auto bytes = static_cast<std::size_t>(got);
  std::size_t passes = bytes;
  if (connection.to_target == Way::is_swallowed) return;
  if (connection.to_target == Way::is_held) {
    passes = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, connection.may_pass));
    connection.may_pass -= passes;
    connection.held.insert(connection.held.end(), buffer.data() + passes, buffer.data() + bytes);
  }
  send_all(connection.target, buffer.data(), passes);
}

void Relay::from_target(Connection& connection) {
  if (!connection.target.valid() || connection.to_dialer == Way::is_not_read) return;
  Buffer buffer;
  const ssize_t got = ::recv(connection.target.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    connection.target.reset();
    connection.dialer.reset();
    return;
  }
  if (connection.to_dialer == Way::passes) {
    send_all(connection.dialer, buffer.data(), static_cast<std::size_t>(got));
  }
}

std::size_t Relay::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_.size();
}

void Relay::hold(std::size_t first, std::uint64_t more) {
  const std::lock_guard lock(mutex_);
  for (auto it = std::next(connections_.begin(), static_cast<std::ptrdiff_t>(first));
       it != connections_.end(); ++it) {
    it->to_target = Way::is_held;
    it->may_pass = more;
  }
}

std::uint64_t Relay::held() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const Connection& connection : connections_) sum += connection.held.size();
  return sum;
}

void Relay::cut(std::size_t first) {
  const std::lock_guard lock(mutex_);
  for (auto it = std::next(connections_.begin(), static_cast<std::ptrdiff_t>(first));
       it != connections_.end(); ++it) {
    it->to_target = Way::is_held;
    it->dialer.reset();
  }
}

std::uint64_t Relay::release() {
  const std::lock_guard lock(mutex_);
  std::uint64_t took = 0;
  for (Connection& connection : connections_) {
    took += send_all(connection.target, connection.held.data(), connection.held.size());
    connection.held.clear();
  }
  return took;
}

void Relay::swallow() {
  const std::lock_guard lock(mutex_);
  for (Connection& connection : connections_) {
    connection.to_target = connection.to_dialer = Way::is_swallowed;
  }
}

void Relay::stop_reading() {
  const std::lock_guard lock(mutex_);
  for (Connection& connection : connections_) {
    connection.to_target = connection.to_dialer = Way::is_not_read;
  }
}

void Relay::send_garbage() {
  const std::lock_guard lock(mutex_);
  std::vector<std::byte> garbage(4096);
  std::uint32_t state = 1;
  for (std::byte& byte : garbage) {
    state = state * 1'664'525 + 1'013'904'223;
    byte = static_cast<std::byte>(state >> 24);
  }
  for (Connection& connection : connections_) {
    send_all(connection.dialer, garbage.data(), garbage.size());
  }
}

}  // namespace tentq::test
