// A socket that answers queries and commands from a FakeHost, one connection after the other, on a
// thread of its own; it ends with the object.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "daemon/queries/queries.h"
#include "shm/fd.h"

namespace tentq::test {

class FakeServer {
 public:
  using OnQuery = std::function<QueryAnswer(const Query&)>;
  using OnCommand = std::function<StatusCode(const Command&, std::string* text)>;

  // Listens at `path` at once. A handler that is empty leaves its packets without an answer.
  FakeServer(const std::string& path, OnQuery on_query, OnCommand on_command = {});
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

 private:
  void run();
  void serve(int socket);
  void answer(int socket, const Query& query);

  OnQuery on_query_;
  OnCommand on_command_;
  shm::Fd listener_;
  shm::Fd stop_;  // eventfd
  std::thread thread_;
};

}  // namespace tentq::test
