// Raw sockets as the limit. See raw_tcp.h.
#include "tests/bench/raw_tcp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

#include "tests/bench/clock.h"

namespace tentq::bench {
namespace {

struct RawRequest {
  std::uint64_t reading = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// False at the connection's end.
bool receive_all(int fd, void* data, std::size_t bytes) {
  return bytes == 0 || ::recv(fd, data, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

bool send_all(int fd, const void* data, std::size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(fd, from, bytes, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    from += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
  return true;
}

// Head and payload in one call.
bool send_write(int fd, const RawRequest& request, const std::byte* payload) {
  iovec parts[2] = {{const_cast<RawRequest*>(&request), sizeof request},
                    {const_cast<std::byte*>(payload), request.length}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  const ssize_t sent = ::sendmsg(fd, &message, MSG_NOSIGNAL);
  if (sent < static_cast<ssize_t>(sizeof request)) return false;
  const auto done = static_cast<std::size_t>(sent) - sizeof request;
  return send_all(fd, payload + done, request.length - done);
}

sockaddr_in ipv4(const RawTcpPlace& place) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(place.port);
  if (::inet_pton(AF_INET, place.address.c_str(), &address.sin_addr) != 1) {
    throw std::system_error(EINVAL, std::generic_category(), place.address);
  }
  return address;
}

void no_delay(int fd) {
  const int one = 1;
  if (::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0) fail("TCP_NODELAY");
}

}  // namespace

RawTcpServer::RawTcpServer(std::span<std::byte> memory, const std::string& at)
    : memory_(memory), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = ipv4({at, 0});
  socklen_t length = sizeof address;
  if (!listener_.valid() ||
      ::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(listener_.get(), 64) != 0 ||
      ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    fail("listen");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

RawTcpServer::~RawTcpServer() {
  ::shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  for (const shm::Fd& connection : connections_) ::shutdown(connection.get(), SHUT_RDWR);
  for (std::thread& thread : threads_) thread.join();
}

void RawTcpServer::accept_all() {
  for (;;) {
    shm::Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd.valid()) return;
    no_delay(fd.get());
    const std::lock_guard lock(mutex_);
    connections_.push_back(std::move(fd));
    threads_.emplace_back([this, served = connections_.back().get()] { serve(served); });
  }
}

void RawTcpServer::serve(int fd) {
  RawRequest request;
  while (receive_all(fd, &request, sizeof request)) {
    if (request.length > memory_.size() || request.offset > memory_.size() - request.length) return;
    std::byte* block = memory_.data() + request.offset;
    const bool done = request.reading != 0 ? send_all(fd, block, request.length)
                                           : receive_all(fd, block, request.length) &&
                                                 send_all(fd, &request.length, 8);
    if (!done) return;
  }
}

RawTcpClient::RawTcpClient(const RawTcpPlace& place, std::uint32_t connections,
                           std::span<std::byte> memory)
    : memory_(memory) {
  const sockaddr_in address = ipv4(place);
  for (std::uint32_t i = 0; i < connections; ++i) {
    shm::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd.valid() ||
        ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      fail("connect");
    }
    no_delay(fd.get());
    connections_.push_back(std::move(fd));
  }
}

// Blocks first, first + stride, … of the whole.
struct RawTcpClient::Share {
  int fd = -1;
  bool reading = true;
  std::uint64_t size = 0;
  std::uint64_t blocks = 0;
  std::uint64_t first = 0;
  std::uint64_t stride = 1;
  std::uint64_t count = 0;  // of the whole
  std::uint64_t depth = 1;
};

void RawTcpClient::move_share(const Share& share) {
  const auto offset_of = [&share](std::uint64_t block) {
    return block % share.blocks * share.size;
  };
  const auto ask = [&](std::uint64_t block) {
    const RawRequest request{share.reading ? 1u : 0u, offset_of(block), share.size};
    return share.reading ? send_all(share.fd, &request, sizeof request)
                         : send_write(share.fd, request, memory_.data() + offset_of(block));
  };
  const auto take = [&](std::uint64_t block) {
    std::uint64_t answer = 0;
    return share.reading ? receive_all(share.fd, memory_.data() + offset_of(block), share.size)
                         : receive_all(share.fd, &answer, sizeof answer);
  };
  std::uint64_t asked = share.first;
  const std::uint64_t ahead = share.depth * share.stride;
  for (std::uint64_t block = share.first; block < share.count; block += share.stride) {
    for (; asked < share.count && asked < block + ahead; asked += share.stride) {
      if (!ask(asked)) fail("send");
    }
    if (!take(block)) fail("receive");
  }
}

double RawTcpClient::move(bool reading, std::uint64_t size, std::uint64_t blocks,
                          std::uint64_t count, std::uint32_t depth) {
  const std::uint64_t stride = connections_.size();
  std::vector<std::thread> threads;
  std::atomic<bool> failed{false};
  const std::int64_t begin = now_ns();
  for (std::uint64_t i = 0; i < stride; ++i) {
    threads.emplace_back([&, i] {
      try {
        move_share({connections_[i].get(), reading, size, blocks, i, stride, count,
                    std::max<std::uint64_t>(depth / stride, 1)});
      } catch (const std::system_error&) {
        failed = true;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failed) throw std::runtime_error("a raw connection broke");
  return static_cast<double>(size * count) / static_cast<double>(now_ns() - begin);
}

void RawTcpClient::exchange(bool reading, std::uint64_t local, std::uint64_t remote,
                            std::uint64_t size) {
  const int fd = connections_.front().get();
  const RawRequest request{reading ? 1u : 0u, remote, size};
  std::uint64_t answer = 0;
  const bool done = reading ? send_all(fd, &request, sizeof request) &&
                                  receive_all(fd, memory_.data() + local, size)
                            : send_write(fd, request, memory_.data() + local) &&
                                  receive_all(fd, &answer, sizeof answer);
  if (!done) fail("exchange");
}

}  // namespace tentq::bench
