// Who is let in, and when: the newest epoch and link of a host, after all that its older ones
// brought is known not to be applied any more. See links.h.
#include <algorithm>

#include "daemon/peers/links.h"

namespace tentq {

void PeerLinks::arrived(const std::shared_ptr<Arrival>& arrival) {
  if (arrival->hello().role == PeerRole::data) return admit_data(arrival);
  admit_control(arrival);
}

void PeerLinks::admit_control(const std::shared_ptr<Arrival>& arrival) {
  const PeerHello hello = arrival->hello();
  auto reason = standings_.judge_link(hello);
  if (!reason && is_others(hello.host, arrival->certificate())) reason = PeerReason::twin;
  const auto known = accepted_.find(hello.host);
  // What is forgotten of hosts is never forgotten of one with a link.
  if (!reason && known != accepted_.end() && known->second.link) {
    const PeerLink& peer = link_at(*known->second.link)->peer();
    if (std::pair(peer.epoch_counter, peer.link) >= std::pair(hello.epoch_counter, hello.link)) {
      reason = PeerReason::stale;
    }
  }
  if (reason) {
    return arrival->refuse(
        *reason,
        std::string(*reason == PeerReason::twin ? "another daemon has this host's id; "
                                                : "a newer connection of this host is known; ") +
            std::string(remedy(*reason)));
  }
  if (known == accepted_.end() && accepted_.size() >= terms_.settings.most) {
    return arrival->refuse(PeerReason::too_many,
                           "this daemon has links of " + std::to_string(terms_.settings.most) +
                               " hosts already; " + std::string(remedy(PeerReason::too_many)));
  }
  standings_.record_link(hello);
  // First what is older, then the new one: let_in() must not find it before the fences are asked.
  if (known != accepted_.end()) {
    const auto waiting = std::exchange(known->second.waiting, nullptr);
    if (waiting) waiting->refuse(PeerReason::replaced, "the host connected anew");
  }
  end_older(hello.host, hello.epoch_counter);
  const auto still_known = accepted_.find(hello.host);
  if (still_known != accepted_.end() && still_known->second.link) {
    lose(*still_known->second.link, PeerReason::replaced, "the host connected anew");
  }
  accepted_[hello.host].waiting = arrival;
  let_in(hello.host);
}

// The one that waits, once no fence of the host is open. Forgets a host that has nothing.
void PeerLinks::let_in(const HostId& host) {
  const auto found = accepted_.find(host);
  if (found == accepted_.end()) return;
  Accepted& accepted = found->second;
  if (accepted.waiting && accepted.waiting->over()) accepted.waiting.reset();
  if (accepted.fences > 0 || accepted.link) return;
  const auto arrival = std::exchange(accepted.waiting, nullptr);
  if (!arrival) {
    accepted_.erase(found);
    return;
  }
  const PeerHello hello = arrival->hello();
  PeerLink peer;
  peer.side = LinkSide::accepted;
  peer.host = hello.host;
  peer.epoch_counter = hello.epoch_counter;
  peer.epoch_random = hello.epoch_random;
  peer.link = hello.link;
  peer.features = hello.features;
  peer.address = arrival->address();
  peer.certificate = arrival->certificate();
  peer.advertised = hello.advertised.view();
  peer.ready = granted(hello);
  const PeerReady ready = peer.ready;
  const auto link = add(std::move(peer), arrival->let_in(ready));
  const LinkKey key = link->key();
  accepted.link = key;
  owner_.link_up(key, link->peer());
  if (link_at(key) != nullptr) link->start();
}

bool PeerLinks::is_others(const HostId& host, const std::string& certificate) const {
  const auto found = accepted_.find(host);
  const Link* link =
      found == accepted_.end() || !found->second.link ? nullptr : link_at(*found->second.link);
  return link != nullptr && link->peer().certificate != certificate;
}

PeerReady PeerLinks::granted(const PeerHello& hello) const {
  PeerReady ready;
  ready.minor = std::min(kPeerMinor, hello.minor);
  ready.highest_class = static_cast<std::uint16_t>(terms_.settings.highest_class);
  ready.data_connections = terms_.settings.data_connections;
  ready.most_length = terms_.most_length;
  return ready;
}

std::optional<HandshakeFault> PeerLinks::judge_data(const Arrival& arrival, Link** link) {
  const PeerHello& hello = arrival.hello();
  const auto found = accepted_.find(hello.host);
  *link = found == accepted_.end() || !found->second.link ? nullptr : link_at(*found->second.link);
  if (*link == nullptr || (*link)->peer().epoch_counter != hello.epoch_counter ||
      (*link)->peer().epoch_random != hello.epoch_random || (*link)->peer().link != hello.link) {
    return HandshakeFault{PeerReason::stale, "the connection's link is not the host's present one"};
  }
  if ((*link)->peer().certificate != arrival.certificate()) {
    return HandshakeFault{PeerReason::other_host,
                          "the data connection shows another certificate than its link"};
  }
  std::erase_if((*link)->opening, [](const auto& entry) { return entry.second->closed(); });
  // Twice as many as are granted: the dialer may have noticed the end of some before this side.
  const std::size_t most = 2 * std::size_t{terms_.settings.data_connections};
  const auto first = fences_.lower_bound({(*link)->key(), 0});
  const auto end = fences_.upper_bound({(*link)->key(), ~std::uint64_t{0}});
  const std::size_t fencing = static_cast<std::size_t>(std::distance(first, end));
  if ((*link)->handed.size() + (*link)->opening.size() + fencing >= most) {
    return HandshakeFault{PeerReason::duplicate, "the link has too many data connections"};
  }
  if (!(*link)->numbers.take(hello.connection)) {
    return HandshakeFault{PeerReason::duplicate, "data connection " +
                                                     std::to_string(hello.connection) +
                                                     " of the link was there before, or is fenced"};
  }
  return std::nullopt;
}

void PeerLinks::admit_data(const std::shared_ptr<Arrival>& arrival) {
  Link* link = nullptr;
  if (const auto fault = judge_data(*arrival, &link)) {
    return arrival->refuse(fault->reason, fault->text);
  }
  const std::uint64_t number = arrival->hello().connection;
  const auto connection = arrival->let_in(link->peer().ready);
  link->opening[number] = connection;
  // The socket is handed out when READY is written: whoever owns it then has it alone.
  connection->flush([this, alive = alive_, key = link->key(), number] {
    if (*alive == nullptr) return;
    Link* found = link_at(key);
    if (found == nullptr) return;
    const auto opening = found->opening.extract(number);
    if (!opening.empty()) hand_out(*found, number, *opening.mapped());
  });
}

}  // namespace tentq
