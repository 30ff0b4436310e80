// Single-instance lock and epoch. See instance.h.
#include "daemon/instance.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "shm/fd.h"

namespace tentq {

bool InstanceLock::acquire(const std::string& path, std::string* why) {
  shm::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file.valid()) {
    *why = "the lock file " + path + " cannot be opened: " + std::strerror(errno) +
           "; the directory belongs to tmpfiles.d (see deploy/tmpfiles.d)";
    return false;
  }
  // Closed before the lock is taken: closing any descriptor of the file would drop it.
  const int number = file.get();
  file.reset();
  const std::string pid_path = path + ".pid";
  try {
    lock_ = std::make_unique<boost::interprocess::file_lock>(path.c_str());
    // It is not close-on-exec and does not show its descriptor. That has the lowest free number,
    // which was the other's: there is no second thread yet.
    ::fcntl(number, F_SETFD, FD_CLOEXEC);
    if (!lock_->try_lock()) {
      std::string holder;
      std::ifstream(pid_path) >> holder;
      *why = "another tentqd runs already (pid " + holder + ", lock " + path +
             "); stop it, or give this one a lock_path of its own";
      return false;
    }
  } catch (const boost::interprocess::interprocess_exception& error) {
    *why = "the lock file " + path + " cannot be locked: " + error.what();
    return false;
  }
  std::ofstream(pid_path, std::ios::trunc) << ::getpid() << "\n";
  return true;
}

bool begin_epoch(const std::string& state_directory, Epoch* epoch, std::string* why) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(state_directory, error);
  const fs::path path = fs::path(state_directory) / "starts";
  std::uint64_t starts = 0;
  std::ifstream(path) >> starts;
  const fs::path fresh = fs::path(state_directory) / "starts.new";
  {
    std::ofstream out(fresh, std::ios::trunc);
    out << starts + 1 << "\n";
    out.flush();
    if (!out) {
      *why = "the start counter " + fresh.string() + " cannot be written: " + std::strerror(errno) +
             "; make state_directory writable for the daemon";
      return false;
    }
  }
  fs::rename(fresh, path, error);
  if (error) {
    *why = "the start counter " + path.string() + " cannot be replaced: " + error.message();
    return false;
  }
  epoch->counter = starts + 1;
  return ::getrandom(&epoch->random, sizeof epoch->random, 0) ==
         static_cast<ssize_t>(sizeof epoch->random);
}

}  // namespace tentq
