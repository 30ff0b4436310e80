// See recording_relay.h.
#include "tests/processes/recording_relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "tests/support/loopback.h"

namespace tentq::test {
namespace {

int need(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

}  // namespace

RecordingRelay::RecordingRelay(std::uint16_t to)
    : to_(to),
      listener_(need(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")),
      stop_(need(::eventfd(0, EFD_CLOEXEC), "eventfd")) {
  sockaddr_in at = loopback(0);
  socklen_t length = sizeof(at);
  need(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&at), length), "bind");
  need(::listen(listener_.get(), 16), "listen");
  need(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&at), &length), "getsockname");
  address_ = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  thread_ = std::thread([this] { run(); });
}

RecordingRelay::~RecordingRelay() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

std::size_t RecordingRelay::recorded_bytes() const {
  const std::lock_guard lock(mutex_);
  return record_.size();
}

bool RecordingRelay::recorded(std::string_view text) const {
  const std::lock_guard lock(mutex_);
  return record_.find(text) != std::string::npos;
}

void RecordingRelay::run() {
  for (;;) {
    std::vector<pollfd> fds = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const Way& way : ways_) {
      fds.push_back({way.near.get(), POLLIN, 0});
      fds.push_back({way.far.get(), POLLIN, 0});
    }
    if (::poll(fds.data(), fds.size(), -1) < 0) continue;
    if (fds[0].revents != 0) return;
    std::vector<Way> left;
    for (std::size_t i = 0; i < ways_.size(); ++i) {
      Way& way = ways_[i];
      const bool near_lives = fds[2 + 2 * i].revents == 0 || pass(way.near.get(), way.far.get());
      const bool far_lives = fds[3 + 2 * i].revents == 0 || pass(way.far.get(), way.near.get());
      if (near_lives && far_lives) left.push_back(std::move(way));
    }
    ways_ = std::move(left);
    if (fds[1].revents != 0) accept_one();
  }
}

void RecordingRelay::accept_one() {
  Way way{shm::Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)),
          shm::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
  const sockaddr_in at = loopback(to_);
  if (!way.near.valid() || !way.far.valid() ||
      ::connect(way.far.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)) != 0) {
    return;
  }
  ways_.push_back(std::move(way));
}

bool RecordingRelay::pass(int from, int to) {
  std::array<char, 65536> bytes;
  const ssize_t got = ::recv(from, bytes.data(), bytes.size(), 0);
  if (got <= 0) return false;
  const auto size = static_cast<std::size_t>(got);
  {
    const std::lock_guard lock(mutex_);
    record_.append(bytes.data(), size);
  }
  return ::send(to, bytes.data(), size, MSG_NOSIGNAL) == got;
}

}  // namespace tentq::test
