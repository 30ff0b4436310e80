// What the kernel can do, tried out, and how it is set.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "client/ctl/doctor.h"
#include "shm/fd.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010  // Linux 5.1
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // Linux 5.14
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77  // Linux 6.5
#endif

namespace tentq::ctl {
namespace {

Check check_seals() {
  const shm::Fd memory(::memfd_create("tentq-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const int seals = F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (memory.valid() && ::ftruncate(memory.get(), 4096) == 0 &&
      ::fcntl(memory.get(), F_ADD_SEALS, seals) == 0) {
    return {"memfd seals", Check::Result::ok, "F_SEAL_FUTURE_WRITE works", {}};
  }
  return {"memfd seals", Check::Result::failure,
          std::string("sealed memory is not available: ") + std::strerror(errno),
          "Linux 5.1 or later is needed; in a container, let seccomp pass memfd_create"};
}

Check check_populate() {
  void* page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool works = page != MAP_FAILED && ::madvise(page, 4096, MADV_POPULATE_READ) == 0;
  if (page != MAP_FAILED) ::munmap(page, 4096);
  if (works) return {"populate", Check::Result::ok, "MADV_POPULATE works", {}};
  return {"populate", Check::Result::note,
          "MADV_POPULATE is missing: registering large memory takes longer", "Linux 5.14 or later"};
}

Check check_pidfd() {
  const shm::Fd own(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (own.valid()) return {"pidfd", Check::Result::ok, "pidfd_open works", {}};
  return {"pidfd", Check::Result::warning,
          "pidfd_open is missing: a client's death shows by its socket alone",
          "Linux 5.3 or later; in a container, let seccomp pass pidfd_open"};
}

Check check_peer_pidfd() {
  int pair[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
    return {"peer pidfd", Check::Result::warning, std::strerror(errno), "raise the limit of fds"};
  }
  const shm::Fd left(pair[0]);
  const shm::Fd right(pair[1]);
  int pidfd = -1;
  socklen_t bytes = sizeof(pidfd);
  const bool works = ::getsockopt(left.get(), SOL_SOCKET, SO_PEERPIDFD, &pidfd, &bytes) == 0;
  const shm::Fd closes(works ? pidfd : -1);
  if (works) return {"peer pidfd", Check::Result::ok, "SO_PEERPIDFD works", {}};
  return {"peer pidfd", Check::Result::note,
          "SO_PEERPIDFD is missing: the library passes a pidfd of its own instead",
          "nothing to do; Linux 6.5 has it"};
}

bool read_number(const std::string& path, std::uint64_t* number) {
  std::string line;
  if (!read_line(path, &line)) return false;
  return std::from_chars(line.data(), line.data() + line.size(), *number).ec == std::errc{};
}

Check check_ptrace_scope(const std::string& sysctl) {
  std::uint64_t scope = 0;
  if (!read_number(sysctl + "/kernel/yama/ptrace_scope", &scope)) {
    return {"ptrace scope",
            Check::Result::ok,
            "not restricted by Yama; the daemon needs no ptrace",
            {}};
  }
  return {"ptrace scope",
          Check::Result::ok,
          std::to_string(scope) + "; the daemon needs no ptrace: any value will do",
          {}};
}

Check check_map_count(const std::string& sysctl) {
  constexpr std::uint64_t kWanted = 65'530;  // the kernel's default; the daemon maps 32,768 regions
  std::uint64_t count = 0;
  if (!read_number(sysctl + "/vm/max_map_count", &count)) {
    return {"max_map_count", Check::Result::note, "cannot be read", {}};
  }
  if (count >= kWanted) {
    return {"max_map_count", Check::Result::ok, std::to_string(count), {}};
  }
  return {"max_map_count", Check::Result::warning,
          std::to_string(count) + " is less than what sessions.host_regions may need",
          "sysctl vm.max_map_count=65530"};
}

}  // namespace

void check_kernel(const HostPaths& paths, std::vector<Check>* checks) {
  checks->push_back(check_seals());
  checks->push_back(check_populate());
  checks->push_back(check_pidfd());
  checks->push_back(check_peer_pidfd());
  checks->push_back(check_ptrace_scope(paths.sysctl));
  checks->push_back(check_map_count(paths.sysctl));
}

}  // namespace tentq::ctl
