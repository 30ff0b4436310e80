// Making and losing links, and what the owner asks of them. See links.h.
#include "daemon/peers/links.h"

#include <boost/asio/post.hpp>
#include <cstring>

namespace tentq {
namespace {

// Hosts whose newest epoch is remembered, beyond those that may have links.
constexpr std::size_t kRemembered = 1024;

}  // namespace

PeerLinks::PeerLinks(boost::asio::io_context& io, PeerTerms terms, Owner& owner)
    : io_(io),
      terms_(std::move(terms)),
      handshakes_(terms_.tls ? std::make_unique<TlsHandshakes>(io) : nullptr),
      owner_(owner),
      alive_(std::make_shared<PeerLinks*>(this)),
      standings_(2 * terms_.settings.most + kRemembered),
      targets_(io, terms_, *this) {
  terms_.listens = {};
  terms_.handshakes = handshakes_.get();
}

PeerLinks::~PeerLinks() {
  *alive_ = nullptr;
  for (const auto& [key, link] : links_) {
    link->stop(PeerReason::dropped, "the daemon stops");
  }
}

bool PeerLinks::listen(std::string* why) {
  const auto at = parse_endpoint(terms_.settings.listen);
  if (!at) return true;
  if (!has_credentials(why)) return false;
  int error = 0;
  shm::Fd fd = open_peer_listener(*at, &error);
  const auto bound = fd.valid() ? endpoint_of(fd.get()) : std::nullopt;
  if (!bound) {
    *why = terms_.settings.listen + " cannot be listened at: " + std::strerror(error) +
           "; set `peers.listen` to an address and port of this host that is free";
    return false;
  }
  terms_.listens.resize(bound->length);
  std::memcpy(terms_.listens.data(), &bound->address, bound->length);
  gate_ = std::make_unique<Gate>(io_, terms_, std::move(fd), static_cast<Gate::Host&>(*this));
  gate_->start();
  return true;
}

bool PeerLinks::has_credentials(std::string* why) const {
  if (terms_.settings.auth == PeerAuth::psk && terms_.key.empty()) {
    *why =
        "this daemon has no key for other hosts: set `peers.key_file`, on all of them to the "
        "same key";
    return false;
  }
  if (terms_.settings.auth == PeerAuth::mtls && !terms_.tls) {
    *why =
        "this daemon has no certificate for other hosts: set `peers.tls_ca_file`, "
        "`peers.tls_certificate_file` and `peers.tls_key_file`";
    return false;
  }
  return true;
}

bool PeerLinks::renew_certificates(std::string* why) {
  if (!terms_.tls) return true;
  auto renewed = TlsTerms::load(terms_.settings, why);
  if (!renewed) return false;
  terms_.tls = std::move(renewed);
  return true;
}

std::string PeerLinks::listens_at() const {
  return gate_ ? text_of(terms_.listens) : std::string();
}

bool PeerLinks::want(const std::string& address, std::string* why) {
  const auto parsed = parse_peer_address(address);
  if (!parsed) {
    *why = "it is no address of a host; write a name or an IP address, and a port if it is not " +
           std::to_string(kPeerPort) + ": \"node-7\", \"10.0.0.2:7471\", \"[fd00::2]:7471\"";
    return false;
  }
  if (!has_credentials(why)) return false;
  if (targets_.want(*parsed)) return true;
  *why = "there are links to " + std::to_string(terms_.settings.most) +
         " hosts already; raise `peers.most`";
  return false;
}

void PeerLinks::unwant(const std::string& address) {
  const auto parsed = parse_peer_address(address);
  if (!parsed) return;
  const auto link = targets_.unwant(*parsed);
  if (!link) return;
  later([this, key = *link] { lose(key, PeerReason::dropped, "it is no longer wanted"); });
}

std::optional<LinkKey> PeerLinks::link_to(const std::string& address) const {
  const auto parsed = parse_peer_address(address);
  return parsed ? targets_.link_to(*parsed) : std::nullopt;
}

Link* PeerLinks::link_at(LinkKey key) const {
  const auto found = links_.find(key);
  return found == links_.end() ? nullptr : found->second.get();
}

const PeerLink* PeerLinks::find(LinkKey key) const {
  const Link* link = link_at(key);
  return link == nullptr ? nullptr : &link->peer();
}

void PeerLinks::drop(LinkKey key, const std::string& text) {
  later([this, key, text] { lose(key, PeerReason::protocol_error, text); });
}

void PeerLinks::later(std::function<void()> action) {
  boost::asio::post(io_, [alive = alive_, action = std::move(action)] {
    if (*alive != nullptr) action();
  });
}

std::optional<LinkKey> PeerLinks::dialed(const std::shared_ptr<PeerConnection>& connection,
                                         const DialerHandshake& handshake, HandshakeFault* why) {
  const PeerHello& hello = handshake.peer();
  if (const auto reason = standings_.judge_epoch(hello)) {
    *why = {*reason, "an older or another daemon answers for host " + host_text(hello.host) + "; " +
                         std::string(remedy(*reason))};
    return std::nullopt;
  }
  standings_.record_epoch(hello);
  end_older(hello.host, hello.epoch_counter);
  PeerLink peer;
  peer.side = LinkSide::dialed;
  peer.host = hello.host;
  peer.epoch_counter = hello.epoch_counter;
  peer.epoch_random = hello.epoch_random;
  peer.link = handshake.hello().link;
  peer.features = hello.features;
  peer.address = text_of(connection->remote());
  peer.certificate = connection->certificate();
  peer.dialed = connection->dialed();
  peer.advertised = hello.advertised.view();
  peer.ready = handshake.ready();
  return add(std::move(peer), connection)->key();
}

void PeerLinks::begin(LinkKey key) {
  const auto link = links_.at(key);
  owner_.link_up(key, link->peer());
  if (link_at(key) == nullptr) return;
  link->start();
  if (link_at(key) != nullptr) open_data(*link);
}

std::shared_ptr<Link> PeerLinks::add(PeerLink peer,
                                     const std::shared_ptr<PeerConnection>& control) {
  const LinkKey key{next_key_++};
  const auto link = std::make_shared<Link>(io_, static_cast<Link::Host&>(*this), key,
                                           std::move(peer), control, terms_.settings.timeout);
  links_[key] = link;
  return link;
}

// What an epoch of the host before this one left.
void PeerLinks::end_older(const HostId& host, std::uint64_t epoch_counter) {
  std::vector<LinkKey> older;
  for (const auto& [key, link] : links_) {
    if (link->peer().host == host && link->peer().epoch_counter < epoch_counter) {
      older.push_back(key);
    }
  }
  for (const LinkKey key : older) lose(key, PeerReason::replaced, "its host started anew");
}

void PeerLinks::superseded(LinkKey link) {
  lose(link, PeerReason::replaced, "another address leads to the same host");
}

void PeerLinks::dial_failed(const std::string& address, const HandshakeFault& fault) {
  count(fault.reason);
  owner_.no_link({fault.reason, true, address, fault.text});
}

void PeerLinks::turned_away(const std::string& address, const HandshakeFault& fault) {
  count(fault.reason);
  owner_.no_link({fault.reason, false, address, fault.text});
}

void PeerLinks::accept_failed(int error) {
  turned_away(listens_at(), {PeerReason::too_many,
                             std::string("connections cannot be taken: ") + std::strerror(error)});
}

void PeerLinks::link_received(Link& link, const PeerMessage& message) {
  if (const auto* asked = std::get_if<PeerFence>(&message)) return fence_asked(link, *asked);
  owner_.received(link.key(), message);
}

void PeerLinks::link_ended(Link& link, PeerReason reason, const std::string& text) {
  after_loss(link, reason, text);
}

void PeerLinks::lose(LinkKey key, PeerReason reason, const std::string& text) {
  const auto found = links_.find(key);
  if (found == links_.end()) return;
  const auto link = found->second;
  link->stop(reason, text);
  after_loss(*link, reason, text);
}

// The link is stopped. It leaves the tables first, so that the owner's calls see it gone.
void PeerLinks::after_loss(Link& link, PeerReason reason, const std::string& text) {
  const auto kept = link.shared_from_this();
  const LinkKey key = link.key();
  const HostId host = link.peer().host;
  if (links_.erase(key) == 0) return;
  count(reason);
  PeerLink ended = link.peer();
  if (ended.side == LinkSide::dialed) {
    ended.served = targets_.addresses_of(key);
    targets_.lost(key);
  } else if (const auto found = accepted_.find(host); found->second.link == key) {
    found->second.link.reset();
  }
  const auto handed = link.handed;
  for (const std::uint64_t number : handed) fence(link, number);
  owner_.link_down(key, ended, reason, text);
  let_in(host);
}

}  // namespace tentq
