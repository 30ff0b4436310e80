// `tentqctl doctor`: what of the host and of the daemon's surroundings could be in the way, each
// with a remedy. Reads only; needs neither a daemon nor privileges.
#pragma once

#include <string>
#include <vector>

#include "client/ctl/daemon_link.h"
#include "client/ctl/output.h"

namespace tentq::ctl {

struct Check {
  enum class Result { ok, note, warning, failure };
  std::string name;
  Result result = Result::ok;
  std::string detail;
  std::string remedy;  // empty when there is nothing to do
};

// Where the host's facts are read; tests point these elsewhere.
struct HostPaths {
  Places places;
  std::string sysctl = "/proc/sys";
  std::string proc = "/proc";
  std::string infiniband = "/sys/class/infiniband";
  std::string clocksource = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
};

// The groups of checks, each in one file.
void check_access(const HostPaths& paths, std::vector<Check>* checks);  // directory, sockets, group
void check_kernel(const HostPaths& paths, std::vector<Check>* checks);  // features and settings
void check_daemon(const HostPaths& paths, std::vector<Check>* checks);  // liveness, its limits
void check_devices(const HostPaths& paths, std::vector<Check>* checks);  // clock, RDMA

// 1 if any check is a failure.
int run_doctor(const HostPaths& paths, Output& to);

// First line of a small file, without its newline; false if it cannot be read.
bool read_line(const std::string& path, std::string* line);

}  // namespace tentq::ctl
