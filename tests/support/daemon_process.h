// A private tentqd for one test or benchmark: own directory with sockets, lock, status, state and
// log. Start and restart from a thread that lives as long as the daemon shall: the daemon dies with
// the thread that started it, so nothing is left behind even after a crash. One thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "shm/fd.h"
#include "tests/support/temp_directory.h"

namespace tentq::test {

struct DaemonOptions {
  std::string binary;  // empty: find_daemon_binary("")
  // Merged over the private paths, e.g. {{"loop", {{"spin", "1ms"}}}}. Metrics are off: with
  // {{"metrics_listen", "127.0.0.1:0"}} they are on at a port of their own.
  nlohmann::json config = nlohmann::json::object();
  std::vector<std::string> arguments;  // behind `--config FILE`
  int network = -1;                    // descriptor of the network that it runs in; -1: this one
  std::chrono::milliseconds start_limit{30'000};
  std::chrono::milliseconds stop_limit{60'000};  // SIGTERM to end, then SIGKILL
};

// `given` if not empty; else tentqd beside this executable, in the build tree around it, in the
// installation around it, or on PATH. Throws std::runtime_error that says where it looked.
std::string find_daemon_binary(const std::string& given);

class DaemonProcess {
 public:
  // Starts it and waits for READY. Throws std::runtime_error with the end of its log when it ends
  // before or is not ready in time.
  explicit DaemonProcess(DaemonOptions options);
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  pid_t pid() const { return pid_; }  // -1 when it does not run
  std::string socket() const { return directory_.file("tentqd.sock"); }
  std::string admin_socket() const { return directory_.file("admin.sock"); }
  std::string status_path() const { return directory_.file("status.shm"); }
  std::string config_path() const { return directory_.file("tentqd.json"); }
  const std::string& directory() const { return directory_.path(); }
  // What it wrote to standard output and error, over all its lives; at most the last 64 KiB.
  std::string log() const;

  // Changes the configuration file; what it reads at the next start or SIGHUP.
  void configure(const nlohmann::json& changes);
  void start();
  // False once it has ended by itself.
  bool running();
  // Sends any signal to it.
  void signal(int number) const;
  // SIGTERM and a wait; SIGKILL after stop_limit. Its exit code, or -N after signal N.
  int stop();
  // SIGKILL and a wait.
  void kill();
  // Waits for its end by itself, e.g. after a signal; nullopt when it still runs after `most`.
  std::optional<int> wait(std::chrono::milliseconds most);

 private:
  void write_config() const;
  void await_ready(int notify_fd);
  [[noreturn]] void fail_start(const std::string& what);

  DaemonOptions options_;
  TempDirectory directory_;
  nlohmann::json config_;
  pid_t pid_ = -1;
  shm::Fd pidfd_;
};

}  // namespace tentq::test
