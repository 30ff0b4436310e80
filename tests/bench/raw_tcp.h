// What TCP itself gives: two processes that do nothing but send and receive, over as many
// connections as a link has for data, straight from and to the same memory. A server answers on a
// thread for each connection; a client keeps requests outstanding on a thread for each.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "shm/fd.h"

namespace tentq::bench {

// Where a server is.
struct RawTcpPlace {
  std::string address;
  std::uint16_t port = 0;
};

class RawTcpServer {
 public:
  // Serves requests for `memory` at a free port of that IPv4 address. Throws std::system_error.
  RawTcpServer(std::span<std::byte> memory, const std::string& address);
  ~RawTcpServer();
  RawTcpServer(const RawTcpServer&) = delete;
  RawTcpServer& operator=(const RawTcpServer&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  void accept_all();
  void serve(int fd);

  std::span<std::byte> memory_;
  shm::Fd listener_;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  std::list<shm::Fd> connections_;
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

class RawTcpClient {
 public:
  // Throws std::system_error.
  RawTcpClient(const RawTcpPlace& place, std::uint32_t connections, std::span<std::byte> memory);

  // Block i of `count` lies at (i mod blocks) × size on both sides; at most `depth` are
  // outstanding. Bytes a nanosecond over all.
  double move(bool reading, std::uint64_t size, std::uint64_t blocks, std::uint64_t count,
              std::uint32_t depth);
  // One block, over the first connection, between different places of both sides.
  void exchange(bool reading, std::uint64_t local, std::uint64_t remote, std::uint64_t size);

 private:
  struct Share;
  void move_share(const Share& share);

  std::span<std::byte> memory_;
  std::vector<shm::Fd> connections_;
};

}  // namespace tentq::bench
