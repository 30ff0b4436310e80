// fork and exec of a private tentqd, its READY over a notify socket, and its end over a pidfd.
#include "tests/support/daemon_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace tentq::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::uintmax_t kLogTailBytes = 64u << 10;

int remaining_ms(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

std::system_error last_error(const std::string& what) {
  return {errno, std::generic_category(), what};
}

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

// Where READY=1 arrives (the sd_notify protocol).
shm::Fd open_notify_socket(const std::string& path) {
  ::unlink(path.c_str());
  shm::Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) throw std::runtime_error("path too long: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (!fd.valid() ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    throw last_error("notify socket " + path);
  }
  return fd;
}

int exit_code_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -WTERMSIG(wait_status);
}

}  // namespace

std::string find_daemon_binary(const std::string& given) {
  if (!given.empty()) {
    if (!is_program(given)) throw std::runtime_error("not a program: " + given);
    return given;
  }
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  std::string looked;
  std::vector<fs::path> places = {here / "tentqd", here / "../sbin/tentqd", here / "../bin/tentqd",
                                  here / "../daemon/tentqd", here / "../../daemon/tentqd"};
  const char* variable = std::getenv("PATH");
  std::string_view path = variable != nullptr ? variable : "";
  while (!path.empty()) {
    const std::size_t colon = path.find(':');
    places.push_back(fs::path(path.substr(0, colon)) / "tentqd");
    path = colon == path.npos ? std::string_view{} : path.substr(colon + 1);
  }
  for (const fs::path& place : places) {
    if (is_program(place)) return fs::canonical(place).string();
    looked += " " + place.lexically_normal().string();
  }
  throw std::runtime_error("no tentqd found; give its path with --tentqd. Looked at:" + looked);
}

DaemonProcess::DaemonProcess(DaemonOptions options)
    : options_(std::move(options)), directory_("tentqd") {
  options_.binary = find_daemon_binary(options_.binary);
  config_ = {{"socket", socket()},
             {"admin_socket", admin_socket()},
             {"status_path", status_path()},
             {"lock_path", directory_.file("tentqd.lock")},
             {"state_directory", directory_.path()},
             {"metrics_listen", ""}};  // no port is shared with other daemons
  config_.merge_patch(options_.config);
  start();
}

DaemonProcess::~DaemonProcess() {
  if (pid_ > 0) stop();
}

void DaemonProcess::write_config() const {
  std::ofstream file(config_path(), std::ios::trunc);
  file << config_.dump(2) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + config_path());
}

void DaemonProcess::configure(const nlohmann::json& changes) {
  config_.merge_patch(changes);
  write_config();
}

void DaemonProcess::start() {
  if (pid_ > 0) throw std::logic_error("the daemon runs already");
  write_config();
  const std::string notify_path = directory_.file("notify.sock");
  const shm::Fd notify = open_notify_socket(notify_path);
  const shm::Fd log(::open(directory_.file("tentqd.log").c_str(),
                           O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) throw last_error("log of the daemon");

  // Everything that allocates is done before the fork.
  std::vector<std::string> words = {options_.binary, "--config", config_path()};
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<std::string> variables = {"NOTIFY_SOCKET=" + notify_path};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    if (!text.starts_with("NOTIFY_SOCKET=") && !text.starts_with("LISTEN_") &&
        !text.starts_with("WATCHDOG_") && !text.starts_with("TENTQ_")) {
      variables.emplace_back(text);
    }
  }
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);

  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw last_error("fork");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    if (options_.network >= 0 && ::setns(options_.network, CLONE_NEWNET) != 0) ::_exit(126);
    ::dup2(log.get(), STDOUT_FILENO);
    ::dup2(log.get(), STDERR_FILENO);
    ::execve(arguments[0], arguments.data(), environment.data());
    ::_exit(127);
  }
  pid_ = child;
  pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  await_ready(notify.get());
}

void DaemonProcess::await_ready(int notify_fd) {
  const auto until = Clock::now() + options_.start_limit;
  for (;;) {
    pollfd fds[2] = {{notify_fd, POLLIN, 0}, {pidfd_.get(), POLLIN, 0}};
    const int ready = ::poll(fds, 2, remaining_ms(until));
    if (ready < 0 && errno != EINTR) fail_start("poll failed");
    if (ready == 0) fail_start("was not ready in time");
    if ((fds[0].revents & POLLIN) != 0) {
      char text[4096];
      const ssize_t length = ::recv(notify_fd, text, sizeof(text), 0);
      const std::string_view message(text, length > 0 ? static_cast<std::size_t>(length) : 0);
      if (message.starts_with("READY=1") || message.find("\nREADY=1") != message.npos) return;
    } else if ((fds[1].revents & POLLIN) != 0) {
      fail_start("ended before it was ready");
    }
  }
}

void DaemonProcess::fail_start(const std::string& what) {
  kill();
  throw std::runtime_error(options_.binary + " " + what + "; its log:\n" + log());
}

std::string DaemonProcess::log() const {
  const std::string path = directory_.file("tentqd.log");
  std::error_code ignored;
  const std::uintmax_t size = fs::file_size(path, ignored);
  std::ifstream file(path, std::ios::binary);
  if (ignored || !file) return {};
  if (size > kLogTailBytes) file.seekg(static_cast<std::streamoff>(size - kLogTailBytes));
  return {std::istreambuf_iterator<char>(file), {}};
}

bool DaemonProcess::running() {
  return pid_ > 0 && !wait(std::chrono::milliseconds{0});
}

void DaemonProcess::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

std::optional<int> DaemonProcess::wait(std::chrono::milliseconds most) {
  if (pid_ <= 0) return 0;
  const auto until = Clock::now() + most;
  pollfd fd = {pidfd_.get(), POLLIN, 0};
  while (::poll(&fd, 1, remaining_ms(until)) < 0 && errno == EINTR) {
  }
  if ((fd.revents & POLLIN) == 0) return std::nullopt;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  pidfd_.reset();
  return exit_code_of(status);
}

int DaemonProcess::stop() {
  signal(SIGTERM);
  if (const std::optional<int> code = wait(options_.stop_limit)) return *code;
  signal(SIGKILL);
  return wait(std::chrono::hours{1}).value_or(-SIGKILL);
}

void DaemonProcess::kill() {
  signal(SIGKILL);
  wait(std::chrono::hours{1});
}

}  // namespace tentq::test
