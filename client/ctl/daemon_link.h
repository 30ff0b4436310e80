// A connection to tentqd for questions and commands (proto/control.h); one request at a time.
#pragma once

#include <string>
#include <vector>

#include "proto/control.h"
#include "proto/status.h"
#include "shm/fd.h"

namespace tentq::ctl {

// Where the daemon is looked for.
struct Places {
  std::vector<std::string> sockets;  // tried in order
  std::string client_socket;         // for messages and for `doctor`
  std::string admin_socket;
  std::string status_page;
};

// `socket` is the option --socket (empty: not given), `variable` the environment's TENTQ_SOCKET.
// Without --socket the admin socket comes first, because it shows everybody's rows. With it, it is
// taken at its word; only commands that change something first try admin.sock beside it.
Places find_places(const std::string& socket, const std::string& variable, bool changes);

struct Answer {
  StatusCode status = StatusCode::ok;
  std::string document;  // JSON, of a query that went well
  std::string text;      // of a command, or what went wrong and what to do
};

class DaemonLink {
 public:
  // Connects to the first place that lets us. False: *why says why none did, and what to do.
  bool connect(const Places& places, std::string* why);
  // Both wait at most five seconds.
  Answer query(QueryKind kind, const std::string& argument);
  Answer command(CommandKind kind, const std::string& argument);

 private:
  template <class Reply, class Request>
  bool ask(const Request& request, Reply* reply, shm::Fd* fd, Answer* failure);

  shm::Fd socket_;
  std::string path_;
  std::uint64_t next_request_ = 1;
};

// Why a socket cannot be opened, with the remedy; `error` is an errno value.
std::string connect_failure(const std::string& path, int error);

}  // namespace tentq::ctl
