// A link to another daemon, from READY to its end: its control connection, the keepalive, and which
// data connections it has. The dialer asks, the acceptor answers. Conductor thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/peers/backoff.h"
#include "daemon/peers/connection.h"
#include "daemon/peers/dial.h"
#include "daemon/peers/number_window.h"
#include "proto/ids.h"

namespace tentq {

enum class LinkSide : std::uint8_t { dialed, accepted };

// What is known of a link; but for `served` it does not change.
struct PeerLink {
  LinkSide side{};
  HostId host{};
  std::uint64_t epoch_counter = 0;  // of the other host
  std::uint64_t epoch_random = 0;
  std::uint64_t link = 0;      // the dialer's number
  std::uint64_t features = 0;  // of the other host
  std::string address;         // of the other end, host:port
  std::string certificate;     // the name in the other host's; empty without TLS
  std::string dialed;          // the name that it had to have; likewise, and on the acceptor's side
  std::string advertised;      // where the other host can be dialed; empty: it cannot
  PeerReady ready;             // what the acceptor grants
  std::vector<std::string> served;  // once it has ended: the wanted addresses that it served
};

class Link final : public PeerConnection::Reader, public std::enable_shared_from_this<Link> {
 public:
  class Host {
   public:
    // A message that may come on this side of a link; hello to ready, ping and pong never do.
    virtual void link_received(Link& link, const PeerMessage& message) = 0;
    virtual void link_ended(Link& link, PeerReason reason, const std::string& text) = 0;
    // It has lived long enough to be called stable.
    virtual void link_settled(Link& link) = 0;

   protected:
    ~Host() = default;
  };

  // `timeout`: silence that ends it.
  Link(boost::asio::io_context& io, Host& host, LinkKey key, PeerLink peer,
       std::shared_ptr<PeerConnection> control, Duration timeout);

  void start();
  // Tells the other side why, and hears nothing more.
  void stop(PeerReason reason, const std::string& text);

  LinkKey key() const { return key_; }
  const PeerLink& peer() const { return peer_; }
  PeerConnection& control() { return *control_; }

  // Data connections, kept here for PeerLinks.
  std::set<std::uint64_t> handed;                                    // the owner's
  std::map<std::uint64_t, std::shared_ptr<Dial>> dials;              // being made, dialer
  std::map<std::uint64_t, std::shared_ptr<PeerConnection>> opening;  // READY is on its way
  NumberWindow numbers;                                              // seen, acceptor
  std::uint64_t next_connection = 1;                                 // dialer
  Backoff backoff;  // between data connections, dialer
  std::map<std::uint64_t, std::chrono::steady_clock::time_point> made;  // when, dialer's
  boost::asio::steady_timer pause;                                      // likewise
  bool pausing = false;

 private:
  void tick();
  void received(const PeerMessage& message) override;
  void ended(PeerReason reason, const std::string& text) override;

  Host& host_;
  LinkKey key_;
  PeerLink peer_;
  std::shared_ptr<PeerConnection> control_;
  boost::asio::steady_timer keepalive_;
  Duration third_;
  unsigned silent_ = 0;  // thirds of the timeout in which nothing came
  bool settled_ = false;
  bool stopped_ = false;
};

}  // namespace tentq
