// Segment requests of clients. See segment_requests.h.
#include "daemon/segment_requests.h"

#include <unistd.h>

#include <algorithm>

namespace tentq {

namespace {

bool is_this_host(std::string_view host) {
  char own[256] = {};
  ::gethostname(own, sizeof own - 1);
  return host.empty() || host == "localhost" || host == "127.0.0.1" || host == "[::1]" ||
         host == own;
}

}  // namespace

StatusCode parse_segment_address(std::string_view address, std::string* name, std::string* why) {
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
    const std::size_t bracket = host.find(']');
    const std::size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
    if (colon != std::string_view::npos) host = host.substr(0, colon);
  }
  if (!is_valid_name(rest)) {
    *why = "a segment name is 1 to 63 of letters, digits, '.', '_', '-'";
    return StatusCode::invalid_argument;
  }
  if (!is_this_host(host)) {
    *why = "no transport reaches host '" + std::string(host) +
           "': this daemon serves segments of its own host only";
    return StatusCode::no_route;
  }
  *name = std::string(rest);
  return StatusCode::ok;
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
  Session& session = *channel.session();
  auto answer = make_message<SegmentReply>(message.header.request);
  const auto refuse = [&](StatusCode status, const std::string& text) {
    answer.status = status;
    answer.text.assign(text);
    channel.send(answer);
  };
  std::string name;
  std::string why;
  const StatusCode parsed = parse_segment_address(message.name.view(), &name, &why);
  if (parsed != StatusCode::ok) return refuse(parsed, why);
  if (session.segments.size() >= settings_.sessions.segments) {
    return refuse(StatusCode::exhausted,
                  "too many open segments; close some or raise sessions.segments");
  }
  const SegmentPtr segment = segments_.open(name, message.incarnation, message.reattach != 0, now);
  if (segment == nullptr) {
    return message.incarnation == 0
               ? refuse(StatusCode::not_found, "no client of this host exports '" + name + "'")
               : refuse(StatusCode::stale_handle, "'" + name + "' is another process by now");
  }
  if (!may_open(session, *segment)) {
    segments_.close(segment);
    return refuse(StatusCode::not_permitted, "'" + name + "' belongs to uid " +
                                                 std::to_string(segment->uid) +
                                                 " and grants this process nothing");
  }
  const std::uint32_t handle = session.next_segment++;
  session.segments.emplace(handle, OpenedSegment{segment, segment->incarnation});
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
    segments_.close(it->second.segment);
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

void SegmentRequests::forget(Session& session) {
  for (const auto& [handle, opened] : session.segments) segments_.close(opened.segment);
  session.segments.clear();
}

}  // namespace tentq
