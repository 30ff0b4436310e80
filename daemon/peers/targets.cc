// Dialing what is wanted. See targets.h.
#include "daemon/peers/targets.h"

namespace tentq {
namespace {

// What is tried again only slowly: somebody has to change a configuration first.
bool is_lasting(PeerReason reason) {
  return reason == PeerReason::itself || reason == PeerReason::twin ||
         reason == PeerReason::incompatible || reason == PeerReason::auth_mismatch ||
         reason == PeerReason::wrong_key || reason == PeerReason::certificate_expired ||
         reason == PeerReason::certificate_not_yet_valid || reason == PeerReason::unknown_ca ||
         reason == PeerReason::wrong_name || reason == PeerReason::bad_certificate ||
         reason == PeerReason::tls_version;
}

void stop(auto& target) {
  if (target.dial) target.dial->cancel();
  target.dial.reset();
  target.pause.cancel();
}

}  // namespace

Targets::~Targets() {
  for (const auto& [name, target] : targets_) stop(*target);
}

Targets::Target* Targets::find(const std::string& name) {
  const auto found = targets_.find(name);
  return found == targets_.end() ? nullptr : found->second.get();
}

bool Targets::want(const PeerAddress& address) {
  const std::string name = address.text();
  if (find(name) != nullptr) return true;
  if (targets_.size() >= terms_.settings.most) return false;
  std::uint64_t seed = 0;
  fill_random(reinterpret_cast<std::uint8_t*>(&seed), sizeof(seed));
  dial(*(targets_[name] = std::make_unique<Target>(io_, address, seed)));
  return true;
}

std::optional<LinkKey> Targets::unwant(const PeerAddress& address) {
  const std::string name = address.text();
  Target* target = find(name);
  if (target == nullptr) return std::nullopt;
  stop(*target);
  const auto link = target->link;
  targets_.erase(name);
  // Who shared its link gets it, if there is somebody.
  std::string heir;
  for (const auto& [other, follower] : targets_) {
    if (follower->same_as != name) continue;
    if (heir.empty()) {
      heir = other;
      follower->same_as.clear();
      follower->link = link;
    } else {
      follower->same_as = heir;
    }
  }
  if (heir.empty()) return link;
  if (!link) dial(*find(heir));
  return std::nullopt;
}

std::optional<LinkKey> Targets::link_to(const PeerAddress& address) const {
  auto found = targets_.find(address.text());
  if (found == targets_.end()) return std::nullopt;
  if (!found->second->same_as.empty()) found = targets_.find(found->second->same_as);
  return found->second->link;
}

std::vector<std::string> Targets::addresses_of(LinkKey link) const {
  std::vector<std::string> names;
  for (const auto& [name, target] : targets_) {
    if (link_to(target->where) == link) names.push_back(name);
  }
  return names;
}

void Targets::lost(LinkKey link) {
  for (const auto& [name, target] : targets_) {
    if (target->link != link) continue;
    target->link.reset();
    dial_later(*target);
    return;
  }
}

void Targets::settled(LinkKey link) {
  for (const auto& [name, target] : targets_) {
    if (target->link == link) target->backoff.reset();
  }
}

void Targets::dial(Target& target) {
  const std::string name = target.where.text();
  // The target may be gone when they are called; a dial that was canceled calls neither.
  target.dial = std::make_shared<Dial>(
      io_, terms_, Dial::Purpose{PeerRole::control, host_.next_link_number(), 0, target.where.host},
      Dial::Outcome{
          [this, name](const std::shared_ptr<PeerConnection>& connection,
                       const DialerHandshake& handshake) { done(name, connection, handshake); },
          [this, name](const HandshakeFault& fault) { failed(name, fault); }});
  target.dial->start(target.where);
}

void Targets::dial_later(Target& target) {
  if (!target.same_as.empty()) return;
  target.pause.expires_after(target.backoff.next());
  target.pause.async_wait([this, name = target.where.text()](boost::system::error_code error) {
    Target* found = error ? nullptr : find(name);
    if (found != nullptr && !found->dial && !found->link && found->same_as.empty()) dial(*found);
  });
}

void Targets::done(const std::string& name, const std::shared_ptr<PeerConnection>& connection,
                   const DialerHandshake& handshake) {
  Target* target = find(name);
  target->dial.reset();
  const HostId host = handshake.peer().host;
  if (target->host != host) release_followers(name);
  target->host = host;
  absorb(name, host);
  // The owner may have changed its wishes when it heard of the links that ended.
  target = find(name);
  if (target == nullptr) return connection->refuse(PeerReason::dropped, "it is no longer wanted");
  HandshakeFault why;
  target->link = host_.dialed(connection, handshake, &why);
  if (target->link) return host_.begin(*target->link);
  connection->refuse(why.reason, why.text);
  failed(name, why);
}

void Targets::failed(const std::string& name, const HandshakeFault& fault) {
  Target* target = find(name);
  target->dial.reset();
  if (is_lasting(fault.reason)) target->backoff.slow();
  // Their own address may lead there when this one does not.
  release_followers(name);
  dial_later(*target);
  host_.dial_failed(name, fault);
}

void Targets::absorb(const std::string& name, const HostId& host) {
  std::vector<LinkKey> superseded;
  for (const auto& [other, target] : targets_) {
    if (other == name || target->host != host || !target->same_as.empty()) continue;
    stop(*target);
    target->same_as = name;
    for (const auto& [third, follower] : targets_) {
      if (follower->same_as == other) follower->same_as = name;
    }
    if (const auto link = std::exchange(target->link, std::nullopt)) superseded.push_back(*link);
  }
  for (const LinkKey link : superseded) host_.superseded(link);
}

void Targets::release_followers(const std::string& name) {
  for (const auto& [other, target] : targets_) {
    if (target->same_as != name) continue;
    target->same_as.clear();
    target->host.reset();
    dial(*target);
  }
}

}  // namespace tentq
