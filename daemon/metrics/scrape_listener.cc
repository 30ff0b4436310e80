// Accepting scrapers. See scrape_listener.h.
#include "daemon/metrics/scrape_listener.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace tentq {

namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

// Connections that wait to be taken.
constexpr int kBacklog = 64;
// Between two connections: a page costs the conductor some 100 us, so that who scrapes without end
// takes a fiftieth of it.
constexpr std::chrono::milliseconds kBetween{5};
// Before connections are tried again that could not be taken.
constexpr std::chrono::milliseconds kAfterFailure{100};

tcp protocol_of(int socket) {
  const auto at = endpoint_of(socket);
  return at && at->address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4();
}

}  // namespace

shm::Fd ScrapeListener::open(const Endpoint& at, int* error) {
  shm::Fd fd(::socket(at.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Not to be kept out by what a daemon before left to time out.
  const int on = 1;
  const auto* address = reinterpret_cast<const sockaddr*>(&at.address);
  if (fd.valid() && ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
      ::bind(fd.get(), address, at.length) == 0 && ::listen(fd.get(), kBacklog) == 0) {
    return fd;
  }
  *error = errno;
  return {};
}

ScrapeListener::ScrapeListener(boost::asio::io_context& io, shm::Fd listening,
                               std::function<std::string()> page,
                               std::function<void(int error)> failed)
    : io_(io),
      socket_(io),
      protocol_(protocol_of(listening.get())),
      pause_(io),
      page_(std::move(page)),
      failed_(std::move(failed)) {
  socket_.assign(listening.release());
}

ScrapeListener::~ScrapeListener() {
  for (auto& connection : connections_) {
    if (connection) connection->abandon();
  }
}

void ScrapeListener::start() {
  wait();
}

void ScrapeListener::wait() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read, [this](error_code error) {
    if (!error) accept_one();
  });
}

void ScrapeListener::accept_one() {
  const auto place = std::find(connections_.begin(), connections_.end(), nullptr);
  if (place == connections_.end()) {
    waits_for_place_ = true;
    return;
  }
  shm::Fd fd(::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.valid()) {
    const int error = errno;
    if (error == EAGAIN || error == EINTR || error == ECONNABORTED) return wait();
    failed_(error);
    return pause(kAfterFailure);
  }
  tcp::socket socket(io_);
  error_code error;
  socket.assign(protocol_, fd.get(), error);
  if (error) {
    failed_(error.value());
    return pause(kAfterFailure);
  }
  fd.release();
  *place = std::make_shared<ScrapeConnection>(
      std::move(socket), page_,
      [this, index = static_cast<std::size_t>(place - connections_.begin())] { closed(index); });
  (*place)->start();
  pause(kBetween);
}

void ScrapeListener::pause(std::chrono::milliseconds length) {
  pause_.expires_after(length);
  pause_.async_wait([this](error_code error) {
    if (!error) wait();
  });
}

void ScrapeListener::closed(std::size_t place) {
  connections_[place].reset();
  if (!waits_for_place_) return;
  waits_for_place_ = false;
  wait();
}

}  // namespace tentq
