// One attempt to reach another daemon: look the name up, connect to its addresses one after the
// other, prove each other by TLS if that is wanted, shake hands; each step with a time limit. Names
// are looked up by Asio's resolver, which has a thread of its own for all of them: a slow name
// server delays other names, never the conductor and never numeric addresses. Conductor thread
// (Asio callbacks).
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/peers/connection.h"
#include "daemon/peers/handshake.h"
#include "daemon/peers/terms.h"
#include "daemon/peers/tls_handshakes.h"

namespace tentq {

class Dial final : public PeerConnection::Reader, public std::enable_shared_from_this<Dial> {
 public:
  // What the own HELLO says of the connection.
  struct Purpose {
    PeerRole role = PeerRole::control;
    std::uint64_t link = 0;
    std::uint64_t connection = 0;
    std::string host;  // that the other side's certificate has to name, with TLS
  };
  // Exactly one is called, once and not from inside start(), unless the dial is canceled. The
  // connection is through its handshake, paused and all written.
  struct Outcome {
    std::function<void(std::shared_ptr<PeerConnection>, const DialerHandshake&)> done;
    std::function<void(const HandshakeFault&)> failed;
  };

  Dial(boost::asio::io_context& io, const PeerTerms& terms, Purpose purpose, Outcome outcome);

  void start(const PeerAddress& address);
  void start(const boost::asio::ip::tcp::endpoint& endpoint);
  void cancel();

 private:
  static constexpr std::size_t kMostAddresses = 8;  // of a name

  void resolve(const PeerAddress& address);
  void connect_next();
  void connected();
  void secured(TlsHandshakes::Result result);
  void shake_hands(std::unique_ptr<TlsStream> tls);
  void received(const PeerMessage& message) override;
  void ended(PeerReason reason, const std::string& text) override;
  void fail(PeerReason reason, const std::string& text);
  // After settings.connect_timeout, unless the step changes before.
  void limit(std::function<void()> then);

  boost::asio::io_context& io_;
  const PeerTerms& terms_;
  Purpose purpose_;
  Outcome outcome_;
  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::steady_timer timer_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::ip::tcp protocol_ = boost::asio::ip::tcp::v4();  // of it
  std::vector<boost::asio::ip::tcp::endpoint> untried_;         // the next one last
  HandshakeFault last_{PeerReason::unreachable, "the name has no address"};
  std::shared_ptr<TlsHandshakes::Handshake> securing_;
  std::shared_ptr<PeerConnection> connection_;
  std::optional<DialerHandshake> handshake_;
  std::uint64_t attempt_ = 0;  // to connect; a result of an earlier one changes nothing
  bool over_ = false;
};

}  // namespace tentq
