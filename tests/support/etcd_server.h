// An etcd of one test's own: one member, its data in a directory of the test, on ports of this
// host's loopback that were free. It dies with the thread that started it. One thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "shm/fd.h"
#include "tests/support/temp_directory.h"

namespace tentq::test {

class EtcdServer {
 public:
  // Empty when there is one to start. Else why not: tests skip with that text, but never where
  // everything is to be tested, which the variable CI says: there it throws std::runtime_error.
  static std::string missing();

  // Starts it and waits until it answers; throws std::runtime_error with its log when it does not.
  EtcdServer();
  ~EtcdServer();
  EtcdServer(const EtcdServer&) = delete;
  EtcdServer& operator=(const EtcdServer&) = delete;

  // http://127.0.0.1:PORT, also after start() again.
  std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(client_port_); }

  void start();
  // SIGKILL and a wait. Its data stay.
  void kill();
  // While it does not run.
  void lose_data();
  // SIGSTOP, SIGCONT.
  void freeze() const;
  void thaw() const;

  // The body that it answers to this call of its v3 API, e.g. "/v3/kv/range"; empty: none.
  std::string ask(const std::string& path, const std::string& body) const;

 private:
  bool launch();
  bool await_answer();

  TempDirectory directory_{"tentq-etcd"};
  std::uint16_t client_port_ = 0;
  std::uint16_t peer_port_ = 0;
  pid_t pid_ = -1;
  shm::Fd pidfd_;
};

}  // namespace tentq::test
