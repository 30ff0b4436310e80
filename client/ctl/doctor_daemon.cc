// Whether the daemon is alive, by its status page, and how much memory it may lock.
#include <sys/resource.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "client/ctl/doctor.h"
#include "client/ctl/status_page_reader.h"

namespace tentq::ctl {
namespace {

constexpr std::uint64_t kLittleMemlock = std::uint64_t{64} << 20;

std::string age_of(const StatusPicture& picture, Time now) {
  const auto ns = (now - picture.heartbeat).count();
  return age_text(ns < 0 ? 0 : static_cast<std::uint64_t>(ns));
}

Check check_liveness(const StatusPicture& picture) {
  const Time now = monotonic_now();
  const std::string pid = "pid " + std::to_string(picture.body->pid);
  switch (judge_liveness(picture, now, process_exists(picture.body->pid))) {
    case Liveness::alive:
      return {
          "daemon", Check::Result::ok, pid + ", heartbeat " + age_of(picture, now) + " ago", {}};
    case Liveness::silent:
      return {"daemon", Check::Result::failure,
              pid + " is there but without a heartbeat for " + age_of(picture, now),
              "it hangs or is stopped: gdb -p, or systemctl restart tentqd; clients re-attach"};
    case Liveness::ended:
      return {"daemon", Check::Result::failure,
              pid + " has ended; last heartbeat " + age_of(picture, now) + " ago",
              "systemctl start tentqd; journalctl -u tentqd says why it ended"};
    case Liveness::other_clock:
      return {"daemon", Check::Result::warning, "its clock is ahead of ours",
              "run tentqctl in the daemon's time namespace"};
  }
  return {"daemon", Check::Result::failure, "unknown", {}};
}

// "Max locked memory  8388608  8388608  bytes" of /proc/PID/limits. False: not readable.
bool memlock_of(const std::string& proc, std::uint32_t pid, std::string* limit) {
  std::ifstream file(proc + '/' + std::to_string(pid) + "/limits");
  std::string line;
  while (std::getline(file, line)) {
    constexpr std::string_view kHead = "Max locked memory";
    if (!line.starts_with(kHead)) continue;
    std::istringstream rest(line.substr(kHead.size()));
    return static_cast<bool>(rest >> *limit);
  }
  return false;
}

Check check_memlock(const std::string& proc, std::uint32_t daemon) {
  std::string limit;
  std::string whose = "of the daemon: ";
  if (daemon == 0 || !memlock_of(proc, daemon, &limit)) {
    rlimit own{};
    ::getrlimit(RLIMIT_MEMLOCK, &own);
    limit = own.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(own.rlim_cur);
    whose = "of this shell: ";
  }
  if (limit == "unlimited") return {"memlock", Check::Result::ok, whose + limit, {}};
  const std::uint64_t bytes = std::strtoull(limit.c_str(), nullptr, 10);
  if (bytes >= kLittleMemlock) {
    return {"memlock", Check::Result::ok, whose + bytes_text(bytes), {}};
  }
  return {"memlock", Check::Result::warning,
          whose + bytes_text(bytes) +
              ": regions beyond it are not locked, so small copies take a worker",
          "LimitMEMLOCK=infinity in tentqd.service, or ulimit -l unlimited"};
}

}  // namespace

void check_daemon(const HostPaths& paths, std::vector<Check>* checks) {
  StatusPicture picture;
  std::string why;
  std::uint32_t pid = 0;
  if (read_status_page(paths.places.status_page, &picture, &why)) {
    pid = picture.body->pid;
    checks->push_back(check_liveness(picture));
  } else {
    const auto semicolon = std::min(why.find("; "), why.size());
    const std::string remedy = semicolon == why.size() ? "" : why.substr(semicolon + 2);
    checks->push_back({"daemon", Check::Result::failure, why.substr(0, semicolon), remedy});
  }
  checks->push_back(check_memlock(paths.proc, pid));
}

}  // namespace tentq::ctl
