// Links to the daemons of other hosts: listens, dials what is wanted, lets in who proves that it
// belongs here, keeps links alive, and hands messages and sockets for data to its owner. All on the
// conductor; nothing blocks. In a few lines:
//
//   PeerTerms terms;
//   if (!load_terms(settings.peers, settings.state_directory, counter, random, &terms, &why)) …
//   PeerLinks links(io, std::move(terms), host);
//   if (!links.listen(&why)) …            // nothing when peers.listen is empty
//   links.want("node-7", &why);           // link_up() follows, again after every loss
//   links.send(key, PeerOpenSegment{…});  // answers come as received()
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/peers/gate.h"
#include "daemon/peers/link.h"
#include "daemon/peers/peer_message.h"
#include "daemon/peers/standings.h"
#include "daemon/peers/targets.h"
#include "daemon/peers/terms.h"

namespace tentq {

// Why there is no link: of an address that is wanted, or of somebody who came. For the log; `text`
// may be the other side's words and has to be escaped.
struct PeerTrouble {
  PeerReason reason{};
  bool dialed = false;
  std::string address;
  std::string text;
};

class PeerLinks final : Gate::Host, Link::Host, Targets::Host {
 public:
  // The owner. No call is made from inside a call of PeerLinks, but for its destructor, which makes
  // none at all. Every call may call PeerLinks back, but not destroy it.
  class Owner {
   public:
    // The link is READY. That of a dialer says also that nothing of its older links to that epoch
    // of the host is applied there any more.
    virtual void link_up(LinkKey key, const PeerLink& peer) = 0;
    // The key means nothing any more, but in fences that run. Every data connection that was handed
    // out has been asked back by fence() before.
    virtual void link_down(LinkKey key, const PeerLink& peer, PeerReason reason,
                           const std::string& text) = 0;
    // A connected, authenticated, non-blocking socket with nothing read of it, and its number in
    // the link; `stream`, if there is one, encrypts what goes over it. The owner keeps it until it
    // closes it: after fence(), or when it breaks (data_closed()).
    virtual void data_ready(LinkKey key, std::uint64_t connection, shm::Fd socket,
                            std::unique_ptr<ByteStream> stream) = 0;
    // Close that connection; `done` when it is closed and nothing that it brought is applied any
    // more: later, or at once. It may be called after PeerLinks is gone.
    virtual void fence(LinkKey key, std::uint64_t connection, std::function<void()> done) = 0;
    // From open_segment to grant, but fence: checked, and one that may come on this side.
    virtual void received(LinkKey key, const PeerMessage& message) = 0;
    virtual void no_link(const PeerTrouble& trouble) = 0;

   protected:
    ~Owner() = default;
  };

  // `terms.key` or `terms.tls` is empty when there are to be no links of that kind. Throws
  // std::system_error when a thread for TLS cannot be made.
  PeerLinks(boost::asio::io_context& io, PeerTerms terms, Owner& owner);
  ~PeerLinks();
  PeerLinks(const PeerLinks&) = delete;
  PeerLinks& operator=(const PeerLinks&) = delete;

  // Listens where the settings say; once. False with what is wrong and what to do in *why.
  bool listen(std::string* why);
  // Where it listens, host:port; empty: it does not.
  std::string listens_at() const;

  // A link to that address (host[:port]) is wanted from now on; again is nothing new. False with
  // what is wrong and what to do in *why: no address, no key, too many.
  bool want(const std::string& address, std::string* why);
  // Ends it, if nobody else's address needs it.
  void unwant(const std::string& address);
  // The link that serves a wanted address now.
  std::optional<LinkKey> link_to(const std::string& address) const;
  // The wanted addresses, as host:port, that a dialed link serves.
  std::vector<std::string> addresses_of(LinkKey key) const { return targets_.addresses_of(key); }
  const PeerLink* find(LinkKey key) const;

  // Queues a message, whose header.request is the caller's. False: there is no such link, or it
  // ends now because its other side does not read.
  template <class Message>
  bool send(LinkKey key, const Message& message) {
    const auto found = links_.find(key);
    return found != links_.end() && found->second->control().send(message);
  }
  // The owner closed a data connection by itself, and nothing that it brought is applied any more.
  // A dialer makes another.
  void data_closed(LinkKey key, std::uint64_t connection);
  // The other side broke a rule that the owner knows.
  void drop(LinkKey key, const std::string& text);

