// Links, connections and requests of other hosts. See hosts.h; what clients ask is in
// hosts_clients.cc.
#include "daemon/hosts/hosts.h"

#include <array>
#include <thread>

#include "daemon/conductor.h"
#include "daemon/logging/log.h"
#include "daemon/overloaded.h"
#include "proto/check.h"

namespace tentq {

namespace {

// Handles that other hosts may have of segments here, all together.
constexpr std::uint32_t kMostHandles = 65'536;

LaneTerms lane_terms(const TcpSettings& settings) {
  return {settings.window_bytes, settings.window_chunks, settings.chunk_bytes, settings.window};
}

// The transport's threads need processors beside the conductor's and a client's. Where there are
// fewer, to wake one costs more than to move some bytes oneself.
bool processors_are_few(std::uint32_t threads) {
  return std::thread::hardware_concurrency() < threads + 2;
}

TcpOptions tcp_options(const TcpSettings& settings, std::uint64_t most_length) {
  TcpOptions options;
  options.threads = settings.threads;
  options.checksum = settings.checksum;
  options.most_length = most_length;
  options.conductor_receives = true;
  if (processors_are_few(settings.threads)) {
    options.inline_bytes = kMostInlineBytes;
    options.inline_turn_bytes = 4 * kMostInlineBytes;
  }
  return options;
}

// Texts for the other side end with what to do; here that is said apart.
std::string without_remedy(std::string_view text, PeerReason reason) {
  const std::string end = "; " + std::string(remedy(reason));
  return std::string(text.ends_with(end) ? text.substr(0, text.size() - end.size()) : text);
}

}  // namespace

Hosts::Hosts(const Parts& parts, const Settings& settings, PeerTerms terms, RoutesChanged changed)
    : core_(parts.core),
      segments_(parts.segments),
      notifications_(parts.notifications),
      errors_(parts.errors),
      budget_(settings.limits.route_budget),
      changed_(std::move(changed)),
      exports_(parts.regions),
      table_(parts.core, settings.peers.most, lane_terms(settings.tcp)),
      tcp_(&exports_, tcp_options(settings.tcp, terms.most_length)),
      inbound_(parts.regions, parts.segments, exports_, budget_, kMostHandles, monotonic_now(),
               [this](LinkKey link, const PeerSegment& answer) { links_.send(link, answer); }),
      serving_(
          parts.core, parts.regions, inbound_,
          [this](std::uint64_t read, Reason reason) { tcp_.refuse_read(read, reason); },
          settings.maxima.sessions, settings.maxima.clients, settings.peers.most),
      remote_([this](LinkKey link,
                     const PeerOpenSegment& message) { return links_.send(link, message); },
              [this](LinkKey link, const PeerCloseSegment& message) { links_.send(link, message); },
              [this] { changed_(); },
              // A link that is there is kept; what leads nowhere is not dialed for nobody.
              [this](const std::string& address) {
                if (!links_.link_to(address)) links_.unwant(address);
              }),
      outbound_(
          [this](LinkKey link, const PeerNotify& message) { return links_.send(link, message); },
          [this](std::uint64_t number, TaskState state, Reason reason) {
            notifications_.ended_elsewhere(number, state, reason);
          }),
      fences_(
          budget_,
          [this](const Fences::Connection& connection) {
            auto message = make_message<PeerFence>();
            message.connection = connection.number;
            return links_.send(connection.link, message);
          },
          [this](const Fences::Connection& connection, bool fenced) {
            if (fenced) {
              tcp_.fenced(connection.link, connection.number);
            } else {
              tcp_.unfenced(connection.link, connection.number);
            }
          }),
      links_(parts.io, std::move(terms), *this) {
  segments_.watch(*this);
}

Hosts::~Hosts() = default;

void Hosts::look_at(OtherHost& host, Time now) {
  const bool away =
      !host.dialed.valid() || host.connections.empty() || remote_.is_reopening(host.dialed);
  table_.set_away(host, away, now);
}

void Hosts::link_up(LinkKey key, const PeerLink& peer) {
  const Time now = monotonic_now();
  OtherHost* host = table_.enter(peer.host, now);
  if (host == nullptr) {
    links_.drop(key, "this daemon has links with as many hosts as it may (peers.most)");
    return;
  }
  host->address = peer.address;
  host->certificate = peer.certificate;
  log(LogLevel::info, "host {}: link {}", peer.address,
      peer.side == LinkSide::dialed ? "made" : "accepted");
  if (peer.side == LinkSide::accepted) {
    host->accepted = key;
    const auto highest = static_cast<ClassId>(peer.ready.highest_class);
    if (!serving_.link_up(key, host->serve, highest, now)) {
      links_.drop(key, "this daemon serves as many hosts as it may (peers.most)");
    }
    return;
  }
  host->dialed = key;
  host->connections.clear();
  table_.renew(*host, now);
  tcp_.bind_lane(host->read, key);
  tcp_.bind_lane(host->write, key);
  fences_.link_up(peer.host, key);
  for (const std::string& address : links_.addresses_of(key)) remote_.link_up(key, address);
  look_at(*host, now);
}

void Hosts::link_down(LinkKey key, const PeerLink& peer, PeerReason reason,
                      const std::string& text) {
  const Time now = monotonic_now();
  errors_.report(LogLevel::warning, "host." + std::string(to_string(reason)),
                 "the link " + std::string(peer.side == LinkSide::dialed ? "to" : "from") +
                     " host " + peer.address + " ended: " + without_remedy(text, reason),
                 remedy(reason), now);
  if (peer.side == LinkSide::accepted) {
    serving_.link_down(key, now);
    inbound_.forget(key);
    notifications_.link_down(key);
    if (OtherHost* host = table_.find_accepted(key)) host->accepted = LinkKey{};
  } else {
    if (OtherHost* host = table_.find_dialed(key)) {
      host->dialed = LinkKey{};
      for (const std::uint64_t number : host->connections) departed_[{key, number}] = host->id;
      host->connections.clear();
      host->lost_links += 1;
      look_at(*host, now);
    }
    for (const std::string& address : peer.served) {
      if (!remote_.is_used(address)) links_.unwant(address);
    }
    remote_.link_down(key);
    outbound_.link_down(key, now + budget_);
    listings_.link_down(key);
  }
  tcp_.drop_link(key);
}

void Hosts::data_ready(LinkKey key, std::uint64_t connection, shm::Fd socket,
                       std::unique_ptr<ByteStream> stream) {
  const PeerLink* peer = links_.find(key);
  TENTQ_CHECK(peer != nullptr);
  const bool dialed = peer->side == LinkSide::dialed;
  tcp_.add_connection(key, dialed ? TcpSide::dialer : TcpSide::acceptor, connection,
                      socket.release(), std::move(stream));
  if (!dialed) return;
  OtherHost* host = table_.find_dialed(key);
  if (host == nullptr) return;
  host->connections.insert(connection);
  look_at(*host, monotonic_now());
}

void Hosts::fence(LinkKey key, std::uint64_t connection, std::function<void()> done) {
  closing_[{key, connection}] = std::move(done);
  tcp_.close_connection(key, connection);
}

bool Hosts::work(Time now) {
  tcp_.look(now);
  std::array<TcpEvent, 64> events;
  bool any = false;
  for (;;) {
    const std::size_t count = tcp_.poll_events(events);
    for (std::size_t i = 0; i < count; ++i) handle(events[i], now);
    any = any || count != 0;
    if (count < events.size()) return any;
  }
}

void Hosts::handle(const TcpEvent& event, Time now) {
  switch (event.kind) {
    case TcpEventKind::read_asked: serving_.read_asked(event, now); return;
    case TcpEventKind::connection_lost:
      connection_over(event, now);
      links_.data_closed(event.link, event.connection);
      return;
    case TcpEventKind::connection_closed: {
      connection_over(event, now);
      const auto it = closing_.find({event.link, event.connection});
      if (it == closing_.end()) return;
      const std::function<void()> done = std::move(it->second);
      closing_.erase(it);
      done();
      return;
    }
  }
}

void Hosts::connection_over(const TcpEvent& event, Time now) {
  serving_.connection_over(event.link, event.connection, now);
  if (event.why == TcpLoss::protocol_error || event.why == TcpLoss::checksum_mismatch) {
    errors_.report(LogLevel::error, "host." + std::string(to_string(event.why)),
                   "a data connection was ended: " + std::string(to_string(event.why)) + " " +
                       std::string(event.detail),
                   "both hosts should run the same version; a checksum that does not fit is a "
                   "fault of the network or of memory",
                   now);
  }
  if (event.why == TcpLoss::unanswered || event.why == TcpLoss::stalled) {
    errors_.report(LogLevel::warning, "host." + std::string(to_string(event.why)),
                   "a data connection was ended: " + std::string(to_string(event.why)),
                   "look at the load of the other host and at the network", now);
  }
  OtherHost* host = table_.find_dialed(event.link);
  if (host != nullptr) {
    host->connections.erase(event.connection);
    look_at(*host, now);
  }
  // Its link may be gone already: then the next one to the host answers.
  const auto departed = departed_.find({event.link, event.connection});
  const HostId id = departed != departed_.end() ? departed->second
                    : host != nullptr           ? host->id
                                                : HostId{};
  if (departed != departed_.end()) departed_.erase(departed);
  if (!event.needs_fence) return;
  // A newer link to the host says as much as its answer would.
  const OtherHost* other = table_.find(id);
  if (other != nullptr && other->dialed.valid() && other->dialed != event.link) {
    tcp_.fenced(event.link, event.connection);
  } else {
    fences_.needed(id, {event.link, event.connection}, now);
  }
}

void Hosts::received(LinkKey key, const PeerMessage& message) {
  const Time now = monotonic_now();
  std::visit(Overloaded{
                 [&](const PeerOpenSegment& m) { inbound_.open(key, m, now); },
                 [&](const PeerCloseSegment& m) { inbound_.close(key, m.segment); },
                 [&](const PeerListRegions& m) { links_.send(key, inbound_.list(key, m)); },
                 [&](const PeerSegment& m) {
                   remote_.answered(key, m);
                   outbound_.look(now);
                   if (OtherHost* host = table_.find_dialed(key)) look_at(*host, now);
                 },
                 [&](const PeerRegions& m) { listings_.answered(key, m); },
                 [&](const PeerNotify& m) { notification(key, m, now); },
                 [&](const PeerNotified& m) {
                   outbound_.answered(key, m);
                   if (outbound_.waiting() != 0) outbound_.look(now);
                 },
                 [&](const PeerFenced& m) {
                   fences_.confirmed({key, m.connection});
                 },
                 [](const auto&) {},
             },
             message);
}

// A client of another host tells one of this.
void Hosts::notification(LinkKey key, const PeerNotify& message, Time now) {
  const auto answer = [this, key, request = message.header.request](TaskState state,
                                                                    Reason reason) {
    auto told = make_message<PeerNotified>(request);
    told.state = state;
    told.reason = reason;
    links_.send(key, told);
  };
  Reason reason = Reason::none;
  const SegmentPtr target = inbound_.find(key, message.segment, &reason);
  if (target == nullptr) return answer(TaskState::failed, reason);
  auto copy = make_message<Notification>();
  copy.sender_incarnation = message.sender_incarnation;
  copy.serial = message.serial;
  copy.sender = message.sender;
  copy.name_bytes = message.name_bytes;
  copy.message_bytes = message.message_bytes;
  copy.payload = message.payload;
  notifications_.accept_from(key, target, copy, answer, now);
}

void Hosts::no_link(const PeerTrouble& trouble) {
  errors_.report(LogLevel::warning, "host." + std::string(to_string(trouble.reason)),
                 std::string(trouble.dialed ? "no link to host " : "no link from ") +
                     trouble.address + ": " + without_remedy(trouble.text, trouble.reason),
                 remedy(trouble.reason), monotonic_now());
}

void Hosts::region_added(const Segment& segment, RegionIndex region) {
  exports_.region_added(segment, region);
  inbound_.retry(monotonic_now());
}

void Hosts::region_removed(const Segment& segment, RegionIndex region) {
  exports_.region_removed(segment, region);
}

void Hosts::exporter_changed(const Segment& segment, Reason reason) {
  exports_.exporter_changed(segment, reason);
}

void Hosts::periodic(Time now) {
  exports_.settle();
  inbound_.retry(now);
  remote_.expire(now);
  outbound_.look(now);
  fences_.expire(now);
  listings_.expire(now);
}

bool Hosts::find(const core::DispatchChunk& effect, Chunk* chunk, Reason* reason) {
  chunk->remote.offset = effect.remote_offset;
  if (serving_.is_mine(effect.session)) {
    chunk->answer = true;
    chunk->peer_handle = serving_.read_of(effect.remote_region);
    return true;
  }
  const RemoteSegment& segment = remote_.at(entry_of(effect.remote_region));
  if (segment.state != RemoteState::open) {
    *reason = segment.state == RemoteState::failed ? segment.failure : Reason::peer_lost;
    return false;
  }
  chunk->peer_handle = segment.wire;
  return true;
}

}  // namespace tentq
