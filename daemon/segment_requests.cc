// Segment requests of clients. See segment_requests.h.
#include "daemon/segment_requests.h"

#include <unistd.h>

#include <algorithm>

#include "daemon/conductor.h"
#include "daemon/directory/directory.h"
#include "daemon/hosts/hosts.h"

namespace tentq {

namespace {

// A port says that a daemon is meant, which may be another one of this host.
bool is_this_host(std::string_view host) {
  char own[256] = {};
  ::gethostname(own, sizeof own - 1);
  return host.empty() || host == "localhost" || host == "127.0.0.1" || host == "[::1]" ||
         host == own;
}

void refuse(ControlChannel& channel, const OpenSegment& message, StatusCode status,
            const std::string& text) {
  auto answer = make_message<SegmentReply>(message.header.request);
  answer.status = status;
  answer.text.assign(text);
  channel.send(answer);
}

}  // namespace

StatusCode parse_segment_address(std::string_view address, std::string* host_port,
                                 std::string* name, std::string* why) {
  constexpr std::string_view kScheme = "tentq://";
  std::string_view rest = address;
  std::string_view host;
  if (rest.substr(0, kScheme.size()) == kScheme) {
    rest.remove_prefix(kScheme.size());
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) {
      *why = "a segment address is NAME or tentq://HOST[:PORT]/NAME";
      return StatusCode::invalid_argument;
    }
    host = rest.substr(0, slash);
    rest.remove_prefix(slash + 1);
  }
  if (!is_valid_name(rest)) {
    *why = "a segment name is 1 to 63 of letters, digits, '.', '_', '-'";
    return StatusCode::invalid_argument;
  }
  host_port->assign(is_this_host(host) ? std::string_view{} : host);
  *name = std::string(rest);
  return StatusCode::ok;
}

bool names_no_host(std::string_view address) {
  return address.starts_with("tentq:///");
}

bool SegmentRequests::may_open(const Session& session, const Segment& segment) const {
  if (segment.expected || segment.exporter == session.id ||
      segment.uid == session.credentials.uid) {
    return true;
  }
  return std::any_of(segment.regions.begin(), segment.regions.end(), [&](RegionIndex index) {
    return access_of(regions_.at(index), session.asker()) != RegionAccess::none;
  });
}

void SegmentRequests::open(ControlChannel& channel, const OpenSegment& message, Time now) {
  const Session& session = *channel.session();
  std::string host;
  std::string name;
  std::string why;
  const StatusCode parsed = parse_segment_address(message.name.view(), &host, &name, &why);
  if (parsed != StatusCode::ok) return refuse(channel, message, parsed, why);
  if (session.segments.size() + session.opening >= settings_.sessions.segments) {
    return refuse(channel, message, StatusCode::exhausted,
                  "too many open segments; close some or raise sessions.segments");
  }
  if (directory_ != nullptr && names_no_host(message.name.view())) {
    open_by_name(channel, message, name, now);
  } else if (host.empty()) {
    open_here(channel, message, name, now);
  } else {
    open_elsewhere(channel, message, host, name, now);
  }
}

// Answered at once when the directory has told of the name before.
void SegmentRequests::open_by_name(ControlChannel& channel, const OpenSegment& message,
                                   const std::string& name, Time now) {
  const std::weak_ptr<ControlChannel> asker = channel.weak_from_this();
  ++channel.session()->opening;
  directory_->resolve(name, now, [this, asker, message, name](const directory::Resolved& found) {
    const std::shared_ptr<ControlChannel> to = asker.lock();
    Session* session = to == nullptr || to->closed() ? nullptr : to->session();
    if (session == nullptr) return;
    --session->opening;
    if (!session->leaving) open_where(*to, message, name, found, monotonic_now());
  });
}

void SegmentRequests::open_where(ControlChannel& channel, const OpenSegment& message,
                                 const std::string& name, const directory::Resolved& found,
                                 Time now) {
  if (found.status == StatusCode::ok && !found.here) {
    return open_elsewhere(channel, message, found.address, name, now);
  }
  // What is not for other hosts is not in the directory.
  const bool here = found.here || segments_.has_exporter(name) || message.reattach != 0;
  if (here && (found.status == StatusCode::ok || found.status == StatusCode::not_found)) {
    return open_here(channel, message, name, now);
  }
  refuse(channel, message, found.status, found.text);
}

