// The addresses at which this daemon wants links, each dialed until it has one and again when it is
// lost, with growing pauses. Two addresses of one host share a link: an acceptor keeps only the
// newest of a host, so two would end each other for ever. Conductor thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/peers/backoff.h"
#include "daemon/peers/dial.h"
#include "daemon/peers/link.h"

namespace tentq {

class Targets {
 public:
  class Host {
   public:
    virtual std::uint64_t next_link_number() = 0;
    // The handshake is over. The link's key; or none, and why, if the host is not to be believed.
    virtual std::optional<LinkKey> dialed(const std::shared_ptr<PeerConnection>& connection,
                                          const DialerHandshake& handshake,
                                          HandshakeFault* why) = 0;
    // That link is known here, too: it may be used.
    virtual void begin(LinkKey link) = 0;
    // Another link to the same host took its place.
    virtual void superseded(LinkKey link) = 0;
    virtual void dial_failed(const std::string& address, const HandshakeFault& fault) = 0;

   protected:
    ~Host() = default;
  };

  Targets(boost::asio::io_context& io, const PeerTerms& terms, Host& host)
      : io_(io), terms_(terms), host_(host) {}
  ~Targets();
  Targets(const Targets&) = delete;
  Targets& operator=(const Targets&) = delete;

  // Dials soon. False: there are peers.most already.
  bool want(const PeerAddress& address);
  // The link that only this address wanted, which is to be ended.
  std::optional<LinkKey> unwant(const PeerAddress& address);
  std::optional<LinkKey> link_to(const PeerAddress& address) const;
  // All that the link serves, as host:port.
  std::vector<std::string> addresses_of(LinkKey link) const;
  // The link is gone: it is dialed again.
  void lost(LinkKey link);
  // It proved stable: the next loss is followed by the shortest pause again.
  void settled(LinkKey link);

 private:
  struct Target {
    Target(boost::asio::io_context& io, PeerAddress at, std::uint64_t seed)
        : where(std::move(at)), backoff(seed), pause(io) {}

    PeerAddress where;
    Backoff backoff;
    boost::asio::steady_timer pause;
    std::shared_ptr<Dial> dial;
    std::optional<LinkKey> link;
    std::optional<HostId> host;  // whom it led to last
    std::string same_as;         // not empty: another target has the link to that host
  };

  Target* find(const std::string& name);
  void dial(Target& target);
  void dial_later(Target& target);
  void done(const std::string& name, const std::shared_ptr<PeerConnection>& connection,
            const DialerHandshake& handshake);
  void failed(const std::string& name, const HandshakeFault& fault);
  // Others that lead to the same host stop dialing and share this one's link.
  void absorb(const std::string& name, const HostId& host);
  // They dial by themselves again.
  void release_followers(const std::string& name);

  boost::asio::io_context& io_;
  const PeerTerms& terms_;
  Host& host_;
  std::map<std::string, std::unique_ptr<Target>> targets_;  // by host:port
};

}  // namespace tentq
