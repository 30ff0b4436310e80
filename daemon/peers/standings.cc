// The order of epochs and links. See standings.h.
#include "daemon/peers/standings.h"

#include <algorithm>

namespace tentq {

const Standings::Standing* Standings::find(const HostId& host) const {
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? nullptr : &found->second;
}

std::optional<PeerReason> Standings::judge_epoch(const PeerHello& hello) const {
  const Standing* known = find(hello.host);
  if (known == nullptr || hello.epoch_counter > known->epoch_counter) return std::nullopt;
  if (hello.epoch_counter < known->epoch_counter) return PeerReason::stale;
  if (hello.epoch_random != known->epoch_random) return PeerReason::twin;
  return std::nullopt;
}

std::optional<PeerReason> Standings::judge_link(const PeerHello& hello) const {
  if (const auto reason = judge_epoch(hello)) return reason;
  const Standing* known = find(hello.host);
  if (known == nullptr || hello.epoch_counter > known->epoch_counter) return std::nullopt;
  return hello.link > known->link ? std::nullopt : std::optional(PeerReason::stale);
}

Standings::Standing& Standings::renew(const PeerHello& hello) {
  if (hosts_.find(hello.host) == hosts_.end() && hosts_.size() >= most_) {
    hosts_.erase(std::min_element(hosts_.begin(), hosts_.end(), [](const auto& a, const auto& b) {
      return a.second.used < b.second.used;
    }));
  }
  Standing& known = hosts_[hello.host];
  if (hello.epoch_counter > known.epoch_counter) {
    known = {hello.epoch_counter, hello.epoch_random, 0, 0};
  }
  known.used = ++clock_;
  return known;
}

void Standings::record_link(const PeerHello& hello) {
  Standing& known = renew(hello);
  if (hello.epoch_counter == known.epoch_counter) known.link = std::max(known.link, hello.link);
}

void Standings::record_epoch(const PeerHello& hello) {
  renew(hello);
}

}  // namespace tentq