// Answered when the other host has answered, or the route budget is spent.
void SegmentRequests::open_elsewhere(ControlChannel& channel, const OpenSegment& message,
                                     const std::string& address, const std::string& name,
                                     Time now) {
  if (hosts_ == nullptr) {
    return refuse(channel, message, StatusCode::no_route,
                  "this daemon has no links to other hosts: set peers.key_file (and peers.listen, "
                  "to be reached itself)");
  }
  const std::weak_ptr<ControlChannel> asker = channel.weak_from_this();
  ++channel.session()->opening;
  hosts_->open(
      address, name, message.incarnation, now,
      [this, asker, message](const RemoteSegmentPtr& segment, StatusCode status,
                             const std::string& text) {
        const std::shared_ptr<ControlChannel> to = asker.lock();
        Session* session = to == nullptr || to->closed() ? nullptr : to->session();
        if (session != nullptr) --session->opening;
        if (session == nullptr || session->leaving || status != StatusCode::ok) {
          if (segment != nullptr) hosts_->close(segment);
          if (session != nullptr) refuse(*to, message, status, text);
          return;
        }
        const std::uint32_t handle = session->next_segment++;
        session->segments.emplace(handle, OpenedSegment{nullptr, segment->incarnation, segment});
        auto answer = make_message<SegmentReply>(message.header.request);
        answer.segment = handle;
        answer.incarnation = segment->incarnation;
        answer.regions = segment->regions;
        to->send(answer);
      });
}

void SegmentRequests::open_here(ControlChannel& channel, const OpenSegment& message,
                                const std::string& name, Time now) {
  Session& session = *channel.session();
  const SegmentPtr segment = segments_.open(name, message.incarnation, message.reattach != 0, now);
  if (segment == nullptr) {
    return message.incarnation == 0 ? refuse(channel, message, StatusCode::not_found,
                                             "no client of this host exports '" + name + "'")
                                    : refuse(channel, message, StatusCode::stale_handle,
                                             "'" + name + "' is another process by now");
  }
  if (!may_open(session, *segment)) {
    segments_.close(segment);
    return refuse(channel, message, StatusCode::not_permitted,
                  "'" + name + "' belongs to uid " + std::to_string(segment->uid) +
                      " and grants this process nothing");
  }
  const std::uint32_t handle = session.next_segment++;
  session.segments.emplace(handle, OpenedSegment{segment, segment->incarnation});
  auto answer = make_message<SegmentReply>(message.header.request);
  answer.segment = handle;
  answer.incarnation = segment->incarnation;
  answer.regions = segment->regions.size();
  channel.send(answer);
}

void SegmentRequests::close(ControlChannel& channel, const CloseSegment& message) {
  Session& session = *channel.session();
  auto answer = make_message<Done>(message.header.request);
  const auto it = session.segments.find(message.segment);
  if (it == session.segments.end()) {
    answer.status = StatusCode::not_found;
    answer.text.assign("no such open segment in this session");
  } else {
    close_handle(it->second);
    session.segments.erase(it);
  }
  channel.send(answer);
}

void SegmentRequests::list_regions(ControlChannel& channel, const SegmentRegions& message) {
  Session& session = *channel.session();
  auto answer = make_message<SegmentRegionsReply>(message.header.request);
  const auto it = session.segments.find(message.segment);
  if (it == session.segments.end()) {
    answer.status = StatusCode::not_found;
    channel.send(answer);
    return;
  }
  if (it->second.remote != nullptr) {
    const std::weak_ptr<ControlChannel> asker = channel.weak_from_this();
    hosts_->list_regions(*it->second.remote, message.first,
                         [asker, answer](const PeerRegions& listed) mutable {
                           const std::shared_ptr<ControlChannel> to = asker.lock();
                           if (to == nullptr || to->closed()) return;
                           answer.status = listed.status;
                           answer.total = listed.total;
                           answer.first = listed.first;
                           answer.count = listed.count;
                           std::copy_n(listed.rows, listed.count, answer.rows);
                           to->send(answer);
                         });
    return;
  }
  const auto& regions = it->second.segment->regions;
  answer.total = static_cast<std::uint32_t>(regions.size());
  answer.first = message.first;
  for (std::size_t i = message.first; i < regions.size() && answer.count < kRegionRows; ++i) {
    const Region& region = regions_.at(regions[i]);
    answer.rows[answer.count++] = {region.base, region.size,
                                   static_cast<std::uint32_t>(access_of(region, session.asker())),
                                   0};
  }
  channel.send(answer);
}

void SegmentRequests::close_handle(const OpenedSegment& opened) {
  if (opened.remote != nullptr) {
    hosts_->close(opened.remote);
  } else {
    segments_.close(opened.segment);
  }
}

void SegmentRequests::forget(Session& session) {
  for (const auto& [handle, opened] : session.segments) close_handle(opened);
  session.segments.clear();
}

}  // namespace tentq
