// Accepting of connections. See listener.h.
#include "daemon/listener.h"

#include <sys/socket.h>

#include <cerrno>

namespace tentq {

namespace {

// Before connections are tried again that could not be taken.
constexpr std::chrono::milliseconds kPause{100};

}  // namespace

Listener::Listener(boost::asio::io_context& io, shm::Fd listening, bool admin,
                   ControlChannel::Host& host, Accepted accepted, Failed failed)
    : io_(io),
      socket_(io, listening.release()),
      admin_(admin),
      host_(host),
      accepted_(std::move(accepted)),
      failed_(std::move(failed)),
      pause_(io) {}

void Listener::start() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this](boost::system::error_code error) {
                       if (!error) on_readable();
                     });
}

void Listener::stop() {
  boost::system::error_code ignored;
  socket_.close(ignored);
  pause_.cancel();
}

void Listener::on_readable() {
  // A few a turn, so that a flood of connections holds nobody up.
  for (int i = 0; i < 8; ++i) {
    shm::Fd fd(::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid() &&
        (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
      failed_(errno);
      pause_.expires_after(kPause);
      return pause_.async_wait([this](boost::system::error_code error) {
        if (!error) start();
      });
    }
    if (!fd.valid()) break;
    shm::PeerCredentials credentials;
    if (shm::peer_credentials(fd.get(), &credentials) != 0) continue;
    accepted_(std::make_shared<ControlChannel>(io_, host_, std::move(fd), std::move(credentials),
                                               admin_));
  }
  start();
}

}  // namespace tentq
