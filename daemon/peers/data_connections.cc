// Data connections of links: the dialer makes them, both sides hand them out, and fences ask them
// back. See links.h.
#include "daemon/peers/links.h"

namespace tentq {

void PeerLinks::open_data(Link& link) {
  const std::size_t wanted =
      std::min(terms_.settings.data_connections, link.peer().ready.data_connections);
  const LinkKey key = link.key();
  while (!link.pausing && link.handed.size() + link.dials.size() < wanted) {
    const std::uint64_t number = link.next_connection++;
    // A dial that was canceled, as the link's are at its end, calls neither.
    const auto dial = std::make_shared<Dial>(
        io_, terms_, Dial::Purpose{PeerRole::data, link.peer().link, number, link.peer().dialed},
        Dial::Outcome{[this, key, number](const std::shared_ptr<PeerConnection>& connection,
                                          const DialerHandshake& handshake) {
                        data_dialed(key, number, connection, handshake);
                      },
                      [this, key, number](const HandshakeFault& fault) {
                        count(fault.reason);
                        data_failed(key, number);
                      }});
    link.dials[number] = dial;
    dial->start(link.control().remote());
  }
}

void PeerLinks::data_dialed(LinkKey key, std::uint64_t number,
                            const std::shared_ptr<PeerConnection>& connection,
                            const DialerHandshake& handshake) {
  Link* link = link_at(key);
  const PeerHello& hello = handshake.peer();
  if (hello.host != link->peer().host || hello.epoch_random != link->peer().epoch_random ||
      connection->certificate() != link->peer().certificate) {
    count(PeerReason::other_host);
    connection->refuse(PeerReason::other_host, "the link is with another daemon");
    return data_failed(key, number);
  }
  link->dials.erase(number);
  link->made[number] = std::chrono::steady_clock::now();
  hand_out(*link, number, *connection);
}

void PeerLinks::data_failed(LinkKey key, std::uint64_t number) {
  Link* link = link_at(key);
  link->dials.erase(number);
  link->pausing = true;
  link->pause.expires_after(link->backoff.next());
  link->pause.async_wait([this, alive = alive_, key](boost::system::error_code error) {
    Link* found = error || *alive == nullptr ? nullptr : link_at(key);
    if (found == nullptr) return;
    found->pausing = false;
    open_data(*found);
  });
}

void PeerLinks::hand_out(Link& link, std::uint64_t number, PeerConnection& connection) {
  link.handed.insert(number);
  hurry(connection.native(), 0);  // data goes behind control messages
  PeerConnection::Released released = connection.release();
  owner_.data_ready(link.key(), number, std::move(released.socket), std::move(released.tls));
}

void PeerLinks::data_closed(LinkKey key, std::uint64_t connection) {
  later([this, key, connection] {
    fence_done({key, connection});
    Link* link = link_at(key);
    if (link == nullptr || link->handed.erase(connection) == 0) return;
    if (link->peer().side != LinkSide::dialed) return;
    // One that breaks as soon as it is made is not made again and again without a pause.
    const auto lived = std::chrono::steady_clock::now() - link->made[connection];
    link->made.erase(connection);
    if (lived >= Backoff::kMost) link->backoff.reset();
    if (!link->pausing) data_failed(key, connection);
  });
}

// Of a link that may be gone from the tables; `number` is handed out.
void PeerLinks::fence(Link& link, std::uint64_t number) {
  link.handed.erase(number);
  link.made.erase(number);
  const Connection connection{link.key(), number};
  const HostId host = link.peer().host;
  fences_[connection] = {host, link.peer().side, {}};
  if (link.peer().side == LinkSide::accepted) ++accepted_[host].fences;
  owner_.fence(link.key(), number, [alive = alive_, connection] {
    if (*alive == nullptr) return;
    // Later: it may be called at once, from inside fence().
    (*alive)->later([links = *alive, connection] { links->fence_done(connection); });
  });
}

void PeerLinks::fence_asked(Link& link, const PeerFence& message) {
  // Whatever state it is in, a connection of that number does not come any more.
  link.numbers.take(message.connection);
  if (const auto found = link.opening.find(message.connection); found != link.opening.end()) {
    found->second->close();
    link.opening.erase(found);
  }
  if (link.handed.count(message.connection) != 0) fence(link, message.connection);
  const auto running = fences_.find({link.key(), message.connection});
  if (running != fences_.end()) {
    if (running->second.asked.size() < kMostFenceRequests) {
      running->second.asked.push_back(message);
      return;
    }
    return drop(link.key(), "the same fence is asked for again and again");
  }
  PeerFenced fenced;
  fenced.header.request = message.header.request;
  fenced.connection = message.connection;
  link.control().send(fenced);
}

void PeerLinks::fence_done(Connection connection) {
  const auto found = fences_.find(connection);
  if (found == fences_.end()) return;
  const Fence fence = std::move(found->second);
  fences_.erase(found);
  for (const PeerFence& asked : fence.asked) {
    PeerFenced fenced;
    fenced.header.request = asked.header.request;
    fenced.connection = asked.connection;
    send(connection.first, fenced);
  }
  if (fence.side != LinkSide::accepted) return;
  --accepted_[fence.host].fences;
  let_in(fence.host);
}

}  // namespace tentq
