// fork, the channel's packets, and the bounded wait for a child's end.
#include "tests/support/role.h"

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <system_error>

#include "tests/support/proc.h"

namespace tentq::test {
namespace {

using Clock = std::chrono::steady_clock;

// True once `fd` is readable or hung up; false after `most`.
bool await(int fd, std::chrono::milliseconds most) {
  const auto until = Clock::now() + most;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd entry = {fd, POLLIN, 0};
    const int ready = ::poll(&entry, 1, left > 0 ? static_cast<int>(left) : 0);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (ready == 0) return false;
  }
}

// fork() catches the other threads at any instruction, one inside the allocator too. The C library
// lets a child allocate all the same; the allocator of a sanitizer does not, and the child would
// hang. A second at most: a thread that never sleeps is its test's own affair.
void let_other_threads_sleep() {
  const auto awake = [](pid_t thread) {
    const char state = state_of(thread);
    return thread != ::gettid() && state != 'S' && state != '?';
  };
  const auto until = Clock::now() + std::chrono::seconds{1};
  while (Clock::now() < until && std::ranges::any_of(threads_of(::getpid()), awake))
    ::sched_yield();
}

[[noreturn]] void run_child(const std::string& name, std::chrono::seconds limit, pid_t parent,
                            const std::function<int(RoleChannel&)>& body, shm::Fd end) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::prctl(PR_SET_NAME, name.c_str());
  ::signal(SIGALRM, SIG_DFL);
  ::signal(SIGINT, SIG_IGN);  // the parent decides
  ::alarm(static_cast<unsigned>(limit.count()));
  int code = 1;
  try {
    RoleChannel channel(std::move(end));
    code = body(channel);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
  }
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace

bool RoleChannel::send_bytes(std::span<const std::byte> bytes) {
  for (;;) {
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    return sent == static_cast<ssize_t>(bytes.size());
  }
}

bool RoleChannel::receive_bytes(std::span<std::byte> bytes, std::chrono::milliseconds most) {
  if (!await(fd_.get(), most)) return false;
  for (;;) {
    const ssize_t got = ::recv(fd_.get(), bytes.data(), bytes.size(), MSG_TRUNC);
    if (got < 0 && errno == EINTR) continue;
    return got == static_cast<ssize_t>(bytes.size());
  }
}

Role::Role(std::string name, std::chrono::seconds limit, std::function<int(RoleChannel&)> body)
    : name_(std::move(name)), channel_(shm::Fd()) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  channel_ = RoleChannel(shm::Fd(ends[0]));
  shm::Fd child_end(ends[1]);
  std::fflush(nullptr);  // nothing buffered is printed twice
  const pid_t parent = ::getpid();
  let_other_threads_sleep();
  pid_ = ::fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ == 0) {
    channel_ = RoleChannel(shm::Fd());
    run_child(name_, limit, parent, body, std::move(child_end));
  }
  pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
}

Role::Role(Role&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      channel_(std::move(other.channel_)) {}

Role::~Role() {
  if (pid_ > 0) {
    kill();
    join(std::chrono::hours{1});
  }
}

void Role::kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

int Role::join(std::chrono::milliseconds most) {
  if (pid_ <= 0) return 0;
  if (!await(pidfd_.get(), most)) kill();
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace tentq::test
