// What tests of the client share: a socket path of their own, a fake daemon that can die, and two
// clients, a store that exports memory and an engine that reads and writes it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "shm/packet_socket.h"
#include "tentq/tentq.hpp"
#include "tests/client/fake_daemon.h"

namespace tentq::testing {

using namespace std::chrono_literals;
using namespace tentq::size_literals;

// Long enough for any machine; nothing waits that long unless it fails.
inline constexpr std::chrono::seconds kLong{20};

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() {
    char path[] = "/tmp/tentq-client-XXXXXX";
    directory_ = ::mkdtemp(path);
  }
  ~ClientTest() override {
    daemon_.reset();
    ::unlink(socket().c_str());
    ::rmdir(directory_.c_str());
  }

  std::string socket() const { return directory_ + "/tentqd.sock"; }
  void start(FakeDaemonOptions options = {}) {
    daemon_ = std::make_unique<FakeDaemon>(socket(), std::move(options));
  }
  void kill() { daemon_.reset(); }
  FakeDaemon& daemon() { return *daemon_; }
  Result<Client> connect(std::string name, ConnectOptions options = {}) const {
    options.name = std::move(name);
    options.socket = socket();
    // A loaded machine must not make a test fail.
    if (options.attach_timeout == ConnectOptions().attach_timeout) options.attach_timeout = kLong;
    return Client::connect(options);
  }
  // Waits until the client has attached `times` times after its first.
  static bool await_reattach(const Client& client, std::uint64_t times) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (client.reattaches() < times && std::chrono::steady_clock::now() < end) ::sched_yield();
    return client.reattaches() >= times;
  }

 private:
  std::string directory_;
  std::unique_ptr<FakeDaemon> daemon_;
};

// What has arrived at the client so far.
inline std::vector<ReceivedNotification> take_notifications(Client& client) {
  Result<NotificationBatch> batch = client.receive_notifications();
  return std::move(batch->notifications);
}

// A store with 1 MiB of a known pattern, and an engine with as much memory to move it to.
struct Pair {
  static constexpr std::size_t kBytes = 1u << 20;

  Result<Client> store;
  Result<Client> engine;
  Result<Memory> exported;
  Result<Memory> local;
  Result<Segment> segment;

  Pair(Result<Client> a, Result<Client> b)
      : store(std::move(a)),
        engine(std::move(b)),
        exported(store->allocate(kBytes)),
        local(engine->allocate(kBytes, {.access = Access::none})),
        segment(engine->open_segment(store->name())) {
    for (std::size_t i = 0; i < kBytes; ++i) exported->data()[i] = pattern(i);
    std::memset(local->data(), 0, kBytes);
  }
  static std::byte pattern(std::size_t i) { return static_cast<std::byte>(i * 7 + i / 251); }

  // A transfer of [from, from + length) of the store's memory to or from the same place here.
  Request request(std::size_t from, std::size_t length, Opcode op = Opcode::read) const {
    return {.op = op,
            .local = local->data() + from,
            .segment = *segment,
            .remote_offset = exported->region().segment_offset + from,
            .length = length};
  }
  // `count` requests of `length` bytes that are not adjacent.
  std::vector<Request> apart(std::size_t count, std::size_t length) const {
    std::vector<Request> requests;
    for (std::size_t i = 0; i < count; ++i) requests.push_back(request(2 * i * length, length));
    return requests;
  }
  bool arrived(std::size_t from, std::size_t length) const {
    return std::memcmp(local->data() + from, exported->data() + from, length) == 0;
  }
};

}  // namespace tentq::testing