  // Reads the certificates again; links that are there go on with theirs. True without TLS, too;
  // false, and those before stay in force, with what is wrong and what to do in *why.
  bool renew_certificates(std::string* why);
  PeerAuth auth() const { return terms_.settings.auth; }

  std::size_t links() const { return links_.size(); }
  // Links not made and links ended, by PeerReason.
  const std::array<std::uint64_t, kPeerReasonCount>& counts() const { return counts_; }

 private:
  // An accepted host: at most one link, at most one that waits for its fences.
  struct Accepted {
    std::optional<LinkKey> link;
    std::shared_ptr<Arrival> waiting;
    std::size_t fences = 0;  // of its older data connections, not confirmed
  };
  struct Fence {
    HostId host{};
    LinkSide side{};
    std::vector<PeerFence> asked;  // by the other side, to be answered
  };
  using Connection = std::pair<LinkKey, std::uint64_t>;
  static constexpr std::size_t kMostFenceRequests = 16;  // for one connection

  // Gate::Host, Link::Host, Targets::Host.
  void arrived(const std::shared_ptr<Arrival>& arrival) override;
  void turned_away(const std::string& address, const HandshakeFault& fault) override;
  void accept_failed(int error) override;
  void link_received(Link& link, const PeerMessage& message) override;
  void link_ended(Link& link, PeerReason reason, const std::string& text) override;
  void link_settled(Link& link) override { targets_.settled(link.key()); }
  std::uint64_t next_link_number() override { return next_link_++; }
  std::optional<LinkKey> dialed(const std::shared_ptr<PeerConnection>& connection,
                                const DialerHandshake& handshake, HandshakeFault* why) override;
  void begin(LinkKey key) override;
  void superseded(LinkKey link) override;
  void dial_failed(const std::string& address, const HandshakeFault& fault) override;

  // Arrivals, in arrivals.cc.
  void admit_control(const std::shared_ptr<Arrival>& arrival);
  void admit_data(const std::shared_ptr<Arrival>& arrival);
  std::optional<HandshakeFault> judge_data(const Arrival& arrival, Link** link);
  void let_in(const HostId& host);
  // Whether the host's id was proved by another certificate, which it still uses.
  bool is_others(const HostId& host, const std::string& certificate) const;
  bool has_credentials(std::string* why) const;
  PeerReady granted(const PeerHello& hello) const;

  void end_older(const HostId& host, std::uint64_t epoch_counter);
  void lose(LinkKey key, PeerReason reason, const std::string& text);
  void after_loss(Link& link, PeerReason reason, const std::string& text);
  std::shared_ptr<Link> add(PeerLink peer, const std::shared_ptr<PeerConnection>& control);
  Link* link_at(LinkKey key) const;

  // Data connections, in data_connections.cc.
  void open_data(Link& link);
  void data_dialed(LinkKey key, std::uint64_t number,
                   const std::shared_ptr<PeerConnection>& connection,
                   const DialerHandshake& handshake);
  void data_failed(LinkKey key, std::uint64_t number);
  void hand_out(Link& link, std::uint64_t number, PeerConnection& connection);
  void fence(Link& link, std::uint64_t number);
  void fence_asked(Link& link, const PeerFence& message);
  void fence_done(Connection connection);

  void count(PeerReason reason) { ++counts_[static_cast<std::size_t>(reason)]; }
  // On the conductor, after the call that is running; not at all once this is gone.
  void later(std::function<void()> action);

  boost::asio::io_context& io_;
  PeerTerms terms_;
  std::unique_ptr<TlsHandshakes> handshakes_;  // null: no TLS
  Owner& owner_;
  std::shared_ptr<PeerLinks*> alive_;  // null inside: gone
  Standings standings_;
  Targets targets_;
  std::unique_ptr<Gate> gate_;
  std::map<LinkKey, std::shared_ptr<Link>> links_;
  std::map<HostId, Accepted> accepted_;
  std::map<Connection, Fence> fences_;
  std::array<std::uint64_t, kPeerReasonCount> counts_{};
  std::uint64_t next_link_ = 1;
  std::uint32_t next_key_ = 1;
};

}  // namespace tentq
