// Other hosts, as the daemon sees them: joins their links, the transport to them, their segments
// that clients here have opened, and what they ask of this host. Conductor thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "daemon/control_channel.h"
#include "daemon/core/core.h"
#include "daemon/executor.h"
#include "daemon/hosts/exports.h"
#include "daemon/hosts/fences.h"
#include "daemon/hosts/host_table.h"
#include "daemon/hosts/inbound_segments.h"
#include "daemon/hosts/listings.h"
#include "daemon/hosts/outbound_notifications.h"
#include "daemon/hosts/remote_segments.h"
#include "daemon/hosts/serving.h"
#include "daemon/logging/error_book.h"
#include "daemon/notifications.h"
#include "daemon/peers/links.h"
#include "daemon/settings.h"
#include "transports/tcp/tcp_transport.h"

namespace tentq {

class Hosts final : PeerLinks::Owner,
                    Segments::Watcher,
                    public Executor::Elsewhere,
                    public Notifications::Elsewhere {
 public:
  struct Parts {
    boost::asio::io_context& io;
    core::Core& core;
    Regions& regions;
    Segments& segments;
    Notifications& notifications;
    ErrorBook& errors;
  };
  // Owners that wait for a route should look again.
  using RoutesChanged = std::function<void()>;

  Hosts(const Parts& parts, const Settings& settings, PeerTerms terms, RoutesChanged changed);
  ~Hosts();

  // Listens where the settings say. False with what is wrong and what to do in *why.
  bool listen(std::string* why) { return links_.listen(why); }
  std::string listens_at() const { return links_.listens_at(); }
  // See PeerLinks.
  bool renew_certificates(std::string* why) { return links_.renew_certificates(why); }
  Transport& transport() { return tcp_; }

  // What the transport has met. True if there was anything.
  bool work(Time now);
  // About every safety_poll: time limits.
  void periodic(Time now);

  // A client opens a segment of another host; `segment` says what becomes of it.
  using Opened = RemoteSegments::Opened;
  void open(const std::string& address, const std::string& name, std::uint64_t incarnation,
            Time now, Opened opened);
  void close(const RemoteSegmentPtr& segment) { remote_.close(segment); }
  const RemoteSegments& remote_segments() const { return remote_; }
  // Answered by `answer`, with no rows when the host cannot be asked or does not answer.
  using RegionsListed = Listings::Answer;
  void list_regions(const RemoteSegment& segment, std::uint32_t first, RegionsListed answer);

  // For owners of clients: where a segment is reached now.
  Resolution resolve(const RemoteSegment& segment) const;
  LaneId lane_of(const RemoteSegment& segment, Op op);
  void pin(RegionIndex remote) { remote_.pin(entry_of(remote)); }
  void unpin(RegionIndex remote) { remote_.unpin(entry_of(remote)); }

  // READs of other hosts have sessions of their own in the core.
  Serving& serving() { return serving_; }

  bool find(const core::DispatchChunk& effect, Chunk* chunk, Reason* reason) override;

  // Notifications::Elsewhere
  void hold(const RemoteSegmentPtr& target) override { remote_.pin(target->entry); }
  void release(const RemoteSegmentPtr& target) override { remote_.unpin(target->entry); }
  std::uint64_t notify(const RemoteSegmentPtr& target, const Notification& message,
                       Time give_up) override {
    return outbound_.add(target, message, give_up);
  }
  void forget_notification(std::uint64_t number) override { outbound_.forget(number); }

  const HostTable& table() const { return table_; }
  const PeerLinks& links() const { return links_; }

 private:
  // PeerLinks::Owner
  void link_up(LinkKey key, const PeerLink& peer) override;
  void link_down(LinkKey key, const PeerLink& peer, PeerReason reason,
                 const std::string& text) override;
  void data_ready(LinkKey key, std::uint64_t connection, shm::Fd socket,
                  std::unique_ptr<ByteStream> stream) override;
  void fence(LinkKey key, std::uint64_t connection, std::function<void()> done) override;
  void received(LinkKey key, const PeerMessage& message) override;
  void no_link(const PeerTrouble& trouble) override;
  // Segments::Watcher
  void region_added(const Segment& segment, RegionIndex region) override;
  void region_removed(const Segment& segment, RegionIndex region) override;
  void exporter_changed(const Segment& segment, Reason reason) override;

  void notification(LinkKey key, const PeerNotify& message, Time now);
  void handle(const TcpEvent& event, Time now);
  void connection_over(const TcpEvent& event, Time now);
  // Whether READs and WRITEs of a host can go has perhaps changed.
  void look_at(OtherHost& host, Time now);

  core::Core& core_;
  Segments& segments_;
  Notifications& notifications_;
  ErrorBook& errors_;
  const Duration budget_;
  RoutesChanged changed_;
  Exports exports_;
  HostTable table_;
  TcpTransport tcp_;
  InboundSegments inbound_;
  Serving serving_;
  RemoteSegments remote_;
  OutboundNotifications outbound_;
  Fences fences_;
  PeerLinks links_;
  std::map<std::pair<LinkKey, std::uint64_t>, std::function<void()>> closing_;  // fence() was asked
  // Connections of dialed links that are gone, until their end is told: whose they were.
  std::map<std::pair<LinkKey, std::uint64_t>, HostId> departed_;
  Listings listings_;
  std::uint64_t next_request_ = 1;
};

}  // namespace tentq
