// Reading the key. See key_file.h.
#include "daemon/peers/key_file.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "shm/fd.h"

namespace tentq {
namespace {

std::string sizes(std::size_t least, std::size_t most) {
  return std::to_string(least) + " to " + std::to_string(most) + " bytes";
}

// Whether this is a file that may hold the key, by what it is and who can read it.
bool is_private(int fd, const std::string& path, std::string* why) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    *why = path + " is not a file; put the key into one";
    return false;
  }
  if ((status.st_mode & 077) != 0) {
    *why = "the key file " + path + " can be used by others than its owner: chmod 600 " + path;
    return false;
  }
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    *why = "the key file " + path + " belongs to uid " + std::to_string(status.st_uid) +
           ", who can change it: chown it to the daemon's user (uid " +
           std::to_string(::geteuid()) + ")";
    return false;
  }
  return true;
}

}  // namespace

bool read_private_file(const std::string& path, std::size_t least, std::size_t most, PeerKey* key,
                       std::string* why) {
  // Not to wait for the writer of a pipe.
  const shm::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) {
    *why = "the key file " + path + " cannot be opened: " + std::strerror(errno) +
           "; it must exist and belong to the daemon's user";
    return false;
  }
  if (!is_private(file.get(), path, why)) return false;
  // One byte for the newline, and one to see that there is more.
  std::vector<std::uint8_t> bytes(most + 2);
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      *why = "the key file " + path + " cannot be read: " + std::strerror(errno);
      return false;
    }
    size += static_cast<std::size_t>(got);
  }
  if (size > 0 && bytes[size - 1] == '\n') --size;
  if (size < least || size > most) {
    OPENSSL_cleanse(bytes.data(), bytes.size());
    *why = "the key file " + path + (size > most ? " is too long" : " is too short") +
           "; it must have " + sizes(least, most);
    return false;
  }
  std::vector<std::uint8_t> exact(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  OPENSSL_cleanse(bytes.data(), bytes.size());
  *key = PeerKey(std::move(exact));
  return true;
}

bool read_key_file(const std::string& path, PeerKey* key, std::string* why) {
  if (read_private_file(path, kLeastKeyBytes, kMostKeyBytes, key, why)) return true;
  *why += "; a key comes for example from `head -c 32 /dev/urandom | base64`";
  return false;
}

}  // namespace tentq
