// The host id's file. See identity.h.
#include "daemon/peers/identity.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "daemon/peers/proof.h"
#include "shm/fd.h"

namespace tentq {
namespace {

constexpr std::size_t kTextBytes = 2 * sizeof(HostId);

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool parse_host(const char* text, HostId* host) {
  for (std::size_t i = 0; i < host->size(); ++i) {
    const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    (*host)[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return *host != HostId{};
}

enum class Found { yes, no, broken };

Found read_host(const std::string& path, HostId* host, std::string* why) {
  const shm::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid() && errno == ENOENT) return Found::no;
  char text[kTextBytes + 2] = {};
  const ssize_t got = file.valid() ? ::read(file.get(), text, sizeof(text)) : -1;
  if (got < 0) {
    *why = path + " cannot be read: " + std::strerror(errno);
    return Found::broken;
  }
  if (got == kTextBytes + 1 && text[kTextBytes] == '\n' && parse_host(text, host)) {
    return Found::yes;
  }
  *why =
      path + " does not hold a host id of 32 hexadecimal digits; remove it, and a new one is made";
  return Found::broken;
}

// Whole or not at all, also when the machine loses power: written aside, then renamed.
bool write_host(const std::string& directory, const std::string& path, const HostId& host) {
  const std::string fresh = path + ".new";
  const std::string text = host_text(host) + '\n';
  shm::Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.valid() ||
      ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fsync(file.get()) != 0 || ::rename(fresh.c_str(), path.c_str()) != 0) {
    return false;
  }
  const shm::Fd parent(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return parent.valid() && ::fsync(parent.get()) == 0;
}

}  // namespace

std::string host_text(const HostId& host) {
  std::string text;
  for (const std::uint8_t byte : host) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

bool load_host_id(const std::string& state_directory, std::uint64_t epoch_counter, HostId* host,
                  std::string* why) {
  const std::string path = state_directory + "/host_id";
  if (epoch_counter > 1) {
    const Found found = read_host(path, host, why);
    if (found != Found::no) return found == Found::yes;
  }
  fill_random(host->data(), host->size());
  if (write_host(state_directory, path, *host)) return true;
  *why = "the host id " + path + " cannot be written: " + std::strerror(errno) +
         "; make state_directory writable for the daemon";
  return false;
}

}  // namespace tentq
