// The network between two daemons, in the hands of a test: connections go through it, and it holds
// bytes back, cuts one end, lets late bytes through, swallows everything, or puts garbage in. A
// thread of its own; make it after the last fork.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "shm/fd.h"

namespace tentq::test {

class Relay {
 public:
  // To that host:port of 127.0.0.1.
  explicit Relay(const std::string& target);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Where to dial instead of the target.
  const std::string& address() const { return address_; }
  // That were accepted so far. They are numbered from 0; a daemon's first is its control
  // connection.
  std::size_t connections() const;

  // From connection `first` on, of those that exist: `more` bytes of the dialer pass, the rest is
  // kept. What the target sends passes.
  void hold(std::size_t first, std::uint64_t more);
  std::uint64_t held() const;  // bytes
  // The dialer's ends of connections `first` on, of those that exist, are closed. The target's ends
  // stay open and nothing tells it.
  void cut(std::size_t first);
  // What was held goes to the target; how many bytes its kernel took.
  std::uint64_t release();
  // Of those that exist: nothing passes any more, either way, but it is read.
  void swallow();
  // Of those that exist: nothing is read any more, from either end.
  void stop_reading();
  // Into what the dialer receives, on those that exist.
  void send_garbage();

 private:
  enum class Way : std::uint8_t { passes, is_held, is_swallowed, is_not_read };
  struct Connection {
    shm::Fd dialer;
    shm::Fd target;
    Way to_target = Way::passes;
    Way to_dialer = Way::passes;
    std::uint64_t may_pass = 0;
    std::vector<std::byte> held;
  };

  void run();
  void accept_one();
  void from_dialer(Connection& connection);
  void from_target(Connection& connection);

  std::string address_;
  std::uint16_t target_port_ = 0;
  shm::Fd listener_;
  shm::Fd stop_;
  mutable std::mutex mutex_;  // over all below
  std::list<Connection> connections_;
  std::thread thread_;
};

}  // namespace tentq::test
