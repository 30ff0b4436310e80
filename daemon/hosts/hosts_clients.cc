// What clients of this host ask about segments of others.
#include "daemon/conductor.h"
#include "daemon/hosts/hosts.h"

namespace tentq {

void Hosts::open(const std::string& address, const std::string& name, std::uint64_t incarnation,
                 Time now, Opened opened) {
  std::string why;
  const std::optional<PeerAddress> parsed = parse_peer_address(address);
  if (!parsed || !links_.want(address, &why)) {
    opened(nullptr, parsed ? StatusCode::no_route : StatusCode::invalid_argument,
           parsed ? why : "'" + address + "' is no host[:port]");
    return;
  }
  // However it was written: links are known by this form.
  const std::string canonical = parsed->text();
  const std::optional<LinkKey> link = links_.link_to(canonical);
  remote_.open(canonical, name, incarnation, link.value_or(LinkKey{}), now + budget_,
               std::move(opened));
}

void Hosts::list_regions(const RemoteSegment& segment, std::uint32_t first, RegionsListed answer) {
  if (listings_.full()) return Listings::refuse(answer, StatusCode::exhausted);
  auto message = make_message<PeerListRegions>(next_request_++);
  message.segment = segment.wire;
  message.first = first;
  if (segment.state == RemoteState::open && links_.send(segment.link, message)) {
    return listings_.add(segment.link, message.header.request, monotonic_now() + budget_,
                         std::move(answer));
  }
  Listings::refuse(answer, segment.state == RemoteState::failed ? StatusCode::stale_handle
                                                                : StatusCode::no_route);
}

Resolution Hosts::resolve(const RemoteSegment& segment) const {
  Resolution result;
  switch (segment.state) {
    case RemoteState::away: result.lookup = Lookup::pending; break;
    case RemoteState::failed: result.reason = segment.failure; break;
    case RemoteState::open:
      result.lookup = Lookup::found;
      result.region = elsewhere(segment.entry);
      break;
  }
  return result;
}

LaneId Hosts::lane_of(const RemoteSegment& segment, Op op) {
  const OtherHost* host = table_.find_dialed(segment.link);
  if (host == nullptr) return LaneId{};
  return op == Op::read ? host->read : host->write;
}

}  // namespace tentq
