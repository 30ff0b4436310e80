// Whether this user reaches the daemon: directory, sockets, group.
#include <grp.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "client/ctl/doctor.h"
#include "shm/packet_socket.h"

namespace tentq::ctl {
namespace {

constexpr std::uint64_t kTmpfsMagic = 0x01021994;

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string group_name(gid_t gid) {
  const group* found = ::getgrgid(gid);
  return found != nullptr ? found->gr_name : "gid " + std::to_string(gid);
}

bool in_group(gid_t gid) {
  if (::getegid() == gid) return true;
  const int most = ::getgroups(0, nullptr);
  if (most <= 0) return false;
  std::vector<gid_t> groups(static_cast<std::size_t>(most));
  const int got = ::getgroups(most, groups.data());
  groups.resize(static_cast<std::size_t>(std::max(got, 0)));
  return std::find(groups.begin(), groups.end(), gid) != groups.end();
}

Check check_directory(const std::string& directory) {
  struct stat facts {};
  const std::string remedy = "systemd-tmpfiles --create (tmpfiles.d/tentq.conf makes it)";
  if (::stat(directory.c_str(), &facts) != 0) {
    return {"directory", Check::Result::failure, directory + ": " + std::strerror(errno), remedy};
  }
  if (!S_ISDIR(facts.st_mode)) {
    return {"directory", Check::Result::failure, directory + " is not a directory", remedy};
  }
  if ((facts.st_mode & 0002u) != 0 && (facts.st_mode & S_ISVTX) == 0) {
    return {"directory", Check::Result::failure,
            directory + " can be written by everybody: sockets in it could be replaced",
            "chmod o-w " + directory};
  }
  struct statfs filesystem {};
  const bool volatile_memory = ::statfs(directory.c_str(), &filesystem) == 0 &&
                               static_cast<std::uint64_t>(filesystem.f_type) == kTmpfsMagic;
  if (!volatile_memory) {
    return {"directory", Check::Result::note,
            directory + " is not on tmpfs: sockets survive a reboot, the status page is slower",
            "use a directory under /run"};
  }
  return {"directory", Check::Result::ok, directory, {}};
}

Check check_group(const std::string& socket) {
  struct stat facts {};
  if (::stat(socket.c_str(), &facts) != 0) {
    return {"group", Check::Result::note, "unknown: " + socket + " is not there", {}};
  }
  const std::string group = group_name(facts.st_gid);
  if (::geteuid() == 0) return {"group", Check::Result::ok, "root needs no group", {}};
  const bool everybody = (facts.st_mode & 0006u) == 0006u;
  if (everybody || facts.st_uid == ::geteuid() || in_group(facts.st_gid)) {
    return {
        "group", Check::Result::ok, everybody ? "everybody may connect" : "member of " + group, {}};
  }
  return {"group", Check::Result::failure, "not a member of " + group + ", which owns " + socket,
          "usermod -aG " + group + " USER, then log in again (in Kubernetes: supplementalGroups)"};
}

Check check_socket(const char* name, const std::string& path, bool needed) {
  int error = 0;
  const shm::Fd socket = shm::connect_to(path, std::chrono::milliseconds{1000}, &error);
  if (socket.valid()) return {name, Check::Result::ok, path + " accepts connections", {}};
  const std::string failure = connect_failure(path, error);
  const auto semicolon = std::min(failure.find("; "), failure.size());
  const std::string remedy =
      semicolon == failure.size() ? std::string() : failure.substr(semicolon + 2);
  // Most users have no business on the admin socket.
  const bool forbidden = error == EACCES && !needed;
  return {name, forbidden ? Check::Result::note : Check::Result::failure,
          failure.substr(0, semicolon),
          forbidden ? "only root and group tentq-admin may drain, set and see all owners" : remedy};
}

}  // namespace

void check_access(const HostPaths& paths, std::vector<Check>* checks) {
  const Places& places = paths.places;
  checks->push_back(check_directory(directory_of(places.client_socket)));
  checks->push_back(check_group(places.client_socket));
  checks->push_back(check_socket("client socket", places.client_socket, true));
  checks->push_back(check_socket("admin socket", places.admin_socket, false));
}

}  // namespace tentq::ctl
