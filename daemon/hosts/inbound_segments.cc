// Handles that other hosts have of segments here. See inbound_segments.h.
#include "daemon/hosts/inbound_segments.h"

#include <algorithm>

namespace tentq {

// Its exporter is expected back, or may have regions on their way.
bool InboundSegments::is_recovering(const Segment& segment, std::uint64_t regions, Time now) const {
  if (segment.expected) return true;
  return now < segment.recovering_until &&
         shared_regions(segment) < std::max<std::uint64_t>(regions, 1);
}

std::uint64_t InboundSegments::shared_regions(const Segment& segment) const {
  return static_cast<std::uint64_t>(
      std::count_if(segment.regions.begin(), segment.regions.end(), [this](RegionIndex index) {
        return regions_.at(index).remote_access != RegionAccess::none;
      }));
}

void InboundSegments::refuse(LinkKey link, const PeerOpenSegment& message, StatusCode status,
                             const std::string& text) {
  auto answer = make_message<PeerSegment>(message.header.request);
  answer.status = status;
  answer.text.assign(text);
  answer_(link, answer);
}

void InboundSegments::open(LinkKey link, const PeerOpenSegment& message, Time now) {
  const std::string name(message.name.view());
  if (!is_valid_name(name)) {
    return refuse(link, message, StatusCode::invalid_argument, "that is no segment's name");
  }
  if (handles_.size() + waiting_.size() >= most_handles_) {
    return refuse(link, message, StatusCode::exhausted,
                  "other hosts have opened as many segments as may be (peers.segments)");
  }
  // Who was opened before may be on its way back, after a restart of this daemon.
  const bool again = message.incarnation != 0;
  const bool expects = again && now < expects_until_;
  const SegmentPtr segment = segments_.open(name, message.incarnation, expects, now);
  if (segment == nullptr) {
    return again ? refuse(link, message, StatusCode::stale_handle,
                          "'" + name + "' is another process by now")
                 : refuse(link, message, StatusCode::not_found,
                          "no client of that host exports '" + name + "'");
  }
  if (is_recovering(*segment, message.regions, now)) {
    waiting_.push_back({link, message, segment, now + budget_});
  } else {
    decide(link, message, segment);
  }
}

// Takes over the handle of the segment that was opened for it.
void InboundSegments::decide(LinkKey link, const PeerOpenSegment& message,
                             const SegmentPtr& segment) {
  const std::uint64_t shared = shared_regions(*segment);
  if (shared == 0) {
    const std::string text = "'" + segment->name + "' grants other hosts nothing";
    segments_.close(segment);
    return refuse(link, message, StatusCode::not_permitted, text);
  }
  auto answer = make_message<PeerSegment>(message.header.request);
  answer.segment = next_handle_++;
  answer.incarnation = segment->incarnation;
  answer.regions = shared;
  handles_.emplace(std::pair{link, answer.segment}, Handle{segment, segment->incarnation});
  exports_.open(link, answer.segment, *segment);
  answer_(link, answer);
}

void InboundSegments::retry(Time now) {
  std::vector<Waiting> ready;
  std::erase_if(waiting_, [&](const Waiting& each) {
    if (is_recovering(*each.segment, each.message.regions, now) && now < each.give_up) return false;
    ready.push_back(each);
    return true;
  });
  for (const Waiting& each : ready) {
    if (each.segment->exporter.valid()) {
      decide(each.link, each.message, each.segment);
      continue;
    }
    segments_.close(each.segment);
    refuse(each.link, each.message, StatusCode::stale_handle,
           "'" + each.segment->name + "' did not come back");
  }
}

void InboundSegments::close(LinkKey link, std::uint64_t handle) {
  const auto it = handles_.find({link, handle});
  if (it == handles_.end()) return;
  exports_.close(link, handle);
  segments_.close(it->second.segment);
  handles_.erase(it);
}

void InboundSegments::forget(LinkKey link) {
  exports_.forget(link);
  for (auto it = handles_.lower_bound({link, 0});
       it != handles_.end() && it->first.first == link;) {
    segments_.close(it->second.segment);
    it = handles_.erase(it);
  }
  std::erase_if(waiting_, [&](const Waiting& each) {
    if (each.link != link) return false;
    segments_.close(each.segment);
    return true;
  });
}

Resolution InboundSegments::resolve(LinkKey link, std::uint64_t handle, std::uint64_t offset,
                                    std::uint64_t length, Op op, Time now) const {
  Resolution failed;
  const SegmentPtr segment = find(link, handle, &failed.reason);
  if (segment == nullptr) return failed;
  Resolution found = segments_.resolve_for_host(*segment, offset, length, op, now);
  if (found.lookup == Lookup::pending) {
    found.lookup = Lookup::failed;
    found.reason = Reason::out_of_range;
  }
  return found;
}

SegmentPtr InboundSegments::find(LinkKey link, std::uint64_t handle, Reason* reason) const {
  const auto it = handles_.find({link, handle});
  if (it == handles_.end()) {
    *reason = Reason::unknown_segment;
    return nullptr;
  }
  *reason = Reason::stale_handle;
  return it->second.segment->incarnation == it->second.incarnation ? it->second.segment : nullptr;
}

PeerRegions InboundSegments::list(LinkKey link, const PeerListRegions& message) const {
  auto answer = make_message<PeerRegions>(message.header.request);
  answer.first = message.first;
  const auto it = handles_.find({link, message.segment});
  if (it == handles_.end()) {
    answer.status = StatusCode::not_found;
    return answer;
  }
  std::uint32_t row = 0;
  for (const RegionIndex index : it->second.segment->regions) {
    const Region& region = regions_.at(index);
    if (region.remote_access == RegionAccess::none) continue;
    if (row++ < message.first || answer.count == kRegionRows) continue;
    answer.rows[answer.count++] = {region.base, region.size,
                                   static_cast<std::uint32_t>(region.remote_access), 0};
  }
  answer.total = row;
  return answer;
}

}  // namespace tentq
