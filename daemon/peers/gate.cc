// Accepting daemons. See gate.h.
#include "daemon/peers/gate.h"

#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <cerrno>

#include "daemon/peers/sockets.h"

namespace tentq {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

// Before connections are tried again that could not be taken.
constexpr std::chrono::milliseconds kAfterFailure{100};

}  // namespace

Arrival::Arrival(Gate& gate, const PeerTerms& terms, std::shared_ptr<PeerConnection> connection)
    : gate_(gate),
      handshake_(terms.key,
                 make_hello(terms.self, terms.key, terms.advertised(connection->local()))),
      connection_(std::move(connection)),
      limit_(gate.io_),
      most_(terms.settings.connect_timeout) {}

void Arrival::start() {
  limit_.expires_after(most_);
  limit_.async_wait([weak = weak_from_this()](error_code error) {
    const auto self = weak.lock();
    if (error || !self || self->over_) return;
    self->refuse(
        PeerReason::handshake_timeout,
        "the handshake took too long; " + std::string(remedy(PeerReason::handshake_timeout)));
  });
  connection_->read_by(this);
  connection_->resume();
}

void Arrival::received(const PeerMessage& message) {
  std::optional<PeerMessage> answer;
  const auto fault = handshake_.received(message, &answer);
  if (answer) {
    std::visit([this](const auto& m) { connection_->send(m); }, *answer);
  }
  if (fault) return refuse(fault->reason, fault->text);
  if (!handshake_.authenticated()) return;
  connection_->pause();
  // Who sends before READY does not keep to the protocol; on a data connection its bytes would be
  // lost here.
  if (connection_->has_more()) {
    return refuse(PeerReason::protocol_error, "the other side did not wait for READY");
  }
  gate_.host_.arrived(shared_from_this());
}

void Arrival::ended(PeerReason reason, const std::string& text) {
  if (over_) return;
  const std::string from = address();
  const auto self = shared_from_this();
  finish();
  gate_.host_.turned_away(from, {reason, text});
}

void Arrival::refuse(PeerReason reason, const std::string& text) {
  if (over_) return;
  const auto self = shared_from_this();
  connection_->refuse(reason, text);
  finish();
  gate_.host_.turned_away(address(), {reason, text});
}

std::shared_ptr<PeerConnection> Arrival::let_in(const PeerReady& ready) {
  const auto self = shared_from_this();
  connection_->read_by(nullptr);
  connection_->send(ready);
  connection_->let_in();
  finish();
  return connection_;
}

void Arrival::abandon() {
  over_ = true;
  limit_.cancel();
  connection_->close();
}

void Arrival::finish() {
  over_ = true;
  limit_.cancel();
  gate_.arrivals_.erase(shared_from_this());
}

Gate::Gate(boost::asio::io_context& io, const PeerTerms& terms, shm::Fd listening, Host& host)
    : io_(io),
      terms_(terms),
      host_(host),
      socket_(io),
      pause_(io),
      protocol_(terms.listens.protocol()),
      places_(std::make_shared<Places>()) {
  places_->gate = this;
  socket_.assign(listening.release());
}

Gate::~Gate() {
  places_->gate = nullptr;
  for (const auto& securing : securing_) terms_.handshakes->give_up(securing);
  for (const auto& arrival : arrivals_) arrival->abandon();
}

void Gate::wait() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read, [this](error_code error) {
    if (!error) accept_one();
  });
}

void Gate::accept_one() {
  if (places_->taken >= kMostArrivals) {
    waits_for_place_ = true;
    return;
  }
  int error = 0;
  shm::Fd fd = accept_peer(socket_.native_handle(), &error);
  if (fd.valid()) {
    take(std::move(fd));
    return wait();
  }
  if (error == EAGAIN || error == EINTR || error == ECONNABORTED) return wait();
  host_.accept_failed(error);
  pause();
}

void Gate::pause() {
  pause_.expires_after(kAfterFailure);
  pause_.async_wait([this](error_code error) {
    if (!error) wait();
  });
}

void Gate::take(shm::Fd fd) {
  hurry(fd.get(), terms_.settings.dscp);
  const auto remote = remote_of(fd.get());
  if (!remote) return;  // it is gone already
  const std::string host = host_of(*remote);
  const bool is_crowded = places_->of_address[host] >= kMostOfAddress;
  auto place = place_for(host);
  if (is_crowded) {
    const std::string text = "too many connections of this address are in their handshake";
    // With TLS nothing is said to who has not proved itself.
    if (!terms_.tls) {
      if (const auto connection = connection_of(std::move(fd), nullptr, std::move(place))) {
        connection->refuse(PeerReason::too_many, text);
      }
    }
    return host_.turned_away(text_of(*remote), {PeerReason::too_many, text});
  }
  if (terms_.tls) return secure(std::move(fd), *remote, std::move(place));
  let_speak(std::move(fd), nullptr, std::move(place));
}

void Gate::secure(shm::Fd fd, const tcp::endpoint& remote, std::shared_ptr<void> place) {
  // Its own handle: it is taken out when it is over.
  const auto own = std::make_shared<std::shared_ptr<TlsHandshakes::Handshake>>();
  *own = terms_.handshakes->start(
      std::move(fd), terms_.tls, {}, terms_.settings.connect_timeout,
      [this, own, remote, place = std::move(place)](TlsHandshakes::Result result) {
        securing_.erase(*own);
        own->reset();
        if (result.fault) return host_.turned_away(text_of(remote), *result.fault);
        let_speak(std::move(result.socket), std::move(result.stream), place);
      });
  securing_.insert(*own);
}

void Gate::let_speak(shm::Fd fd, std::unique_ptr<TlsStream> tls, std::shared_ptr<void> place) {
  auto connection = connection_of(std::move(fd), std::move(tls), std::move(place));
  if (!connection) return;
  const auto arrival = std::make_shared<Arrival>(*this, terms_, std::move(connection));
  arrivals_.insert(arrival);
  arrival->start();
}

std::shared_ptr<PeerConnection> Gate::connection_of(shm::Fd fd, std::unique_ptr<TlsStream> tls,
                                                    std::shared_ptr<void> place) {
  tcp::socket socket(io_);
  error_code error;
  socket.assign(protocol_, fd.get(), error);
  if (error) {
    host_.accept_failed(error.value());
    return nullptr;
  }
  fd.release();
  return std::make_shared<PeerConnection>(std::move(socket), std::move(tls), std::move(place));
}

// Given back when the connection lets go of it.
std::shared_ptr<void> Gate::place_for(const std::string& address) {
  ++places_->taken;
  ++places_->of_address[address];
  return {static_cast<void*>(nullptr), [places = places_, address](void*) {
            --places->taken;
            const auto found = places->of_address.find(address);
            if (--found->second == 0) places->of_address.erase(found);
            if (places->gate != nullptr) places->gate->place_left();
          }};
}

void Gate::place_left() {
  if (!waits_for_place_) return;
  waits_for_place_ = false;
  wait();
}

}  // namespace tentq
