// Reaching another daemon. See dial.h.
#include "daemon/peers/dial.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>

namespace tentq {

using boost::asio::ip::tcp;
using boost::system::error_code;

Dial::Dial(boost::asio::io_context& io, const PeerTerms& terms, Purpose purpose, Outcome outcome)
    : io_(io),
      terms_(terms),
      purpose_(purpose),
      outcome_(std::move(outcome)),
      resolver_(io),
      timer_(io),
      socket_(io) {}

void Dial::start(const PeerAddress& address) {
  error_code error;
  const auto numeric = boost::asio::ip::make_address(address.host, error);
  if (!error) return start(tcp::endpoint(numeric, address.port));
  resolve(address);
}

void Dial::start(const tcp::endpoint& endpoint) {
  untried_ = {endpoint};
  boost::asio::post(io_, [self = shared_from_this()] { self->connect_next(); });
}

void Dial::resolve(const PeerAddress& address) {
  resolver_.async_resolve(
      address.host, std::to_string(address.port), tcp::resolver::numeric_service,
      [self = shared_from_this()](error_code error, const tcp::resolver::results_type& found) {
        if (self->over_) return;
        if (error) {
          return self->fail(PeerReason::unreachable,
                            "the name cannot be looked up: " + error.message());
        }
        for (const auto& entry : found) {
          if (self->untried_.size() < kMostAddresses) self->untried_.push_back(entry.endpoint());
        }
        std::reverse(self->untried_.begin(), self->untried_.end());
        self->connect_next();
      });
  limit([this] { fail(PeerReason::connect_timeout, "the name server does not answer"); });
}

void Dial::connect_next() {
  if (over_) return;
  if (untried_.empty()) return fail(last_.reason, last_.text);
  const tcp::endpoint endpoint = untried_.back();
  untried_.pop_back();
  int error = 0;
  shm::Fd fd = open_peer_stream(endpoint.protocol(), &error);
  error_code failed(error, boost::system::system_category());
  socket_ = tcp::socket(io_);
  protocol_ = endpoint.protocol();
  if (fd.valid()) {
    hurry(fd.get(), terms_.settings.dscp);
    socket_.assign(endpoint.protocol(), fd.get(), failed);
    if (!failed) fd.release();
  }
  if (failed) {
    last_ = {PeerReason::unreachable, text_of(endpoint) + ": " + failed.message()};
    return connect_next();
  }
  const auto attempt = ++attempt_;
  socket_.async_connect(
      endpoint, [self = shared_from_this(), endpoint, attempt](error_code result) {
        if (self->over_ || attempt != self->attempt_) return;
        if (!result) return self->connected();
        self->last_ = {PeerReason::unreachable, text_of(endpoint) + ": " + result.message()};
        self->connect_next();
      });
  limit([this, endpoint] {
    last_ = {PeerReason::connect_timeout, text_of(endpoint) + " does not answer"};
    error_code ignored;
    ++attempt_;
    socket_.close(ignored);
    connect_next();
  });
}

void Dial::connected() {
  if (!terms_.tls) return shake_hands(nullptr);
  timer_.cancel();
  error_code error;
  shm::Fd fd(socket_.release(error));
  if (error) return fail(PeerReason::closed, "the connection broke: " + error.message());
  securing_ = terms_.handshakes->start(std::move(fd), terms_.tls, purpose_.host,
                                       terms_.settings.connect_timeout,
                                       [self = shared_from_this()](TlsHandshakes::Result result) {
                                         self->securing_.reset();
                                         if (!self->over_) self->secured(std::move(result));
                                       });
}

void Dial::secured(TlsHandshakes::Result result) {
  if (result.fault) return fail(result.fault->reason, result.fault->text);
  error_code error;
  socket_ = tcp::socket(io_);
  socket_.assign(protocol_, result.socket.get(), error);
  if (error) return fail(PeerReason::closed, "the connection broke: " + error.message());
  result.socket.release();
  shake_hands(std::move(result.stream));
}

void Dial::shake_hands(std::unique_ptr<TlsStream> tls) {
  connection_ = std::make_shared<PeerConnection>(std::move(socket_), std::move(tls), nullptr);
  PeerHello hello = make_hello(terms_.self, terms_.key, terms_.advertised(connection_->local()));
  hello.role = purpose_.role;
  hello.link = purpose_.link;
  hello.connection = purpose_.connection;
  handshake_.emplace(terms_.key, hello);
  connection_->read_by(this);
  connection_->send(hello);
  connection_->resume();
  limit([this] {
    fail(PeerReason::handshake_timeout,
         text_of(connection_->remote()) + " takes connections but does not shake hands");
  });
}

void Dial::received(const PeerMessage& message) {
  if (over_) return;
  std::optional<PeerProof> answer;
  if (const auto fault = handshake_->received(message, &answer)) {
    return fail(fault->reason, fault->text);
  }
  if (answer) connection_->send(*answer);
  if (!handshake_->done()) return;
  connection_->pause();
  // Nothing can come there before this side asks for it.
  if (purpose_.role == PeerRole::data && connection_->has_more()) {
    return fail(PeerReason::protocol_error, "the other side sent data that nobody asked for");
  }
  connection_->flush([self = shared_from_this()] {
    if (self->over_) return;
    self->over_ = true;
    self->timer_.cancel();
    self->connection_->read_by(nullptr);
    const auto done = std::move(self->outcome_.done);
    done(std::move(self->connection_), *self->handshake_);
  });
}

void Dial::ended(PeerReason reason, const std::string& text) {
  fail(reason, text);
}

void Dial::fail(PeerReason reason, const std::string& text) {
  if (over_) return;
  const auto self = shared_from_this();
  const auto failed = std::move(outcome_.failed);
  // A refusal is answered by nothing but the end.
  if (connection_ && reason != PeerReason::refused && reason != PeerReason::closed) {
    connection_->refuse(reason, text);
    connection_.reset();
  }
  cancel();
  failed({reason, text});
}

void Dial::cancel() {
  const auto self = shared_from_this();
  over_ = true;
  outcome_ = {};
  resolver_.cancel();
  timer_.cancel();
  if (const auto securing = std::exchange(securing_, nullptr)) {
    terms_.handshakes->give_up(securing);
  }
  error_code ignored;
  socket_.close(ignored);
  if (connection_) connection_->close();
}

void Dial::limit(std::function<void()> then) {
  timer_.expires_after(terms_.settings.connect_timeout);
  timer_.async_wait([weak = weak_from_this(), then = std::move(then)](error_code error) {
    const auto self = weak.lock();
    if (!error && self && !self->over_) then();
  });
}

}  // namespace tentq
