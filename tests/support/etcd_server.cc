// fork, exec, and a bare HTTP/1.0 client.
#include "tests/support/etcd_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "tests/support/loopback.h"

namespace tentq::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr const char* kProgram = "/usr/bin/etcd";
constexpr std::chrono::seconds kStartLimit{60};
constexpr int kStarts = 5;  // another process may take a port between its choice and its use

shm::Fd tcp_socket() {
  return shm::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

std::uint16_t free_port() {
  const shm::Fd fd = tcp_socket();
  sockaddr_in in = loopback(0);
  socklen_t length = sizeof in;
  if (!fd.valid() || ::bind(fd.get(), reinterpret_cast<sockaddr*>(&in), length) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&in), &length) != 0) {
    throw std::runtime_error("no free port");
  }
  return ntohs(in.sin_port);
}

}  // namespace

std::string EtcdServer::missing() {
  if (::access(kProgram, X_OK) == 0) return {};
  const std::string lacks =
      std::string(kProgram) + " is not there; install etcd-server (deploy/packages.list)";
  if (std::getenv("CI") != nullptr) throw std::runtime_error(lacks);
  return lacks;
}

EtcdServer::EtcdServer() {
  for (int i = 0; i < kStarts; ++i) {
    client_port_ = free_port();
    peer_port_ = free_port();
    if (launch()) return;
    kill();
    lose_data();
  }
  std::ifstream log(directory_.file("etcd.log"));
  throw std::runtime_error("etcd does not start:\n" +
                           std::string(std::istreambuf_iterator<char>(log), {}));
}

EtcdServer::~EtcdServer() {
  kill();
}

void EtcdServer::start() {
  if (!launch()) throw std::runtime_error("etcd does not start again");
}

bool EtcdServer::launch() {
  const std::string peer = "http://127.0.0.1:" + std::to_string(peer_port_);
  std::vector<std::string> words = {kProgram,
                                    "--name=test",
                                    "--data-dir=" + directory_.file("data"),
                                    "--listen-client-urls=" + endpoint(),
                                    "--advertise-client-urls=" + endpoint(),
                                    "--listen-peer-urls=" + peer,
                                    "--initial-advertise-peer-urls=" + peer,
                                    "--initial-cluster=test=" + peer,
                                    "--log-level=error",
                                    "--heartbeat-interval=10",
                                    "--election-timeout=100"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const shm::Fd log(
      ::open(directory_.file("etcd.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    ::dup2(log.get(), STDOUT_FILENO);
    ::dup2(log.get(), STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  return await_answer();
}

// False once it has ended by itself.
bool EtcdServer::await_answer() {
  constexpr int kEveryMs = 10;
  const auto until = Clock::now() + kStartLimit;
  while (Clock::now() < until) {
    // A read through the whole cluster, as clients make it.
    if (!ask("/v3/kv/range", R"({"key":"AA=="})").empty()) return true;
    pollfd ended{pidfd_.get(), POLLIN, 0};
    if (::poll(&ended, 1, kEveryMs) > 0) return false;
  }
  return false;
}

void EtcdServer::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

void EtcdServer::lose_data() {
  std::filesystem::remove_all(directory_.file("data"));
}

void EtcdServer::freeze() const {
  ::kill(pid_, SIGSTOP);
  // Its threads go on until each has noticed.
  int status = 0;
  if (::waitpid(pid_, &status, WUNTRACED) != pid_ || !WIFSTOPPED(status)) {
    throw std::runtime_error("etcd did not stop for SIGSTOP");
  }
}

void EtcdServer::thaw() const {
  ::kill(pid_, SIGCONT);
}

std::string EtcdServer::ask(const std::string& path, const std::string& body) const {
  const shm::Fd fd = tcp_socket();
  const timeval limit{5, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const sockaddr_in in = loopback(client_port_);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&in), sizeof in) != 0) return {};
  const std::string request = "POST " + path +
                              " HTTP/1.0\r\nContent-Length: " + std::to_string(body.size()) +
                              "\r\n\r\n" + body;
  if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return {};
  std::string answer;
  char piece[4096];
  for (ssize_t got; (got = ::recv(fd.get(), piece, sizeof piece, 0)) > 0;) {
    answer.append(piece, static_cast<std::size_t>(got));
  }
  const std::size_t head = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.0 200") || head == std::string::npos) return {};
  return answer.substr(head + 4);
}

}  // namespace tentq::test
