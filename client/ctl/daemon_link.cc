// Finding and asking the daemon. Blocking, with limits; one thread.
#include "client/ctl/daemon_link.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "proto/version.h"
#include "shm/packet_socket.h"

namespace tentq::ctl {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kConnectTime{1000};
constexpr milliseconds kAnswerTime{5000};
constexpr std::uint64_t kMostDocument = std::uint64_t{256} << 20;

std::string beside(const std::string& path, const char* name) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? name : path.substr(0, slash + 1) + name;
}

// The document out of its memfd; empty: *why says what is wrong.
std::string read_document(int fd, std::uint64_t bytes, std::string* why) {
  struct stat facts {};
  if (bytes == 0 || bytes > kMostDocument || ::fstat(fd, &facts) != 0 ||
      static_cast<std::uint64_t>(facts.st_size) < bytes) {
    *why = "the daemon's document has an impossible size";
    return {};
  }
  std::string text(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(fd, text.data() + done, bytes - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      *why = "the daemon's document cannot be read";
      return {};
    }
    done += static_cast<std::size_t>(got);
  }
  return text;
}

std::string no_answer(const std::string& path) {
  return "no answer from the daemon at " + path +
         " within 5 s; `tentqctl top --once` and `tentqctl doctor` work without it";
}

}  // namespace

Places find_places(const std::string& socket, const std::string& variable, bool changes) {
  Places places;
  const std::string given = !socket.empty() ? socket : variable;
  places.client_socket = given.empty() ? kDefaultSocketPath : given;
  places.admin_socket = given.empty() ? kDefaultAdminSocketPath : beside(given, "admin.sock");
  places.status_page = given.empty() ? kDefaultStatusPath : beside(given, "status.shm");
  if (changes || socket.empty()) places.sockets.push_back(places.admin_socket);
  if (places.client_socket != places.admin_socket || places.sockets.empty()) {
    places.sockets.push_back(places.client_socket);
  }
  return places;
}

std::string connect_failure(const std::string& path, int error) {
  std::string out = "cannot connect to " + path + ": " + std::strerror(error);
  if (error == EACCES || error == EPERM) {
    out += "; join the group that owns the socket (`stat -c %G " + path +
           "`), then log in again, or run as root";
  } else if (error == ENOENT) {
    out += "; is tentqd running (`systemctl status tentqd`)? Another path: --socket";
  } else if (error == ECONNREFUSED) {
    out += "; the socket is left over from a daemon that has ended: start tentqd";
  } else if (error == EAGAIN || error == ETIMEDOUT) {
    out += "; the daemon does not accept connections: `tentqctl top --once` shows its last state";
  }
  return out;
}

bool DaemonLink::connect(const Places& places, std::string* why) {
  for (const std::string& path : places.sockets) {
    int error = 0;
    socket_ = shm::connect_to(path, kConnectTime, &error);
    if (socket_.valid()) {
      path_ = path;
      return true;
    }
    *why = connect_failure(path, error);
  }
  return false;
}

// Sends the request and waits for the reply to it; packets that nobody asked for are passed over.
template <class Reply, class Request>
bool DaemonLink::ask(const Request& request, Reply* reply, shm::Fd* fd, Answer* failure) {
  *failure = {StatusCode::daemon_gone, {}, "the daemon at " + path_ + " closed the connection"};
  if (shm::send_message(socket_.get(), request) != 0) return false;
  const auto end = steady_clock::now() + kAnswerTime;
  alignas(8) std::array<std::byte, kLargestMessage> buffer;
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    shm::ReceivedPacket packet;
    const int waited = shm::wait_readable(socket_.get(), std::max(left, milliseconds{0}));
    if (waited == ETIMEDOUT) {
      *failure = {StatusCode::timeout, {}, no_answer(path_)};
      return false;
    }
    const int error = waited != 0 ? waited : shm::receive_packet(socket_.get(), buffer, &packet);
    if (error == EAGAIN || error == EINTR) continue;
    if (error != 0 || packet.bytes < sizeof(ControlHeader)) return false;
    ControlHeader header;
    std::memcpy(&header, buffer.data(), sizeof(header));
    if (header.type == MessageType::refused && packet.bytes == sizeof(Refused)) {
      Refused refused;
      std::memcpy(&refused, buffer.data(), sizeof(refused));
      *failure = {refused.status, {}, std::string(refused.text.view())};
      return false;
    }
    if (header.request != request.header.request) continue;
    if (header.type != Reply::kType || packet.bytes != sizeof(Reply)) {
      *failure = {StatusCode::incompatible, {}, "the daemon speaks another protocol; update both"};
      return false;
    }
    std::memcpy(static_cast<void*>(reply), buffer.data(), sizeof(Reply));
    if (packet.fd_count > 0) *fd = std::move(packet.fds[0]);
    return true;
  }
}

Answer DaemonLink::query(QueryKind kind, const std::string& argument) {
  auto request = make_message<Query>(next_request_++);
  if (argument.size() >= request.argument.bytes.size()) {
    return {StatusCode::invalid_argument, {}, "the argument is too long"};
  }
  request.kind = kind;
  request.argument.assign(argument);
  QueryReply reply;
  shm::Fd fd;
  Answer answer;
  if (!ask(request, &reply, &fd, &answer)) return answer;
  answer = {reply.status, {}, std::string(reply.text.view())};
  if (reply.status != StatusCode::ok) return answer;
  answer.document = read_document(fd.get(), reply.document_bytes, &answer.text);
  if (answer.document.empty()) answer.status = StatusCode::internal_error;
  return answer;
}

Answer DaemonLink::command(CommandKind kind, const std::string& argument) {
  auto request = make_message<Command>(next_request_++);
  if (argument.size() >= request.argument.bytes.size()) {
    return {StatusCode::invalid_argument, {}, "the argument is too long"};
  }
  request.kind = kind;
  request.argument.assign(argument);
  CommandReply reply;
  shm::Fd fd;
  Answer answer;
  if (!ask(request, &reply, &fd, &answer)) return answer;
  return {reply.status, {}, std::string(reply.text.view())};
}

}  // namespace tentq::ctl
