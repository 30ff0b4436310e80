// The door for other daemons: takes connections, leads each through its handshake within a time
// limit, and hands over those that are authenticated. Bounded: so many at once, so many of one
// address; who comes beyond waits in the socket's queue or is refused. Conductor thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "daemon/peers/connection.h"
#include "daemon/peers/handshake.h"
#include "daemon/peers/terms.h"
#include "daemon/peers/tls_handshakes.h"

namespace tentq {

class Gate;

// A connection on its way in.
class Arrival final : public PeerConnection::Reader, public std::enable_shared_from_this<Arrival> {
 public:
  Arrival(Gate& gate, const PeerTerms& terms, std::shared_ptr<PeerConnection> connection);

  void start();
  const PeerHello& hello() const { return handshake_.peer(); }
  std::string address() const { return text_of(connection_->remote()); }
  const std::string& certificate() const { return connection_->certificate(); }
  // It ended, was refused or let in: nothing more can be done with it.
  bool over() const { return over_; }
  void refuse(PeerReason reason, const std::string& text);
  // READY goes out, the connection is the caller's; it is paused.
  std::shared_ptr<PeerConnection> let_in(const PeerReady& ready);
  // At once and silently.
  void abandon();

 private:
  void received(const PeerMessage& message) override;
  void ended(PeerReason reason, const std::string& text) override;
  void finish();

  Gate& gate_;
  AcceptorHandshake handshake_;
  std::shared_ptr<PeerConnection> connection_;
  boost::asio::steady_timer limit_;
  Duration most_;
  bool over_ = false;
};

class Gate {
 public:
  static constexpr std::size_t kMostArrivals = 256;
  static constexpr std::size_t kMostOfAddress = 64;

  class Host {
   public:
    // Authenticated: it is to be let in or refused, now or later (its time limit goes on).
    virtual void arrived(const std::shared_ptr<Arrival>& arrival) = 0;
    virtual void turned_away(const std::string& address, const HandshakeFault& fault) = 0;
    // Connections cannot be taken (file descriptors used up).
    virtual void accept_failed(int error) = 0;

   protected:
    ~Host() = default;
  };

  // `listening` is from open_peer_listener().
  Gate(boost::asio::io_context& io, const PeerTerms& terms, shm::Fd listening, Host& host);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void start() { wait(); }
  std::size_t arrivals() const { return places_->taken; }

 private:
  friend class Arrival;
  // Connections in their handshake or being refused, by address. Outlives the gate in what is
  // left of them.
  struct Places {
    std::size_t taken = 0;
    std::map<std::string, std::size_t> of_address;
    Gate* gate = nullptr;
  };

  void wait();
  void accept_one();
  void pause();
  void take(shm::Fd fd);
  void secure(shm::Fd fd, const boost::asio::ip::tcp::endpoint& remote,
              std::shared_ptr<void> place);
  std::shared_ptr<PeerConnection> connection_of(shm::Fd fd, std::unique_ptr<TlsStream> tls,
                                                std::shared_ptr<void> place);
  void let_speak(shm::Fd fd, std::unique_ptr<TlsStream> tls, std::shared_ptr<void> place);
  std::shared_ptr<void> place_for(const std::string& address);
  void place_left();

  boost::asio::io_context& io_;
  const PeerTerms& terms_;
  Host& host_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer pause_;
  boost::asio::ip::tcp protocol_;
  std::shared_ptr<Places> places_;
  std::set<std::shared_ptr<TlsHandshakes::Handshake>> securing_;
  std::set<std::shared_ptr<Arrival>> arrivals_;
  bool waits_for_place_ = false;
};

}  // namespace tentq
