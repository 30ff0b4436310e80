// See tls_handshakes.h.
#include "daemon/peers/tls_handshakes.h"

#include <pthread.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>

#include "transports/faults_only.h"

namespace tentq {
namespace {

using boost::asio::posix::descriptor_base;
using boost::system::error_code;

// For the other side to read why it is refused. What it sends meanwhile is thrown away: unread, it
// would reset the connection, and the reason with it.
constexpr std::chrono::milliseconds kLinger{500};
constexpr std::size_t kMostDropped = 256u << 10;

}  // namespace

class TlsHandshakes::Handshake : public std::enable_shared_from_this<Handshake> {
 public:
  Handshake(boost::asio::io_context& conductor, boost::asio::io_context& io, shm::Fd socket,
            std::unique_ptr<TlsStream> stream, Done done)
      : conductor_(conductor),
        socket_(std::move(socket)),
        stream_(std::move(stream)),
        descriptor_(std::in_place, io),
        timer_(std::in_place, io),
        done_(std::move(done)) {}
  ~Handshake() { stop(); }

  void run(Duration limit) {
    error_code error;
    descriptor_->assign(socket_.get(), error);
    if (error) return fail({PeerReason::closed, "the socket cannot be used: " + error.message()});
    timer_->expires_after(limit);
    timer_->async_wait([weak = weak_from_this()](error_code canceled) {
      const auto self = weak.lock();
      if (canceled || !self || self->over_) return;
      self->fail(
          {PeerReason::handshake_timeout, "the TLS handshake took too long; " +
                                              std::string(remedy(PeerReason::handshake_timeout))});
    });
    step();
  }

  // Conductor.
  void forget() { done_ = nullptr; }
  // The thread.
  void abandon() {
    if (over_) return;
    over_ = true;
    stop();
    socket_.reset();
  }

 private:
  void step() {
    if (over_) return;
    switch (stream_->shake_hands()) {
      case TlsStream::Step::reads: return wait(descriptor_base::wait_read);
      case TlsStream::Step::writes: return wait(descriptor_base::wait_write);
      case TlsStream::Step::failed: {
        fault_ = stream_->fault();
        return tell();
      }
      case TlsStream::Step::done: return finish();
    }
  }

  void wait(descriptor_base::wait_type what) {
    descriptor_->async_wait(what, [self = shared_from_this()](error_code error) {
      if (!error) self->step();
    });
  }

  // Why it failed goes out, then the end; the other side closes when it has read that.
  void tell() {
    timer_->expires_after(kLinger);
    timer_->async_wait([weak = weak_from_this()](error_code canceled) {
      const auto self = weak.lock();
      if (!canceled && self && !self->over_) self->finish();
    });
    flush();
  }
  void flush() {
    if (over_) return;
    if (!stream_->flush()) {
      descriptor_->async_wait(descriptor_base::wait_write,
                              [self = shared_from_this()](error_code error) {
                                if (!error) self->flush();
                              });
      return;
    }
    ::shutdown(socket_.get(), SHUT_WR);
    drop();
  }
  void drop() {
    if (over_) return;
    std::array<char, 4096> dropped;
    ssize_t got = 0;
    while (dropped_ < kMostDropped &&
           (got = ::recv(socket_.get(), dropped.data(), dropped.size(), MSG_DONTWAIT)) > 0) {
      dropped_ += static_cast<std::size_t>(got);
    }
    if (got >= 0 || (errno != EAGAIN && errno != EINTR)) return finish();
    descriptor_->async_wait(descriptor_base::wait_read,
                            [self = shared_from_this()](error_code error) {
                              if (!error) self->drop();
                            });
  }

  void fail(HandshakeFault fault) {
    fault_ = std::move(fault);
    finish();
  }

  void finish() {
    over_ = true;
    stop();
    if (fault_) {
      stream_.reset();
      socket_.reset();
    }
    boost::asio::post(conductor_, [self = shared_from_this()] {
      const Done done = std::exchange(self->done_, nullptr);
      if (done) done({std::move(self->socket_), std::move(self->stream_), self->fault_});
    });
  }

  // Nothing of the loop is kept: the conductor may have this longer.
  void stop() {
    timer_.reset();
    if (descriptor_ && descriptor_->is_open()) descriptor_->release();
    descriptor_.reset();
  }

  boost::asio::io_context& conductor_;
  shm::Fd socket_;
  std::unique_ptr<TlsStream> stream_;
  std::optional<boost::asio::posix::stream_descriptor> descriptor_;
  std::optional<boost::asio::steady_timer> timer_;
  std::optional<HandshakeFault> fault_;
  std::size_t dropped_ = 0;
  bool over_ = false;
  Done done_;  // the conductor's
};

TlsHandshakes::TlsHandshakes(boost::asio::io_context& conductor)
    : conductor_(conductor), work_(io_.get_executor()) {
  const FaultsOnly mask;
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "tentq-tls");
    io_.run();
  });
}

TlsHandshakes::~TlsHandshakes() {
  io_.stop();
  thread_.join();
}

std::shared_ptr<TlsHandshakes::Handshake> TlsHandshakes::start(
    shm::Fd socket, std::shared_ptr<const TlsTerms> terms, const std::string& dialed,
    Duration limit, Done done) {
  auto stream = std::make_unique<TlsStream>(std::move(terms), socket.get(), dialed);
  auto handshake = std::make_shared<Handshake>(conductor_, io_, std::move(socket),
                                               std::move(stream), std::move(done));
  boost::asio::post(io_, [handshake, limit] { handshake->run(limit); });
  return handshake;
}

void TlsHandshakes::give_up(const std::shared_ptr<Handshake>& handshake) {
  handshake->forget();
  boost::asio::post(io_, [handshake] { handshake->abandon(); });
}

}  // namespace tentq
